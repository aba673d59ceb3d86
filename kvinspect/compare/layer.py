"""A layer of one of the two caches, with what is compared of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvinspect.backends.backend import OUT_OF_TREE
from kvinspect.compare.changes import Facts
from kvinspect.compare.contents import BlockContent, ViewedLayer, content_of
from kvinspect.document.model import ParallelEntry
from kvinspect.engine.align_answer import AlignAnswer, LayerAnswer
from kvinspect.engine.chain import Stages
from kvinspect.question.question import Question
from kvinspect.specs.kinds import LayerSpec

FNUZ = ("rocm", "9.4")
"""Where fp8 is the fnuz variant: `RocmPlatform.is_fp8_fnuz`."""


UNCOMPARED = ("layer_name", "axes", "stride_before")
"""What of a layer's answer is no fact of its own: the axes are told by the shape and the backend."""


class Layer(NamedTuple):
    """A layer of a cache."""

    answer: LayerAnswer
    viewed: ViewedLayer | None
    """What is known of its blocks; None where it has no view."""
    spec: LayerSpec
    format: str
    """What an element is: its dtype, or what a quantised cache keeps in one."""
    target: str
    """The layer whose cache it uses, itself where it has one of its own."""
    parallel: ParallelEntry

    @property
    def name(self) -> str:
        """The layer's name."""
        return self.answer.layer_name

    @property
    def is_latent(self) -> bool:
        """Whether every rank holds the same, since there is one latent head."""
        return self.spec.latent

    @property
    def begin(self) -> int:
        """The byte of the allocation at which its block 0 begins, 0 where it has no view."""
        view = self.answer.view.parts[0].view if self.answer.view else None
        return view.storage_offset * view.itemsize if view else 0

    @property
    def kind(self) -> tuple[object, ...]:
        """What tells its facts, and the bytes of its blocks, from those of other layers, but for its place."""
        answer, view = self.answer, self.answer.view
        parts = [(part.dtype, part.view.shape, part.view.stride) for part in view.parts] if view else ()
        dims = (view.block_dim, view.kernel_blocks, view.kernel_block_size) if view else ()
        facts = (answer.kv_cache_group_id, answer.spec_kind, answer.page_size_bytes, answer.decision)
        return (answer.backend, self.spec, self.format, *facts, *dims, *parts)

    def is_made_as(self, other: Layer) -> bool:
        """Whether a backend of vLLM's, in the same release and deployment, makes and reads blocks of the same strides.

        What lies where in a block is then the same as well, whatever it is. A backend from outside may be another one
        under the same name.
        """
        here, there = _facts_of(self.viewed), _facts_of(other.viewed)
        return self.kind == other.kind and here is not None and here == there

    def place(self) -> Facts:
        """Its facts that tell where it lies: its allocation, and where in it its view or each of its states begins."""
        view = self.answer.view
        if view is None:
            return {"tensor_index": self.answer.tensor_index}
        if len(view.parts) == 1:
            return {"tensor_index": self.answer.tensor_index, "storage_offset": view.parts[0].view.storage_offset}
        return {key: self.facts()[key] for key in ("tensor_index", "states")}

    def content(self) -> BlockContent | None:
        """What lies where in a block, None where the layer has no view. Raises Untold."""
        return content_of(self.viewed) if self.viewed else None

    def facts(self) -> Facts:
        """What is compared of the layer, as `align` prints it."""
        row = {key: value for key, value in self.answer.to_dict().items() if key not in UNCOMPARED}
        return {"block_size": self.spec.block_size, "format": self.format, **row}


def _facts_of(viewed: ViewedLayer | None) -> tuple[object, ...] | None:
    """What is known of a layer but for its view, whose offset is no fact of the blocks; None of an outside backend."""
    return viewed[1:] if viewed and viewed.backend.module != OUT_OF_TREE else None


def layers_of(question: Question) -> dict[str, Layer]:
    """Name → what is compared of a layer; {} where there is no cache, or the engine refuses it."""
    about = question.about
    return {layer.name: layer for layer in _layers(about.cache, about.align)} if about.align.layers else {}


def _layers(cache: Stages, aligned: AlignAnswer) -> Iterator[Layer]:
    document, setting = cache.document, aligned.setting
    shaped = any("kv_cache_shape" in entry for entry in cache.release.catalogue["backends"].values())
    for answer in aligned.layers:
        spec = cache.groups[answer.kv_cache_group_id].spec_of(answer.layer_name)
        held = _format(spec, document.model.cache_dtype, (setting.platform, setting.device_capability))
        target = document.shared.get(answer.layer_name, answer.layer_name)
        viewed = None if answer.view is None else _viewed(cache, answer, (spec, held, shaped), target)
        yield Layer(answer, viewed, spec, held, target, document.model.parallel_config)


def _viewed(cache: Stages, answer: LayerAnswer, facts: tuple[LayerSpec, str, bool], target: str) -> ViewedLayer:
    assert answer.view is not None
    spec, held, shaped = facts
    dtype = cache.document.model.cache_dtype
    if spec.is_attention:
        dtype = cache.release.reshape.cache_dtype_of(spec, dtype)
    return ViewedLayer(
        answer.view, spec, cache.grouped.backends[target].backend, held, dtype, cache.release.name, shaped
    )


def _format(spec: LayerSpec, cache_dtype: str, device: tuple[str, str | None]) -> str:
    """What an element is; bytes are what `--kv-cache-dtype` keeps in them."""
    if spec.holds_states:
        return " and ".join(spec.dtypes)
    assert spec.is_attention, "a layer that has a view"
    word = spec.cache_dtype_str or cache_dtype
    if spec.dtype not in ("uint8", "int8") or word == "auto":
        return spec.dtype
    variant = "uz" if device == FNUZ else ""
    named = {"fp8": f"float8_e4m3fn{variant}", "fp8_e4m3": f"float8_e4m3fn{variant}", "fp8_e5m2": "float8_e5m2"}
    return named.get(word, word)
