"""The answer of `mm-prefix` for a document, as values that print themselves as JSON."""

from __future__ import annotations

from typing import Any, NamedTuple

from kvinspect.document.problem import Problem, path_text
from kvinspect.engine.align_answer import SCHEMA_VERSION, AnswerHeader
from kvinspect.mm_prefix.ranges import Range, Span


class RequestAnswer(NamedTuple):
    """A request: every span of its features, and the tokens that there are to see."""

    req_id: str
    modalities: tuple[str, ...]
    spans: tuple[Span, ...]
    num_tokens: int
    """Tokens of the prompt, as far as the last placeholder where the document does not say."""

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The spans that attend bidirectionally, as the engine lists them."""
        return tuple(span.range for span in self.spans if not span.skipped)

    @property
    def skipped(self) -> tuple[Span, ...]:
        """The spans that stay causal."""
        return tuple(span for span in self.spans if span.skipped)

    def to_dict(self) -> dict[str, Any]:
        """The request as JSON; both ends of a range are in it."""
        skipped = [{"range": list(span.range), "feature": span.feature, "why": span.skipped} for span in self.skipped]
        return {"req_id": self.req_id, "ranges": [list(r) for r in self.ranges], "skipped": skipped}


class MMPrefixAnswer(NamedTuple):
    """The answer of `mm-prefix`."""

    setting: AnswerHeader
    sliding_window: int | None
    requests: tuple[RequestAnswer, ...]
    findings: tuple[Problem, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing is odd about the features."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """The answer as `--format json` prints it."""
        setting = self.setting
        return {
            "schema_version": SCHEMA_VERSION,
            **{key: getattr(setting, key) for key in ("source", "engine", "release", "engine_source")},
            "sliding_window": self.sliding_window,
            "req_doc_ranges": {str(i): [list(r) for r in request.ranges] for i, request in enumerate(self.requests)},
            "requests": [request.to_dict() for request in self.requests],
            "findings": [finding_dict(finding) for finding in self.findings],
        }


def finding_dict(finding: Problem) -> dict[str, Any]:
    """A finding as JSON, with its place in the document where it has a text."""
    place = {"line": finding.mark.line, "column": finding.mark.column} if finding.mark else {}
    return {"kind": finding.kind, "path": path_text(finding.path), **place, "text": finding.text}
