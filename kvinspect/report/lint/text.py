"""Findings as a compiler prints errors: a line with place, code and message, the line of the file, a caret."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from kvinspect.document.finding import Finding, Severity
from kvinspect.output.safe import safe, safe_line
from kvinspect.report.lint.report import LintReport

SNIPPET = 120
"""Characters of a line that a snippet shows."""

COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}


def render(report: LintReport, *, colour: bool = False, snippets: bool = True, width: int | None = None) -> str:
    """The findings and a summary line; `colour` writes escape codes, `width` is a terminal's, where lines are wrapped.

    Off a terminal a finding is one line, which editors and scripts read.
    """
    lines = [line for finding in report.findings for line in _finding(finding, colour, snippets, width)]
    lines += [f"{safe(source)}: {safe(remark)}" for source, remark in report.remarks]
    return "\n".join([*lines, report.summary]) + "\n"


def statistics(report: LintReport) -> str:
    """How often each rule was found, the most frequent first."""
    counts: dict[tuple[str, str, str], int] = {}
    for finding in report.findings:
        key = (finding.code, finding.name, finding.severity.word)
        counts[key] = counts.get(key, 0) + 1
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    lines = [f"{count:>5}  {code}  {name} ({severity})" for (code, name, severity), count in rows]
    return "\n".join([*lines, report.summary]) + "\n"


def _finding(finding: Finding, colour: bool, snippets: bool, width: int | None) -> Iterator[str]:
    severity = _painted(finding.severity.word, COLOURS[finding.severity], colour)
    code = _painted(finding.code, "1", colour)
    plain = f"{finding.severity.word}[{finding.code}]"
    line = f"{safe(finding.where)}: {plain} {finding.name}: {safe(finding.message)}{_releases(finding)}"
    yield _wrapped(line, width).replace(plain, f"{severity}[{code}]", 1)
    if snippets and finding.mark and finding.line_text.strip():
        yield from _snippet(finding, colour)


def _wrapped(line: str, width: int | None) -> str:
    """A line in a terminal's width, cut at blanks; what follows the first line is set in."""
    if width is None or len(line) <= width:
        return line
    cut = textwrap.wrap(line, width, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(cut)


def _releases(finding: Finding) -> str:
    if not finding.releases:
        return ""
    absent = f"; not in {', '.join(finding.absent)}" if finding.absent else ""
    return f" (in {', '.join(finding.releases)}{absent})"


def _snippet(finding: Finding, colour: bool) -> Iterator[str]:
    assert finding.mark
    column = finding.mark.column
    start = max(0, column - SNIPPET // 2) if len(finding.line_text) > SNIPPET else 0
    number = str(finding.mark.line)
    yield f"{number} | {safe_line(finding.line_text[start : start + SNIPPET])}"
    yield f"{' ' * len(number)} | {' ' * (column - 1 - start)}{_painted('^', COLOURS[finding.severity], colour)}"


def _painted(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text
