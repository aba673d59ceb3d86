"""Findings as SARIF 2.1.0, for code scanning: rules with help, regions, fingerprints that outlive a moved line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from kvinspect.document.finding import Finding, Severity
from kvinspect.output.safe import safe
from kvinspect.report.lint.report import LintReport, RuleInfo

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def render(report: LintReport) -> str:
    """One log with one run."""
    used = {finding.code for finding in report.findings}
    rules = [rule for rule in report.rules if rule.code in used]
    index = {rule.code: i for i, rule in enumerate(rules)}
    artifacts = {source: i for i, source in enumerate(report.command_lines)}
    driver = {"name": "kvinspect", "version": report.version, "rules": [_rule(rule) for rule in rules]}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, index, artifacts) for finding in report.findings],
    }
    if artifacts:
        run["artifacts"] = [{"contents": {"text": safe(text)}} for text in report.command_lines.values()]
    if report.remarks:
        notes = [_notification(source, remark, artifacts) for source, remark in report.remarks]
        run["invocations"] = [{"executionSuccessful": True, "toolExecutionNotifications": notes}]
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: RuleInfo) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.help or rule.summary, "markdown": rule.help or rule.summary},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
    }


def _result(finding: Finding, index: Mapping[str, int], artifacts: Mapping[str, int]) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": _artifact(finding.source, artifacts)}
    if finding.mark:
        location["region"] = {"startLine": finding.mark.line, "startColumn": finding.mark.column}
    return {
        "ruleId": finding.code,
        **({"ruleIndex": index[finding.code]} if finding.code in index else {}),
        "level": LEVELS[finding.severity],
        "message": {"text": _message(finding.message)},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"kvinspectFinding/v1": finding.fingerprint},
    }


def _artifact(source: str, artifacts: Mapping[str, int]) -> dict[str, Any]:
    """A file by its URI, a command line, which has none, by its number in `run.artifacts`."""
    return {"index": artifacts[source]} if source in artifacts else {"uri": _uri(source)}


def _notification(source: str, remark: str, artifacts: Mapping[str, int]) -> dict[str, Any]:
    location = {"physicalLocation": {"artifactLocation": _artifact(source, artifacts)}}
    return {"level": "note", "message": {"text": _message(remark)}, "locations": [location]}


def _message(text: str) -> str:
    """A message without placeholders and links (SARIF 2.1.0, 3.11.5 and 3.11.6): braces doubled, brackets escaped."""
    return re.sub(r"[{}]", r"\g<0>\g<0>", re.sub(r"[\[\]]", r"\\\g<0>", safe(text)))


def _uri(source: str) -> str:
    """A path as a relative reference: what a URI would read otherwise is percent-encoded."""
    return quote(source.removeprefix("./").encode("utf-8", "surrogatepass"), safe="/-_.~")
