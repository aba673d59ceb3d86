"""What the planner starts from: the layers' specs as the release's classes and backends make them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kvinspect.backends.backend import Backend
from kvinspect.backends.deployed import Deployed
from kvinspect.document.document import Document
from kvinspect.document.frozen import Frozen
from kvinspect.document.names import Expander
from kvinspect.document.numbers import counted
from kvinspect.document.problem import Path, Problem
from kvinspect.document.refusal import Refused
from kvinspect.engine.document_specs import layer_spec
from kvinspect.engine.release import EngineRelease
from kvinspect.engine.start_up_steps import stage
from kvinspect.planning.deployment import Deployment
from kvinspect.provenance import vllm
from kvinspect.specs.kinds import LayerSpec, Specs


class Inputs(NamedTuple):
    """The layers of the whole model, those of each worker, and the bytes that each worker has."""

    specs: Specs
    workers: tuple[Specs, ...]
    memory: tuple[int, ...]
    backends: Mapping[str, Backend]
    """Layer → the backend that the document names for it."""

    @property
    def frozen(self) -> Inputs:
        """The same, to be kept in an answer."""
        return Inputs(Frozen(self.specs), tuple(map(Frozen, self.workers)), self.memory, Frozen(self.backends))


def inputs_of(document: Document, release: EngineRelease) -> Inputs:
    """The planner's inputs. Raises Refused where the release does not take a spec, DocumentError for layers amiss."""
    model, names = document.model, Expander()
    known = Deployed.of(document, release.catalogue).backends
    specs: dict[str, LayerSpec] = {}
    backends: dict[str, Backend] = {}
    for key, entry in (model.kv_cache_specs or {}).items():
        path: Path = ("kv_cache_specs", key)
        with stage("spec", path=path):
            spec = release.aligned_spec(layer_spec(entry, release.catalogue, path))
            backend = known.named(entry.backend, (*path, "backend")) if entry.backend is not None else None
            if backend is not None:
                spec = declared(release.customized_spec(spec, backend), backend, model.kv_cache_layout)
        for layer in names.all([key]):
            if layer in specs:
                problem = Problem(path, message=f"the layer {layer} has a spec already", kind="twice")
                raise document.error(problem)
            specs[layer] = spec
            if backend is not None:
                backends[layer] = backend
    if model.available_memory == []:
        raise document.error(Problem(("available_memory",), expected="bytes for at least one worker", found="none"))
    memory = tuple(model.available_memory or ())
    return Inputs(specs, _workers(document, specs, len(memory), names), memory, backends)


def declared(spec: LayerSpec, backend: Backend, layout: str | None) -> LayerSpec:
    """A spec with its backend's word on whether blocks are found by a stride, up to 0.28 (`get_kv_cache_spec`)."""
    if not spec.is_attention:
        return spec
    by_layout = backend.entry.get("indexes_kv_by_block_stride", {})
    indexes = by_layout.get(backend.required_layout or layout or "NHD", False)
    return spec._replace(indexes_kv_by_block_stride=indexes)


def _workers(document: Document, specs: Specs, count: int, names: Expander) -> tuple[Specs, ...]:
    written = document.model.worker_layers
    if written is None:
        return tuple(specs for _ in range(count))
    if len(written) != count:
        workers = counted(len(written), "worker")
        message = f"names the layers of {workers}, and available_memory has {counted(count, 'entry')}"
        raise document.error(Problem(("worker_layers",), message=message, kind="workers"))
    found = []
    for i, patterns in enumerate(written):
        layers = names.all(patterns)
        missing = next((layer for layer in layers if layer not in specs), None)
        if missing is not None:
            message = f"the layer {missing} has no spec in kv_cache_specs"
            raise document.error(Problem(("worker_layers", i), message=message, kind="unknown-layer"))
        found.append({layer: specs[layer] for layer in specs if layer in set(layers)})
    return tuple(found)


@vllm("get_kv_cache_configs", until="0.27")
def as_written(specs: Specs, deployment: Deployment) -> Specs:
    """Up to 0.27."""
    return specs


@vllm("get_kv_cache_configs", since="0.28")
def with_retained_tokens(specs: Specs, deployment: Deployment) -> Specs:
    """From 0.28 on windows keep what several draft modules read again (`get_kv_cache_configs`)."""
    extra = deployment.extra_retained_tokens
    return {layer: spec.retaining(extra) for layer, spec in specs.items()}


@vllm("KVCacheSpecRegistry.check_kv_cache_spec_registry")
def registered(specs: Specs) -> None:
    """Raises Refused for a spec that no manager of blocks is there for (`check_kv_cache_spec_registry`)."""
    for layer, spec in specs.items():
        if not spec.managed:
            text = f"no block manager knows the spec of {layer}, since encoder-only layers have no KV cache"
            raise Refused("ValueError", text, stage="plan", path=("kv_cache_specs", layer), kind="no-manager")
