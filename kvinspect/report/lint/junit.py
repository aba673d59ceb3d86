"""Findings as JUnit XML: a suite a file, a failed case a finding, one that passed for a file without any.

What keeps a file from being judged is an error in place of a failure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from kvinspect.document.finding import Finding
from kvinspect.output.safe import safe
from kvinspect.report.lint.report import LintReport

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: LintReport) -> str:
    """One document."""
    by_source: dict[str, list[Finding]] = {source: [] for source in report.sources}
    for finding in report.findings:
        by_source.setdefault(finding.source, []).append(finding)
    remarks = dict(report.remarks)
    suites = "".join(_suite(source, found, remarks.get(source, "")) for source, found in by_source.items())
    cases = sum(max(1, len(findings)) for findings in by_source.values())
    totals = f'tests="{cases}" {_counts(report.findings)}'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="kvinspect" {totals}>\n{suites}</testsuites>\n'


def _suite(source: str, findings: list[Finding], remark: str) -> str:
    cases = "".join(_case(finding) for finding in findings) or f"  <testcase name={_attribute(source)}/>\n"
    counts = f'tests="{max(1, len(findings))}" {_counts(findings)}'
    said = f"  <system-out>{_text(remark)}</system-out>\n" if remark else ""
    return f" <testsuite name={_attribute(source)} {counts}>\n{cases}{said} </testsuite>\n"


def _counts(findings: Sequence[Finding]) -> str:
    errors = sum(finding.unjudged for finding in findings)
    return f'failures="{len(findings) - errors}" errors="{errors}"'


def _case(finding: Finding) -> str:
    name = _attribute(f"{finding.code} {finding.name} ({finding.where})")
    kind, message = _attribute(finding.severity.word), _attribute(finding.message)
    head = f"  <testcase name={name} classname={_attribute(finding.source)}>"
    tag = "error" if finding.unjudged else "failure"
    return f"{head}<{tag} type={kind} message={message}>{_text(finding.message)}</{tag}></testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _text(text: str) -> str:
    return escape(_clean(text))


def _clean(text: str) -> str:
    """Text without what XML cannot hold; `safe` has written control characters as escapes."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", safe(text))
