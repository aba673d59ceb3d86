"""The releases: which one a document is about, and the steps that this release goes through.

What differs in what a backend *answers* is data in `catalogue/`; what differs in what the engine *does* is a step of
another name, picked here. No other module asks for a version number.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from kvinspect import installed
from kvinspect.document.model import MultimodalEntry, RequestEntry
from kvinspect.document.problem import Path
from kvinspect.engine import across_layers, blocks_first, catalogue, explain, judge, pages, placement, reshape
from kvinspect.engine import cache as own
from kvinspect.engine.backends import Backend
from kvinspect.engine.cudagraph import capture
from kvinspect.engine.cudagraph import start_up as configured
from kvinspect.engine.cudagraph.start_up import StartUpRule
from kvinspect.engine.layout import steps
from kvinspect.engine.mm_prefix import ranges
from kvinspect.engine.mm_prefix.ranges import Span
from kvinspect.engine.refusal import Unknown
from kvinspect.engine.specs import AttentionSpec, LayerSpec
from kvinspect.engine.storage import Storage


@dataclass(frozen=True, eq=False, slots=True)
class Release:
    """A vLLM release and one of its model runners: the catalogue and the steps. There is one object for each."""

    version: str
    runner: str
    """`v1` for `vllm/v1/worker/gpu_model_runner.py`, `v2` for `vllm/v1/worker/gpu`."""
    catalogue: Mapping[str, Any]
    aligned_spec: Callable[[LayerSpec], LayerSpec]
    customized_spec: Callable[[LayerSpec, Backend], LayerSpec]
    packed_placement: placement.PackedRule
    reshape: reshape.ReshapeRules
    hybrid_step: bool
    """Models with state-space layers have a layout step of their own in place of the alignment."""
    page_aligned_step: bool
    """K/V-first layers beside state-space layers are built page by page."""
    encoder_groups_narrow: bool
    """Encoder layers outside the KV cache count when CUDA graph support is narrowed."""
    capture_limit: Callable[[str | None], int]
    """Tokens of the largest batch that is captured by default, by compute capability."""
    decode_sizes: capture.DecodeSizes
    """Sizes of decodes that are captured beside the others."""
    start_up: tuple[StartUpRule, ...]
    """What the configuration does to the requested CUDA graph mode, in order."""
    mm_spans: Callable[[RequestEntry, MultimodalEntry], Iterator[Span]]
    """The spans of a request's image and video tokens."""
    storage: Storage
    """From the layout to the judgement: allocations of their own, or one backing allocation."""
    captured: Callable[..., capture.Captured] = capture.captured
    """The graphs of a mode, at capture sizes and with the bounds of a batch."""
    encoder_only_last: bool = False
    """Encoder-only layers never reach the planner: the runner puts them into a last group without a cache."""
    model_step: blocks_first.ModelStep | None = None
    """The layout step where it is one for the whole model, in place of the alignment of each allocation."""

    @property
    def name(self) -> str:
        """Major and minor, as people say it."""
        return _minor(self.version)

    @property
    def key(self) -> str:
        """What `release` finds it by: the version, and `+installed` where the installed vLLM's classes answer."""
        found: str = self.catalogue["release"]
        return found


def _as_written(spec: LayerSpec, backend: Backend) -> LayerSpec:
    """Backends do not touch specs before 0.28."""
    return spec


OWN_ALLOCATIONS = Storage(
    layout=own.own_layout,
    tensors=own.own_tensors,
    kernel_block_sizes=own.own_kernel_block_sizes,
    build_views=own.own_views,
    judge=judge.judge_own,
    reasons=explain.own_reasons,
)
ONE_BACKING = Storage(
    layout=steps.layout_by_backends,
    tensors=steps.tensors_by_page,
    kernel_block_sizes=own.own_kernel_block_sizes,
    build_views=steps.build_views,
    judge=steps.judge,
    reasons=steps.reasons,
)

_0_25: dict[str, Any] = {
    "aligned_spec": pages.aligned_by_kind,
    "customized_spec": _as_written,
    "packed_placement": placement.packed_by_page_size,
    "reshape": reshape.ReshapeRules(
        unpadded_page=pages.page_by_kind,
        state_parts=reshape.views_by_state,
        cache_dtype_of=reshape.quantised_or_turboquant,
        packed_shape=reshape.packed_as_shaped,
        kernel_blocks=reshape.blocks_of_states,
        has_views=reshape.sized_groups,
    ),
    "hybrid_step": True,
    "page_aligned_step": False,
    "encoder_groups_narrow": False,
    "capture_limit": capture.limit_of_all,
    "decode_sizes": capture.no_decodes,
    "start_up": (configured.nothing_uncompiled, configured.decodes_of_encoder_decoder, configured.nothing_on_cpu),
    "mm_spans": ranges.spans_of,
    "storage": OWN_ALLOCATIONS,
}
_0_26 = {**_0_25, "reshape": _0_25["reshape"]._replace(packed_shape=reshape.packed_as_stored)}
_0_27 = {
    **_0_26,
    "packed_placement": placement.packed_densely,
    "reshape": _0_26["reshape"]._replace(state_parts=reshape.view_of_pages, cache_dtype_of=reshape.quantised_only),
    "hybrid_step": False,
    "encoder_groups_narrow": True,
}
_0_28 = {
    **_0_27,
    "aligned_spec": pages.aligned_by_slots,
    "customized_spec": pages.customized,
    "reshape": _0_27["reshape"]._replace(unpadded_page=pages.page_by_slots),
    "page_aligned_step": True,
    "capture_limit": capture.limit_by_device,
}
_0_29 = {
    **_0_28,
    "page_aligned_step": False,
    "decode_sizes": capture.decodes_of_several_tokens,
    "storage": ONE_BACKING,
}
_0_30 = {
    **_0_29,
    "start_up": (configured.decodes_uncompiled, *_0_29["start_up"][1:]),
    "storage": ONE_BACKING._replace(tensors=steps.tensors_with_index),
}
_0_33 = {
    **_0_30,
    "decode_sizes": capture.decodes_of_all,
    "start_up": (*_0_30["start_up"], configured.nothing_stock_compiled),
    "customized_spec": pages.customized_splittable,
    "mm_spans": ranges.spans_of_model,
    "storage": ONE_BACKING._replace(
        layout=steps.layout_by_backends_and_sharding,
        tensors=steps.tensors_by_stride,
        kernel_block_sizes=steps.kernel_block_sizes_of_dense,
    ),
}
_STEPS = {
    "0.25": _0_25,
    "0.26": _0_26,
    "0.27": _0_27,
    "0.28": _0_28,
    "0.29": _0_29,
    "0.30": _0_30,
    "0.33": _0_33,
}


def _older(steps: dict[str, Any], across: Callable[[AttentionSpec], bool]) -> dict[str, Any]:
    """What the older runner of a release does in place of the newer one's steps."""
    views = steps["reshape"]._replace(
        cache_dtype_of=reshape.quantised_by_spec,
        kernel_blocks=reshape.blocks_of_tokens,
        has_views=reshape.all_but_one_group,
        across_layers=across,
        shares_at="allocate",
    )
    own = {"hybrid_step": False, "page_aligned_step": False, "encoder_groups_narrow": True, "encoder_only_last": True}
    steps_of_model = {"model_step": blocks_first.everywhere, "captured": capture.captured_in_multiples}
    return {**steps, **own, **steps_of_model, "reshape": views}


_V1_STEPS = {
    **_STEPS,
    "0.25": _older(_0_25, across_layers.by_block_stride),
    "0.26": _older(_0_26, across_layers.by_block_stride),
    "0.27": _older(_0_27, across_layers.without_inline_scales),
    "0.28": _older(_0_28, across_layers.without_inline_scales),
}
_RUNNERS = {"v1": _V1_STEPS, "v2": _STEPS}


@cache
def release(version: str, runner: str = "v2") -> Release:
    """The release of a version that the catalogue holds, with the steps of one of its model runners.

    Raises Unknown where the version is that of the installed vLLM and it cannot be asked.
    """
    steps = _RUNNERS[runner][_minor(number(version))]
    try:
        catalogue.read(version)
    except installed.NotAsked as why:
        raise Unknown((), "installed", f"a vLLM that answers; {why}", "", "unknown-release") from None
    return Release(version=number(version), runner=runner, catalogue=catalogue.read(version), **steps)


def number(version: str) -> str:
    """A version as vLLM numbers it, whoever answers for it."""
    return version.removesuffix(catalogue.INSTALLED)


def other_runner(of: Release) -> Release | None:
    """The same release with its other runner, None where both go through the same steps (from 0.29 on)."""
    minor = _minor(of.version)
    if _V1_STEPS[minor] is _STEPS[minor]:
        return None
    return release(of.key, "v2" if of.runner == "v1" else "v1")


def known(word: str, path: Path = ()) -> str:
    """The version that somebody calls `word`: `0.27`, `0.27.1`, `v0.27.1` or `vllm-0.27`.

    `installed` is the release of the installed vLLM's number, with `+installed` behind it.

    Raises Unknown with the `path` to the word, () where it came from the caller.
    """
    wanted = plain(word)
    if wanted == "installed":
        return known(_minor(_installed(path)), path) + catalogue.INSTALLED
    versions = catalogue.versions()
    for version in versions:
        if wanted in (version, _minor(version)):
            return version
    expected = "a vLLM release: one of " + ", ".join(f"{_minor(v)} ({v})" for v in versions)
    raise Unknown(path, word, expected, _nearest(wanted, versions), "unknown-release")


def _minor(version: str) -> str:
    return version.rsplit(".", 1)[0]


def _nearest(wanted: str, versions: tuple[str, ...]) -> str:
    """The release whose number lies nearest, "" where the word is no number."""
    numbers = re.fullmatch(r"([0-9]{1,3})\.([0-9]{1,4})(\.[0-9]{1,4})?", wanted)
    if not numbers or numbers[1] != "0":
        return ""
    return _minor(min(versions, key=lambda version: abs(int(version.split(".")[1]) - int(numbers[2]))))


def plain(word: str) -> str:
    """A release without what people write in front of it."""
    return word.strip().lower().removeprefix("vllm-").removeprefix("vllm ").removeprefix("v")


def chosen(argument: str | None, document: str | None) -> tuple[str, str, str]:
    """(what the release is called, its version, who chose it), the caller before the document.

    Where nobody says, the release of the vLLM beside kvinspect is taken, or the nearest that is known, else the newest.
    Raises Unknown for a release that somebody named.
    """
    if argument is not None:
        return _called(argument, ()), known(argument), "argument"
    if document is not None:
        return _called(document, ("engine",)), known(document, ("engine",)), "document"
    beside = installed.version()
    if beside is not None:
        return (*_beside(beside), "installed")
    newest = catalogue.versions()[-1]
    return _minor(newest), newest, "newest"


class AnsweredByAnother(UserWarning):
    """The installed vLLM, which nobody asked for by name, is of a release that is not known."""


@cache
def _beside(version: str) -> tuple[str, str]:
    """(what the release of the installed vLLM is called, its version); warns once where another has to answer."""
    try:
        return version, known(version)
    except Unknown:
        number = re.match(r"0\.[0-9]{1,4}(?![0-9])", version)
        name = _nearest(number[0], catalogue.versions()) if number else _minor(catalogue.versions()[-1])
        text = f"the installed vLLM is {version[:40]!r}, which is not known; {name} answers; --engine names another"
        warnings.warn(text, AnsweredByAnother, stacklevel=2)
        return name, known(name)


def _called(word: str, path: Path) -> str:
    """A release as it is named in answers; `installed` by its number."""
    return _installed(path) if plain(word) == "installed" else plain(word)


def _installed(path: Path) -> str:
    """The version of the installed vLLM. Raises Unknown where there is none."""
    beside = installed.version()
    if beside is None:
        raise Unknown(path, "installed", "a vLLM that is installed in this environment", "", "unknown-release")
    return beside
