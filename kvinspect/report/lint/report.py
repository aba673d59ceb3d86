"""What every format is handed: the findings of a call, what was looked at, and what is to be said of the rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvinspect.document.finding import Finding, Severity
from kvinspect.document.numbers import counted


class RuleInfo(NamedTuple):
    """What a format says of a rule; `help` is its page, in Markdown."""

    code: str
    name: str
    severity: Severity
    summary: str
    help: str


class LintReport(NamedTuple):
    """The findings of a call, in the order of the files."""

    findings: Sequence[Finding]
    sources: Sequence[str]
    """The files, or the command line, that were looked at."""
    version: str
    """Of kvinspect."""
    rules: Sequence[RuleInfo] = ()
    """The rules, for formats that describe them."""
    remarks: Sequence[tuple[str, str]] = ()
    """(file, what was left unjudged in it) where no finding says so."""
    command_lines: Mapping[str, str] = {}
    """The text of each source that is a command line and no file."""
    places: int = 0
    """How many places of engine arguments were judged in files of other kinds."""
    places_by_flags: int = 0
    """How many of these were judged by their flags alone, because no facts of their model are here."""

    @property
    def counts(self) -> Counter[Severity]:
        """How many findings there are of each severity."""
        return Counter(finding.severity for finding in self.findings)

    @property
    def summary(self) -> str:
        """The last line: how many findings in how many files, or in a command line."""
        files = counted(len(self.sources), "command line" if self.command_lines else "file")
        if not self.sources:
            return "Nothing was checked."
        if self.places:
            some = f" ({self.places_by_flags:,} by flags only)" if self.places_by_flags else ""
            files += f", {counted(self.places, 'place')} judged{some}"
        if self.remarks:
            files += f", {len(self.remarks)} judged in part"
        if not self.findings:
            return f"No findings in {files}." if self.remarks else f"All checks passed! ({files})"
        parts = ", ".join(
            counted(count, severity.word) for severity, count in sorted(self.counts.items(), reverse=True)
        )
        return f"Found {counted(len(self.findings), 'finding')} ({parts}) in {files}."
