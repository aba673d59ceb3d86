"""Comments that silence findings: `# kvinspect: ignore[KV101]` on a line, or at the head of a file for all of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from kvinspect.document.finding import Finding
from kvinspect.document.positions import line_of
from kvinspect.document.problem import Mark
from kvinspect.document.source import Source
from kvinspect.linting.registry import UnknownRule, rule_named

if TYPE_CHECKING:
    from kvinspect.document.line_ends import Comment

_IGNORE = re.compile(r"(?:^|\s)#\s*kvinspect:\s*ignore(?![\w-])(\[[^\]]*\]?)?", re.IGNORECASE)


class Suppression(NamedTuple):
    """A comment that silences: where it stands, the line that it is about (None: the whole file), the codes."""

    mark: Mark
    line: int | None
    words: tuple[str, ...]
    """Codes and names of rules, empty for all of them."""

    def silences(self, finding: Finding) -> str | None:
        """The word of the comment that silences a finding, None where it does not."""
        if self.line is not None and (finding.mark is None or finding.mark.line != self.line):
            return None
        if not self.words:
            return ""
        return next((word for word in self.words if word.upper() == finding.code or word.lower() == finding.name), None)


def suppressions(source: Source) -> list[Suppression]:
    """The suppressions among the comments of a text."""
    # The scanner is asked only where a text, comments or not, has such words.
    if not _IGNORE.search(source.text):
        return []
    return [found for comment in source.comments(source.text) for found in _suppression(comment)]


def _suppression(comment: Comment) -> Iterator[Suppression]:
    """What a comment silences. One alone on its line is about the next line, or at the head about the file."""
    found = _IGNORE.search(comment.text)
    if found is None:
        return
    line, column = comment.mark
    about = None if comment.at_head else line + 1 if comment.is_alone else line
    mark = Mark(line, column + comment.text.index("#", found.start()))
    yield Suppression(mark, about, _words(found[1]))


def _words(brackets: str | None) -> tuple[str, ...]:
    """The words in brackets. Brackets that are empty or not closed are a word of their own, which names no rule."""
    if brackets is None:
        return ()
    words = tuple(word.strip() for word in brackets[1:-1].split(",") if word.strip())
    return words if words and brackets.endswith("]") else (brackets,)


def silenced(findings: Iterable[Finding], source: Source, is_checked: Callable[[str], bool]) -> list[Finding]:
    """The findings that no comment silences, and one for each comment or code that silences nothing.

    What keeps a file from being judged is never silenced, and then nothing is said of the comments. `is_checked` tells
    whether the rule of a code was asked at all, and of "" whether every rule was.
    """
    findings = list(findings)
    known = suppressions(source)
    used: set[tuple[Mark, str]] = set()
    kept = []
    for finding in findings:
        by = [] if finding.unjudged else [(s.mark, word) for s in known if (word := s.silences(finding)) is not None]
        used.update(by)
        if not by:
            kept.append(finding)
    if any(finding.unjudged for finding in findings):
        return kept
    return [*kept, *_idle(known, used, source, is_checked)]


def _idle(
    known: list[Suppression], used: set[tuple[Mark, str]], source: Source, is_checked: Callable[[str], bool]
) -> Iterator[Finding]:
    rule = rule_named("KV006")
    lines = source.line_end.split(source.text) if known else []
    for comment in known:
        for word in comment.words or ("",):
            complaint = "" if (comment.mark, word) in used else _complaint(word, is_checked)
            if complaint:
                line = line_of(lines, comment.mark)
                yield Finding(rule.code, rule.name, rule.severity, complaint, source.name, (), comment.mark, line)


def _complaint(word: str, is_checked: Callable[[str], bool]) -> str:
    """What is wrong with a word that silences nothing, "" where its rule was not asked."""
    if not word:
        return "this comment silences nothing; drop it" if is_checked("") else ""
    try:
        code = rule_named(word).code
    except UnknownRule as error:
        return str(error)
    return f"{code} is not found here; drop it from the comment" if is_checked(code) else ""
