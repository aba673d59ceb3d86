"""Findings as workflow commands, which GitHub shows as annotations in a pull request."""

from __future__ import annotations

from kvinspect.document.finding import Finding, Severity
from kvinspect.output.safe import Syntax, safe, without_commands
from kvinspect.report.lint.report import LintReport

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: LintReport) -> str:
    """A command a finding or remark, and the summary as a line."""
    lines = report.command_lines
    commands = [_command(finding, finding.source not in lines) for finding in report.findings]
    remarks = [
        f"::notice {'title=judged in part' if source in lines else f'file={_property(source)}'}::{_data(remark)}"
        for source, remark in report.remarks
    ]
    return "\n".join([*commands, *remarks, report.summary]) + "\n"


def _command(finding: Finding, in_file: bool) -> str:
    """A finding; one in no file stands at the workflow's run."""
    place = {"file": finding.source} if in_file else {}
    if finding.mark and in_file:
        place |= {"line": str(finding.mark.line), "col": str(finding.mark.column)}
    place["title"] = f"{finding.code} {finding.name}"
    properties = ",".join(f"{key}={_property(value)}" for key, value in place.items())
    return f"::{COMMANDS[finding.severity]} {properties}::{_data(finding.message)}"


def _data(text: str) -> str:
    """A message: control characters are written as escapes, and a percent sign begins one of GitHub's own."""
    return without_commands(safe(text), Syntax.TEXT).replace("%", "%25")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
