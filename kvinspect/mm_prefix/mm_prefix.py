"""`mm-prefix` from a document to its answer."""

from __future__ import annotations

from kvinspect.document.document import Document
from kvinspect.document.model import MultimodalEntry, RequestEntry
from kvinspect.engine.align_answer import AnswerHeader
from kvinspect.mm_prefix.findings import findings
from kvinspect.mm_prefix.mm_prefix_answer import MMPrefixAnswer, RequestAnswer
from kvinspect.mm_prefix.ranges import Span, SpansOf


def mm_prefix_document(document: Document, spans_of: SpansOf, setting: AnswerHeader) -> MMPrefixAnswer:
    """The bidirectional ranges of a document's requests."""
    multimodal = document.model.multimodal or MultimodalEntry()
    by_name = {request.req_id: request for request in multimodal.requests}
    window = multimodal.sliding_window
    named = [by_name[request.req_id] for request in multimodal.requests]
    answers = tuple(_request(request, tuple(spans_of(request, multimodal))) for request in named)
    found = tuple(document.source.place(problem) for problem in findings(multimodal.requests))
    return MMPrefixAnswer(setting, window, answers, found)


def _request(request: RequestEntry, found: tuple[Span, ...]) -> RequestAnswer:
    ends = [feature.mm_position.offset + feature.mm_position.length for feature in request.mm_features]
    last = max((span.range[1] + 1 for span in found), default=0)
    num_tokens = request.num_prompt_tokens or max([last, *ends], default=0)
    return RequestAnswer(request.req_id, tuple(f.modality for f in request.mm_features), found, num_tokens)
