"""The bidirectional ranges of a request (`compute_mm_prefix_ranges` in `gpu/attn_utils.py`, 0.25 to 0.30).

In 0.33 (`attention/backends/utils.py`) a model may say that it cuts ranges at the window itself, so that none is
skipped, and that it pads before each span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kvinspect.document.model import FeatureEntry, MultimodalEntry, RequestEntry
from kvinspect.document.numbers import counted
from kvinspect.mm_prefix.masks import runs
from kvinspect.provenance import vllm

MODALITIES = ("image", "video")
"""The features whose tokens attend bidirectionally."""

Range = tuple[int, int]
"""First and last token of a span of the prompt, both in it."""


class Span(NamedTuple):
    """A span of a feature: where it stands, and why it stays causal, "" where it attends bidirectionally."""

    feature: int
    range: Range
    skipped: str = ""


SpansOf = Callable[[RequestEntry, MultimodalEntry], Iterator[Span]]
"""(a request, the document's multimodal section) → the spans of the request's image and video tokens."""


def spans(request: RequestEntry, sliding_window: int | None) -> Iterator[Span]:
    """Every span of a request in the order in which its features stand. The window is in tokens."""
    for i, feature in enumerate(request.mm_features):
        for span in feature_ranges(feature):
            yield Span(i, span, _skipped(feature, span, sliding_window))


@vllm("compute_mm_prefix_ranges", until="0.30")
def spans_of(request: RequestEntry, multimodal: MultimodalEntry) -> Iterator[Span]:
    """The spans of a request of a document (0.25 to 0.30)."""
    return spans(request, multimodal.sliding_window)


@vllm("compute_mm_prefix_ranges", since="0.33")
def spans_of_model(request: RequestEntry, multimodal: MultimodalEntry) -> Iterator[Span]:
    """The spans of a request of a document, whose model may cut and pad (0.33)."""
    window = None if multimodal.mm_prefix_clamp_sliding_window else multimodal.sliding_window
    pad = multimodal.mm_prefix_span_leading_pad_modulus
    if not pad:
        yield from spans(request, window)
        return
    for i, feature in enumerate(request.mm_features):
        offset, length = feature.mm_position.offset, feature.mm_position.length
        span = (offset // pad * pad + pad - 1, offset + length - 1)
        yield Span(i, span, _skipped(feature, span, window))


def feature_ranges(feature: FeatureEntry) -> list[Range]:
    """The spans that a feature's embeddings take in the prompt."""
    offset = feature.mm_position.offset
    return [(offset + first, offset + last) for first, last in runs(feature.mm_position)]


def _skipped(feature: FeatureEntry, span: Range, sliding_window: int | None) -> str:
    if feature.modality not in MODALITIES:
        return f"{feature.modality} attends causally; only {' and '.join(MODALITIES)} attend bidirectionally"
    length = span[1] - span[0] + 1
    if sliding_window is not None and length > sliding_window:
        return f"{counted(length, 'token')} are more than the sliding window of {sliding_window}"
    return ""
