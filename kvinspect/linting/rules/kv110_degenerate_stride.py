"""KV110: a dim of size 1 whose stride the tensor memory accelerator cannot take."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.document.numbers import counted
from kvinspect.engine.groups import AttentionGroup
from kvinspect.engine.reshape import LayerView
from kvinspect.linting.rule import WARNING, Found, Rule
from kvinspect.linting.rules._shared import folded
from kvinspect.linting.subjects.document import DocumentSubject

ALIGNMENT = 16
"""Bytes that every stride but the innermost has to be a multiple of."""


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Layers of backends that say that they load by TMA; vLLM's own mend such strides themselves (0.25 to 0.28)."""
    if subject.cache is None or subject.soundness is None or not _has_tma(subject):
        return
    views = subject.soundness.views
    for group in filter(lambda group: _loads_by_tma(subject, group), subject.attention):
        layers = [layer for layer in group.layer_names if layer in views and _bad_dim(views[layer])]
        if layers:
            dim = _bad_dim(views[layers[0]]) or (0, 0)
            stride = f"a stride of {counted(dim[1], 'byte')}, which is not a multiple of {ALIGNMENT}"
            text = f"{folded(layers)}: dim {dim[0]} has size 1 and {stride}"
            yield Found(subject.entry(layers[0]), f"{text}; canonicalize the strides before the kernel call", layers)


def _has_tma(subject: DocumentSubject) -> bool:
    capability = subject.cache.deployment.capability if subject.cache else None
    platform = subject.document.model.platform
    return platform == "cuda" and capability is not None and int(capability.split(".")[0]) >= 9


def _loads_by_tma(subject: DocumentSubject, group: AttentionGroup) -> bool:
    own = subject.document.model.backends.get(group.backend.name)
    return own is not None and own.loads_by_tma


def _bad_dim(view: LayerView) -> tuple[int, int] | None:
    """(dim, stride in bytes) of the first dim of size 1, the innermost aside, whose stride is not aligned."""
    found = view.parts[0].view
    for dim, (size, stride) in enumerate(zip(found.shape, found.stride, strict=True)):
        if size == 1 and dim < len(found.shape) - 1 and stride * found.itemsize % ALIGNMENT:
            return dim, stride * found.itemsize
    return None


RULE = Rule("KV110", "degenerate-stride", WARNING, "a dim of size 1 has a stride that TMA does not support", check)
