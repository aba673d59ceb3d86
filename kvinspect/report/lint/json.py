"""Findings as JSON."""

from __future__ import annotations

from kvinspect.engine.align_answer import SCHEMA_VERSION
from kvinspect.report.data import as_json
from kvinspect.report.lint.report import LintReport


def render(report: LintReport) -> str:
    """One object, ASCII only."""
    counts = {severity.word: count for severity, count in sorted(report.counts.items(), reverse=True)}
    findings = [dict(finding.to_dict()) for finding in report.findings]
    head = {"schema_version": SCHEMA_VERSION, "version": report.version, "files": len(report.sources)}
    remarks = [{"source": source, "message": remark} for source, remark in report.remarks]
    return as_json({**head, "counts": counts, "findings": findings, "remarks": remarks})
