"""What the engine would do with a document: the answer of `align`, as values that print themselves as JSON."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from kvinspect.document.document import Tensor
from kvinspect.document.not_modelled import NotModelled
from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refusal
from kvinspect.engine.conflict import Conflict
from kvinspect.engine.reason import Reason, RuleSource, TakenRule
from kvinspect.engine.reshape import Allocation, LayerView, Part

if TYPE_CHECKING:
    from kvinspect.engine.captured_comparison import CapturedComparison

SCHEMA_VERSION = 1

WORST_LAST = ("unshared", "agree", "packed", "page_aligned", "untouched", "restrided", "skipped", "refused")
"""The decisions about an allocation, the worst last: it counts for the document."""


def conflict_dict(conflict: Conflict | None) -> dict[str, Any] | None:
    """A counterexample as JSON has it."""
    if conflict is None:
        return None
    found = conflict._asdict()
    return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}


def refusal_dict(refusal: Refusal) -> dict[str, Any]:
    """A refusal as JSON has it."""
    return {"type": refusal.type, "in": refusal.function, "text": refusal.text, "where": refusal.where or None}


def placed_dict(tensor: Tensor) -> dict[str, Any]:
    """A tensor of the one backing allocation as JSON has it."""
    strides = {"layer_stride": tensor.layer_stride, "block_stride": tensor.block_stride}
    return {
        "index": tensor.id,
        "size": tensor.size,
        "layers": list(tensor.shared_by),
        **strides,
        "offset": tensor.offset,
    }


class LayerAnswer(NamedTuple):
    """A layer: its view before and after the alignment, and what was decided about it."""

    layer_name: str
    kv_cache_group_id: int
    backend: str
    spec_kind: str
    page_size_bytes: int
    tensor_index: int | None
    decision: str
    view: LayerView | None = None
    before: LayerView | None = None
    allocation: Allocation | None = None

    @property
    def num_kernel_blocks(self) -> int | None:
        """Kernel blocks in the view."""
        if self.view is None or self.view.block_dim is None:
            return None
        return self.view.parts[0].view.shape[self.view.block_dim]

    def to_dict(self) -> dict[str, Any]:
        """The layer as JSON; sizes and strides in elements of `dtype`."""
        row: dict[str, Any] = {
            "layer_name": self.layer_name,
            "kv_cache_group_id": self.kv_cache_group_id,
            "backend": self.backend,
            "spec_kind": self.spec_kind,
            "page_size_bytes": self.page_size_bytes,
            "tensor_index": self.tensor_index,
        }
        return row | self._view_dict() | {"decision": self.decision}

    def _view_dict(self) -> dict[str, Any]:
        keys = ("kernel_block_size", "num_kernel_blocks", "block_dim", "dtype")
        numbers = ("shape", "axes", "stride_before", "stride", "storage_offset")
        if self.view is None or self.before is None:
            return dict.fromkeys((*keys, *numbers))
        head = dict(zip(keys, (self.view.kernel_block_size, self.num_kernel_blocks, self.view.block_dim), strict=False))
        if len(self.view.parts) > 1:
            states = [_part_dict(part) for part in self.view.parts]
            return {**head, **dict.fromkeys(numbers), "states": states}
        part = self.view.parts[0]
        before = {"stride_before": list(self.before.parts[0].view.stride)}
        return {**head, **_part_dict(part), **before}


def _part_dict(part: Part) -> dict[str, Any]:
    view = part.view
    return {
        "dtype": part.dtype,
        "shape": list(view.shape),
        "axes": list(part.axes),
        "stride": list(view.stride),
        "storage_offset": view.storage_offset,
    }


class TensorAnswer(NamedTuple):
    """An allocation: who is on it, what was decided, and whether block IDs keep apart."""

    id: int
    size: int
    shared_by: tuple[str, ...]
    block_dims: tuple[int, ...]
    decision: str
    why: str
    sound_before: bool | None
    conflict_before: Conflict | None
    sound: bool | None
    conflict: Conflict | None
    self_conflict: Conflict | None = None
    """The smallest counterexample within one and the same layer, where a view overlaps itself."""
    refusal: Refusal | None = None
    offset: int = 0
    block_stride: int = 0
    layer_stride: int | None = None
    """Bytes from layer to layer, None where the allocation is by itself (up to 0.28)."""
    num_blocks: int | None = None
    """Blocks of the block manager that every view on it holds, None where a view has no block dim."""
    where: tuple[str, ...] = ()
    """`file:line:column: path` of the entries that are responsible for a conflict or a refusal."""
    meaning: str = ""
    """What soundness before and after the alignment means, in a sentence; "" where there is nothing to say."""

    def to_dict(self) -> dict[str, Any]:
        """The allocation as JSON; `size`, `offset` and strides in bytes."""
        placed = (
            {} if self.layer_stride is None else {"layers": list(self.shared_by), "layer_stride": self.layer_stride}
        )
        return placed | {
            "index": self.id,
            "size": self.size,
            "shared_by": list(self.shared_by),
            "offset": self.offset,
            "block_stride": self.block_stride,
            "block_dims": list(self.block_dims),
            "decision": self.decision,
            "why": self.why,
            "sound_before": self.sound_before,
            "conflict_before": conflict_dict(self.conflict_before),
            "sound": self.sound,
            "conflict": conflict_dict(self.conflict),
            "self_conflict": conflict_dict(self.self_conflict),
            "where": list(self.where),
            "reason": refusal_dict(self.refusal) if self.refusal else None,
        }


class ReadBack(NamedTuple):
    """The experiment beside the proof, which agreed: how many pairs of views, and what was written and read."""

    num_pairs: int
    num_bytes: int
    seconds: float

    @property
    def bytes_per_second(self) -> float:
        """The rate at which bytes were written and read."""
        return self.num_bytes / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The experiment as JSON."""
        return {**self._asdict(), "bytes_per_second": round(self.bytes_per_second)}


class DeviceAnswer(NamedTuple):
    """Made on a device: allocations of `num_blocks` blocks, `num_bytes` bytes, and views that torch confirms."""

    device: str
    device_name: str
    reason: str = ""
    num_blocks: int = 0
    of_blocks: int = 0
    num_bytes: int = 0
    num_views: int = 0
    read_back: ReadBack | None = None

    @property
    def scaled(self) -> bool:
        """Whether fewer blocks were made than the document has, because memory is short."""
        return self.num_blocks != self.of_blocks

    def to_dict(self) -> dict[str, Any]:
        """What was made, as JSON."""
        made = {"num_blocks": self.num_blocks, "of_blocks": self.of_blocks, "num_bytes": self.num_bytes}
        verified = {"read_back": self.read_back.to_dict() if self.read_back else None}
        return {"name": self.device_name, "reason": self.reason, **made, "num_views": self.num_views, **verified}


class AnswerHeader(NamedTuple):
    """What was asked, and under which rules it was answered."""

    source: str
    engine: str
    release: str
    engine_source: str
    model_runner: str
    platform: str
    device_capability: str | None
    kv_cache_layout: str | None
    num_blocks: int
    model_runner_source: str = "document"
    """`document`, `release` (what the release picks for the model) or `default` (not enough is known of it)."""
    model_runner_why: str = ""
    not_modelled: tuple[NotModelled, ...] = ()
    """What was given and no answer takes into account; a document gives nothing of the kind."""

    def to_dict(self) -> dict[str, Any]:
        """The setting as JSON."""
        return self._asdict() | {"not_modelled": [one.to_dict() for one in self.not_modelled]}


class AlignAnswer(NamedTuple):
    """The answer of `align` for a document."""

    setting: AnswerHeader
    layers: tuple[LayerAnswer, ...] = ()
    tensors: tuple[TensorAnswer, ...] = ()
    kernel_block_sizes: tuple[int, ...] = ()
    refusal: Refusal | None = None
    reasons: tuple[Reason, ...] = ()
    device: DeviceAnswer = DeviceAnswer("none", "")
    captured: CapturedComparison | None = None
    """What a running engine made of it, where the document was captured from one."""
    placed: tuple[Tensor, ...] = ()
    """Where the engine stops behind the placement: the tensors that it had placed."""
    taken: tuple[TakenRule, ...] = ()
    """The rules that took part."""

    @property
    def rules(self) -> tuple[RuleSource, ...]:
        """The vLLM functions that the rules stand for, which only JSON and `--explain` tell."""
        return tuple(source for one in self.taken for source in one.sources(self.setting.release))

    @property
    def allocations(self) -> dict[int, int]:
        """Key → bytes of every allocation that a layer lies on; packed tensors alias one."""
        return {layer.allocation.key: layer.allocation.size for layer in self.layers if layer.allocation}

    def only(self, glob: str) -> AlignAnswer:
        """The answer with those layers alone whose names match, and the allocations that they lie on."""
        layers = tuple(layer for layer in self.layers if fnmatchcase(layer.layer_name, glob))
        on = {layer.tensor_index for layer in layers}
        return self._replace(layers=layers, tensors=tuple(t for t in self.tensors if t.id in on))

    @property
    def decision(self) -> str:
        """The worst decision of an allocation."""
        if self.refusal is not None:
            return "refused"
        return max((t.decision for t in self.tensors), key=WORST_LAST.index, default="unshared")

    @property
    def sound(self) -> bool | None:
        """Whether every allocation is sound; None where the engine refuses."""
        if self.refusal is not None:
            return None
        verdicts = [tensor.sound for tensor in self.tensors]
        return False if False in verdicts else None if None in verdicts else True

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What else is wrong: a tensor that holds fewer blocks than the block manager gives out."""
        wanted = self.setting.num_blocks
        return [
            {
                "kind": "too-few-blocks",
                "tensor_index": tensor.id,
                "text": f"tensor {tensor.id} holds {tensor.num_blocks} of {counted(wanted, 'block')} handed out",
            }
            for tensor in self.tensors
            if tensor.num_blocks is not None and tensor.num_blocks < wanted
        ]

    @property
    def clean(self) -> bool:
        """Whether there is nothing to report: no refusal, no two blocks on the same bytes, no block without bytes.

        A captured cache that differs from the computed one is something to report.
        """
        differs = self.captured is not None and bool(self.captured.differences)
        return self.sound is True and not self.findings and not differs

    def to_dict(self) -> dict[str, Any]:
        """The answer as `--format json` prints it."""
        return {
            "schema_version": SCHEMA_VERSION,
            **self.setting.to_dict(),
            "device": self.device.device,
            "materialised": self.device.to_dict(),
            "layers": [layer.to_dict() for layer in self.layers],
            "tensors": [tensor.to_dict() for tensor in self.tensors],
            "kernel_block_sizes": list(self.kernel_block_sizes),
            "reasons": [reason._asdict() for reason in self.reasons],
            "rules": [rule.to_dict() for rule in self.rules],
            "decision": self.decision,
            "sound": self.sound,
            "stage": self.refusal.stage if self.refusal else None,
            "reason": refusal_dict(self.refusal) if self.refusal else None,
            "findings": self.findings,
            "captured": self.captured.to_dict() if self.captured else None,
        } | ({"kv_cache_tensors": [placed_dict(tensor) for tensor in self.placed]} if self.placed else {})
