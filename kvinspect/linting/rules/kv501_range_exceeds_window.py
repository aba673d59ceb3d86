"""KV501: a bidirectional span is longer than the sliding window and is dropped."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import WARNING, Found, Rule
from kvinspect.linting.subjects.document import DocumentSubject
from kvinspect.mm_prefix.findings import REQUESTS
from kvinspect.mm_prefix.ranges import MODALITIES


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Spans of images and videos that the window costs their both-ways attention."""
    multimodal = subject.document.model.multimodal
    for i, request in enumerate(multimodal.requests if multimodal else []):
        for span in subject.release.mm_spans(request, multimodal) if multimodal else ():
            if span.skipped and request.mm_features[span.feature].modality in MODALITIES:
                first, last = span.range
                text = f"tokens {first} to {last} attend causally: {span.skipped}"
                yield Found((*REQUESTS, i, "mm_features", span.feature, "mm_position"), text)


RULE = Rule("KV501", "range-exceeds-window", WARNING, "a bidirectional span is longer than the window", check)
