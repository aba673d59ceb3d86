"""Comments that silence findings: `# kvinspect: ignore[KV101]` on a line, or at the head of a file for all of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kvinspect.document.finding import Finding
from kvinspect.document.problem import Mark
from kvinspect.lint.registry import UnknownRule, rule_named

_COMMENT = re.compile(r"(?:^|\s)#\s*kvinspect:\s*ignore(?:\[([^\]]*)\])?", re.IGNORECASE)


class Comment(NamedTuple):
    """A comment: where it stands, the line that it is about (None: the whole file), and the codes (empty: all)."""

    mark: Mark
    line: int | None
    words: tuple[str, ...]

    def silences(self, finding: Finding) -> str | None:
        """The word of the comment that silences a finding, None where it does not."""
        if self.line is not None and (finding.mark is None or finding.mark.line != self.line):
            return None
        if not self.words:
            return ""
        return next((word for word in self.words if word.upper() == finding.code or word.lower() == finding.name), None)


def comments(text: str) -> Iterator[Comment]:
    """The comments of a YAML text. One alone on its line is about the next line, or at the head about the file."""
    if "kvinspect:" not in text:
        return
    at_head = True
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        at_head = at_head and (not stripped or stripped.startswith(("#", "%", "---")))
        found = _COMMENT.search(line)
        if found is None:
            continue
        about = None if at_head else number + 1 if stripped.startswith("#") else number
        words = tuple(word.strip() for word in (found[1] or "").split(",") if word.strip())
        yield Comment(Mark(number, line.index("#", found.start()) + 1), about, words)


def silenced(findings: Iterable[Finding], text: str, source: str) -> list[Finding]:
    """The findings that no comment silences, and one for each comment or code that silences nothing."""
    known = list(comments(text))
    used: set[tuple[Mark, str]] = set()
    kept = []
    for finding in findings:
        by = [(comment.mark, word) for comment in known if (word := comment.silences(finding)) is not None]
        used.update(by)
        if not by:
            kept.append(finding)
    return [*kept, *_idle(known, used, text, source)]


def _idle(known: list[Comment], used: set[tuple[Mark, str]], text: str, source: str) -> Iterator[Finding]:
    rule = rule_named("KV006")
    lines = text.splitlines()
    for comment in known:
        for word in comment.words or ("",):
            if (comment.mark, word) not in used:
                line = lines[comment.mark.line - 1]
                message = _complaint(word)
                yield Finding(rule.code, rule.name, rule.severity, message, source, (), comment.mark, line)


def _complaint(word: str) -> str:
    if not word:
        return "this comment silences nothing; drop it"
    try:
        return f"{rule_named(word).code} is not found here; drop it from the comment"
    except UnknownRule as error:
        return str(error)
