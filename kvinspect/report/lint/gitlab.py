"""Findings as a GitLab code quality report: an array of issues, each with a fingerprint of its own."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

from kvinspect.document.finding import Finding, Severity
from kvinspect.output.safe import safe
from kvinspect.report.lint.report import LintReport

SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.NOTE: "info"}


def render(report: LintReport) -> str:
    """The array; issues that are alike get fingerprints that differ."""
    seen: Counter[str] = Counter()
    issues = []
    for finding in report.findings:
        issues.append(_issue(finding, seen[finding.fingerprint]))
        seen[finding.fingerprint] += 1
    issues += [_remark(source, remark) for source, remark in report.remarks]
    return json.dumps(issues, indent=2) + "\n"


def _issue(finding: Finding, number: int) -> dict[str, object]:
    return {
        "description": f"{finding.name}: {safe(finding.message)}",
        "check_name": finding.code,
        "fingerprint": finding.fingerprint + (f"-{number}" if number else ""),
        "severity": SEVERITIES[finding.severity],
        "location": {
            "path": safe(finding.source.removeprefix("./")),
            "lines": {"begin": finding.mark.line if finding.mark else 1},
        },
    }


def _remark(source: str, remark: str) -> dict[str, object]:
    return {
        "description": safe(remark),
        "check_name": "judged-in-part",
        "fingerprint": hashlib.sha256(f"{source}\x00{remark}".encode("utf-8", "surrogatepass")).hexdigest()[:32],
        "severity": "info",
        "location": {"path": safe(source.removeprefix("./")), "lines": {"begin": 1}},
    }
