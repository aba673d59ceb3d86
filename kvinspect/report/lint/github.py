"""Findings as workflow commands, which GitHub shows as annotations in a pull request."""

from __future__ import annotations

from kvinspect.document.finding import Finding, Severity
from kvinspect.output.safe import Syntax, safe, without_commands
from kvinspect.report.lint.report import LintReport

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: LintReport) -> str:
    """A command a finding or remark, and the summary as a line."""
    remarks = [f"::notice file={_property(source)}::{_data(remark)}" for source, remark in report.remarks]
    return "\n".join([*map(_command, report.findings), *remarks, report.summary]) + "\n"


def _command(finding: Finding) -> str:
    place = {"file": finding.source}
    if finding.mark:
        place |= {"line": str(finding.mark.line), "col": str(finding.mark.column)}
    place["title"] = f"{finding.code} {finding.name}"
    properties = ",".join(f"{key}={_property(value)}" for key, value in place.items())
    return f"::{COMMANDS[finding.severity]} {properties}::{_data(finding.message)}"


def _data(text: str) -> str:
    """A message: control characters are written as escapes, and a percent sign begins one of GitHub's own."""
    return without_commands(safe(text), Syntax.TEXT).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
