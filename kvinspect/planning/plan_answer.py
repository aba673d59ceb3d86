"""The answer of `plan`, as values that print themselves as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kvinspect.backends.backend import Backend
from kvinspect.document.document import Tensor
from kvinspect.document.frozen import Frozen, frozen
from kvinspect.document.not_modelled import NotModelled
from kvinspect.document.refusal import Refusal
from kvinspect.document.words import SPEC_CLASSES
from kvinspect.engine.align_answer import SCHEMA_VERSION, AnswerHeader, refusal_dict
from kvinspect.engine.document_specs import RENAMED, field_of
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.layout.layouts import Layout
from kvinspect.planning.capacity import RequestCost
from kvinspect.planning.deployment import Deployment
from kvinspect.planning.grouping import Grouping
from kvinspect.planning.memory_sum import MemorySum
from kvinspect.specs.kinds import GroupSpec, LayerSpec

if TYPE_CHECKING:
    from kvinspect.planning.inputs import Inputs
    from kvinspect.planning.release import PlannerRelease


class Worker(NamedTuple):
    """One worker: bytes that it has, blocks that these make, bytes of one block, its groups and allocations."""

    available_memory: int
    num_blocks_alone: int
    bytes_per_block: int
    groups: tuple[KVCacheGroup, ...]
    tensors: tuple[Tensor, ...]
    planned: tuple[PlannedGroup, ...] = ()
    """The groups with their sizes, of a plan that came to its end."""


class Capacity(NamedTuple):
    """`num_tokens` is concurrent requests times the longest request, which is no size of a pool.

    `pool_tokens` is what releases before 0.25 logged under the same words: the tokens of the smallest block, for each
    block that a group would get if all groups got as many.
    """

    num_tokens: int
    max_concurrency: float
    pool_tokens: int
    cost: RequestCost


class PlannedGroup(NamedTuple):
    """A group of a worker; sizes in bytes, `block_size` in tokens.

    `padding_bytes` is what a block of the group leaves unused: padding inside its pages, and the slots that other,
    larger groups need.
    """

    id: int
    layer_names: tuple[str, ...]
    spec: GroupSpec
    page_size_bytes: int
    content_bytes: int
    padding_bytes: int
    blocks_per_request: int
    grows: bool
    backends: tuple[str, ...]

    @classmethod
    def of(cls, group: KVCacheGroup, block_bytes: int, answer: PlanAnswer) -> PlannedGroup:
        """A group of an answer, whose blocks have a given size in bytes. Raises Refused."""
        release, named = answer.release, answer.inputs.backends if answer.inputs else {}
        content = sum(group.spec_of(layer).unpadded_bytes(release.unpadded) for layer in group.layer_names)
        return cls(
            id=group.id,
            layer_names=group.layer_names,
            spec=group.spec,
            page_size_bytes=release.page(group.spec),
            content_bytes=content,
            padding_bytes=block_bytes - content,
            blocks_per_request=group.spec.request_blocks(answer.deployment),
            grows=group.spec.grows(answer.deployment),
            backends=tuple(dict.fromkeys(named[layer].name for layer in group.layer_names if layer in named)),
        )

    def written(self, release: PlannerRelease) -> dict[str, Any]:
        """The spec as a document of the release writes it."""
        return self.spec.entry(lambda spec: written_fields(spec, release))

    def by_backend(self, named: Mapping[str, Backend]) -> dict[str, list[str]]:
        """Backend → the layers of the group that it runs, in their order; those without one are left out."""
        found: dict[str, list[str]] = {}
        for layer in self.layer_names:
            if layer in named:
                found.setdefault(named[layer].name, []).append(layer)
        return found


class BackendChoice(NamedTuple):
    """A backend of some layers, why it was taken, and those before it with what they do not take."""

    backend: str
    why: str
    passed_over: tuple[tuple[str, tuple[str, ...]], ...]


class ModelOrigin(NamedTuple):
    """The model that a plan was made for: facts in a few words each, where the memory comes from, the backends."""

    facts: tuple[str, ...]
    memory: str
    backends: tuple[BackendChoice, ...]
    steps: tuple[str, ...] = ()
    """How the block size came about and what was left out, in sentences."""
    source: str = ""
    """Where the config.json is from, where that has to be said."""
    verdict: str = ""
    """Whether it fits, where the memory is an estimate."""
    sum: MemorySum | None = None
    """The terms of an estimate."""


class Planning(Protocol):
    """What a cache is planned from, which is written as a document on demand."""

    @property
    def value(self) -> Mapping[str, Any]:
        """The planning document."""


class Written(NamedTuple):
    """A planning document that somebody has written."""

    value: Mapping[str, Any] = Frozen()


class PlanAnswer(NamedTuple):
    """What a release's planner makes of the specs and the memory of a deployment."""

    setting: AnswerHeader
    deployment: Deployment
    release: PlannerRelease
    inputs: Inputs | None = None
    grouping: Grouping | None = None
    workers: tuple[Worker, ...] = ()
    num_blocks: int | None = None
    capacity: Capacity | None = None
    refusal: Refusal | None = None
    layout: Layout | None = None
    """The layout in force, where the release has one for the whole cache."""
    written: Planning = Written()
    """What the planning document says."""
    longest_request: int | None = None
    """Tokens of the longest request that ever runs, where the longest that is taken does not."""
    log_lines: tuple[str, ...] = ()
    """The lines about the cache that the engine logs at start-up."""

    @property
    def planning(self) -> Mapping[str, Any]:
        """The planning document, which cannot be changed."""
        return frozen(self.written.value)  # type: ignore[no-any-return]

    @property
    def not_modelled(self) -> tuple[NotModelled, ...]:
        """What was given and is not in the numbers."""
        return self.setting.not_modelled

    @property
    def starts(self) -> bool:
        """Whether the engine would start."""
        return self.refusal is None

    @property
    def clean(self) -> bool:
        """Whether the engine would start and every request would run."""
        return self.refusal is None and self.longest_request is None

    @property
    def groups(self) -> tuple[PlannedGroup, ...]:
        """The groups of the first worker, () where the engine refuses."""
        if self.refusal is not None or not self.workers:
            return ()
        return self.workers[0].planned

    @property
    def of_workers(self) -> tuple[PlanAnswer, ...]:
        """The plan once for each worker with layers of its own: a stage of a pipeline, one of ranks that are alike."""
        workers = {worker.groups: worker for worker in reversed(self.workers) if worker.groups}
        kept = [worker for worker in self.workers if workers.get(worker.groups) is worker]
        return tuple(self._replace(workers=(worker,)) for worker in kept) or (self,)

    def to_dict(self) -> dict[str, Any]:
        """The answer as `--format json` prints it; sizes in bytes, lengths in tokens."""
        fine = self.refusal is None
        worker = self.workers[0] if fine and self.workers else None
        found = self.capacity if fine else None
        return {
            "schema_version": SCHEMA_VERSION,
            **self.setting.to_dict(),
            **({"kv_cache_layout": self.layout.name} if self.layout else {}),
            "num_blocks": self.num_blocks if fine else None,
            "num_tokens": found.num_tokens if found else None,
            "pool_tokens": found.pool_tokens if found else None,
            "max_concurrency": found.max_concurrency if found else None,
            "longest_request": self.longest_request,
            "max_model_len": self.deployment.max_model_len,
            "bytes_per_block": worker.bytes_per_block if worker else None,
            "request": found.cost._asdict() if found else None,
            "grouping": {"rule": self.grouping.rule, "why": self.grouping.why} if self.grouping else None,
            "groups": [self._group_dict(group) for group in self.groups],
            "kv_cache_tensors": [_tensor_dict(tensor) for tensor in worker.tensors] if worker else [],
            "workers": [_worker_dict(one) for one in self.workers] if fine else [],
            "log_lines": list(self.log_lines),
            "error": {"stage": self.refusal.stage, **refusal_dict(self.refusal)} if self.refusal else None,
        }

    def _group_dict(self, group: PlannedGroup) -> dict[str, Any]:
        return {
            "kv_cache_group_id": group.id,
            "layer_names": list(group.layer_names),
            "kv_cache_spec": spec_dict(group.spec, self.release),
            "backends": list(group.backends),
            "page_size_bytes": group.page_size_bytes,
            "padding_bytes": group.padding_bytes,
            "blocks_per_request": group.blocks_per_request,
        }


def spec_dict(spec: GroupSpec, release: PlannerRelease) -> dict[str, Any]:
    """A spec with the fields that its class has in the release and that differ from their defaults."""
    if spec.each_its_own:
        inner = {layer: spec_dict(one, release) for layer, one in spec.specs}
        head = {"kind": spec.kind, "type": SPEC_CLASSES[spec.kind], "block_size": spec.block_size}
        return {**head, "page_size_bytes": release.page(spec), "kv_cache_specs": inner}
    head = {"kind": spec.reported_kind, "type": SPEC_CLASSES[spec.kind]}
    return {**head, **written_fields(spec, release), "page_size_bytes": release.page(spec)}


def written_fields(spec: LayerSpec, release: PlannerRelease) -> dict[str, Any]:
    """The fields of a spec that say something, as a document writes them."""
    fields = release.catalogue["spec_classes"][SPEC_CLASSES[spec.kind]]
    usual = spec._field_defaults
    found: dict[str, Any] = {}
    for field in (*fields["required"], *fields["optional"]):
        value = field_of(spec, field)
        if field in fields["required"] or (value is not None and value != usual.get(RENAMED.get(field, field))):
            found[field] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else str(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _tensor_dict(tensor: Tensor) -> dict[str, Any]:
    place = {"offset": tensor.offset, "block_stride": tensor.block_stride}
    if tensor.layer_stride is None:
        return {"size": tensor.size, "shared_by": list(tensor.shared_by), **place}
    return {"size": tensor.size, "layers": list(tensor.shared_by), "layer_stride": tensor.layer_stride, **place}


def _worker_dict(worker: Worker) -> dict[str, Any]:
    return {
        "available_memory": worker.available_memory,
        "num_blocks_alone": worker.num_blocks_alone,
        "bytes_per_block": worker.bytes_per_block,
        "num_layers": sum(len(group.layer_names) for group in worker.groups),
    }
