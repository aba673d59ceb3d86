"""Findings as JSON."""

from __future__ import annotations

from kvinspect.engine.align_answer import SCHEMA_VERSION
from kvinspect.report.data import as_json
from kvinspect.report.lint.report import LintReport


def render(report: LintReport) -> str:
    """One object, ASCII only."""
    counts = {severity.word: count for severity, count in sorted(report.counts.items(), reverse=True)}
    findings = [dict(finding.to_dict()) for finding in report.findings]
    lines = [{"source": source, "text": text} for source, text in report.command_lines.items()]
    files = len(report.sources) - len(lines)
    head = {"schema_version": SCHEMA_VERSION, "version": report.version, "files": files}
    remarks = [{"source": source, "message": remark} for source, remark in report.remarks]
    more = {"command_lines": lines} if lines else {}
    return as_json({**head, "counts": counts, "findings": findings, "remarks": remarks, **more})
