"""What is odd about the features of a request, though the engine says nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvinspect.document.model import FeatureEntry, RequestEntry
from kvinspect.document.numbers import counted
from kvinspect.document.problem import Path, Problem
from kvinspect.mm_prefix.masks import mask_length

REQUESTS: Path = ("multimodal", "requests")


def findings(requests: Sequence[RequestEntry]) -> Iterator[Problem]:
    """Overlapping placeholders, masks of another length, spans past the prompt, requests of one name."""
    seen: dict[str, int] = {}
    for i, request in enumerate(requests):
        if request.req_id in seen:
            text = f"request {seen[request.req_id]} has the same name, and the engine keeps the features of the last"
            yield Problem((*REQUESTS, i, "req_id"), message=text, kind="duplicate-request")
        seen.setdefault(request.req_id, i)
        yield from _of_features(request, (*REQUESTS, i, "mm_features"))


def _of_features(request: RequestEntry, path: Path) -> Iterator[Problem]:
    for i, feature in enumerate(request.mm_features):
        place = (*path, i, "mm_position")
        yield from _of_mask(feature, place)
        end = feature.mm_position.offset + feature.mm_position.length
        prompt = request.num_prompt_tokens
        if prompt is not None and end > prompt:
            text = f"ends at token {end - 1}, and the prompt has {prompt}"
            yield Problem(place, message=text, kind="past-the-prompt")
    yield from _overlaps(request.mm_features, path)


def _of_mask(feature: FeatureEntry, place: Path) -> Iterator[Problem]:
    position = feature.mm_position
    length = mask_length(position)
    if length != position.length:
        text = f"speaks of {counted(length, 'position')}, and the placeholder has {position.length}"
        yield Problem((*place, "is_embed"), message=text, kind="mask-length")
    if position.length == 0 and position.is_embed is None:
        text = "is 0, of which the engine makes a range that ends before it begins"
        yield Problem((*place, "length"), message=text, kind="empty-placeholder")


def _overlaps(features: Sequence[FeatureEntry], path: Path) -> Iterator[Problem]:
    """Each placeholder that begins before an earlier one ends."""
    reach = (-1, -1)
    for i, feature in sorted(enumerate(features), key=lambda item: item[1].mm_position.offset):
        position = feature.mm_position
        if position.offset <= reach[0] and position.length:
            text = f"is token {position.offset}, and the placeholder of feature {reach[1]} goes on to {reach[0]}"
            yield Problem((*path, i, "mm_position", "offset"), message=text, kind="overlap")
        reach = max(reach, (position.offset + position.length - 1, i))
