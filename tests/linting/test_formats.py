"""Six formats of the same findings: well formed, complete, and closed to what foreign names try."""

import json
import re
import xml.etree.ElementTree as ET

import jsonschema
import pytest

from kvinspect.document.finding import Finding, Severity
from kvinspect.document.problem import Mark
from kvinspect.report.lint import github, gitlab, junit, sarif, text
from kvinspect.report.lint import json as as_json
from kvinspect.report.lint.report import LintReport, RuleInfo

EVIL = "x\n::error::y]]>%0A\x1b[31m\r\u202e<b>&\"'\x00\udcff,:"
PLAIN = Finding(
    "KV101", "mixed-layouts-restrided", Severity.NOTE, "one", "a.yaml", ("kv", 1), Mark(3, 5), "  backend: X"
)
RULES = [RuleInfo("KV101", "mixed-layouts-restrided", Severity.NOTE, "summary", "# help\n")]


def report(*findings, sources=("a.yaml",)):
    return LintReport(findings, sources, "0.1.0", RULES)


MIXED = report(
    PLAIN,
    PLAIN._replace(code="KV102", severity=Severity.ERROR, mark=None, line_text="", source="b.yaml"),
    PLAIN._replace(severity=Severity.WARNING, message=EVIL, source=EVIL, path=(EVIL,), layers=(EVIL,), line_text=EVIL),
    sources=("a.yaml", "b.yaml", EVIL, "clean.yaml"),
)
RENDERERS = {"text": text, "json": as_json, "github": github, "sarif": sarif, "junit": junit, "gitlab": gitlab}


@pytest.mark.parametrize("name", RENDERERS)
@pytest.mark.parametrize("made", [MIXED, report()], ids=["mixed", "clean"])
def test_no_format_lets_control_characters_or_commands_out(name, made):
    out = RENDERERS[name].render(made)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\ud800-\udfff]", out)
    out.encode("utf-8")
    commands = [line for line in out.splitlines() if line.lstrip().startswith("::")]
    assert len(commands) == (3 if name == "github" and made is MIXED else 0)


def test_text_is_a_compilers_line_with_a_caret():
    assert text.render(report(PLAIN)) == (
        "a.yaml:3:5: note[KV101] mixed-layouts-restrided: one\n"
        "3 |   backend: X\n"
        "  |     ^\n"
        "Found 1 finding (1 note) in 1 file.\n"
    )
    assert text.render(report()) == "All checks passed! (1 file)\n"
    assert "\x1b[36mnote\x1b[0m" in text.render(report(PLAIN), colour=True)


def test_a_terminal_wraps_a_long_finding_at_blanks_and_nothing_else_does():
    long = report(PLAIN._replace(message="sixteen letters " * 20 + "end", line_text=""))
    alone, *_ = text.render(long).splitlines()
    wrapped = text.render(long, width=80).splitlines()[:-1]
    assert alone.endswith("letters end")
    assert len(wrapped) == 5
    assert max(map(len, wrapped)) <= 80
    assert " ".join(line.strip() for line in wrapped) == alone
    assert "\x1b[36mnote\x1b[0m[\x1b[1mKV101\x1b[0m]" in text.render(long, colour=True, width=80)


def test_statistics_count_each_rule():
    lines = text.statistics(report(PLAIN, PLAIN, PLAIN._replace(code="KV102"))).splitlines()
    assert [line.split()[:2] for line in lines[:2]] == [["2", "KV101"], ["1", "KV102"]]


def test_releases_are_told_in_text_and_json():
    finding = PLAIN._replace(releases=("0.25.1",), absent=("0.27.1",))
    assert "one (in 0.25.1; not in 0.27.1)" in text.render(report(finding))
    assert json.loads(as_json.render(report(finding)))["findings"][0]["absent"] == ["0.27.1"]


def test_github_commands_are_of_the_form_that_the_runner_reads():
    lines = github.render(MIXED).splitlines()
    for line in lines[:3]:
        found = re.fullmatch(r"::(error|warning|notice) ([a-z]+=[^,:]*(?:,[a-z]+=[^,:]*)*)::(.*)", line)
        assert found, line
        assert "file" in dict(pair.split("=", 1) for pair in found[2].split(","))
    assert lines[0] == "::notice file=a.yaml,line=3,col=5,title=KV101 mixed-layouts-restrided::one"


TEXT = {
    "type": "object",
    "required": ["text"],
    "properties": {"text": {"type": "string"}, "markdown": {"type": "string"}},
}
LEVEL = {"enum": ["none", "note", "warning", "error"]}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "additionalProperties": False,
                "properties": {
                    "invocations": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["executionSuccessful"],
                            "properties": {"executionSuccessful": {"type": "boolean"}},
                        },
                    },
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "additionalProperties": False,
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": {"type": "string"},
                                                "name": {"type": "string"},
                                                "shortDescription": TEXT,
                                                "help": TEXT,
                                                "defaultConfiguration": {
                                                    "type": "object",
                                                    "properties": {"level": LEVEL},
                                                },
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "artifacts": {
                        "type": "array",
                        "minItems": 0,
                        "uniqueItems": True,
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "properties": {
                                "contents": {
                                    "type": "object",
                                    "additionalProperties": False,
                                    "properties": {"text": {"type": "string"}},
                                },
                            },
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": -1},
                                "level": LEVEL,
                                "message": TEXT,
                                "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
                                "locations": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "additionalProperties": False,
                                        "properties": {
                                            "physicalLocation": {
                                                "type": "object",
                                                "required": ["artifactLocation"],
                                                "additionalProperties": False,
                                                "properties": {
                                                    "artifactLocation": {
                                                        "type": "object",
                                                        "additionalProperties": False,
                                                        "properties": {
                                                            "uri": {"type": "string", "format": "uri-reference"},
                                                            "index": {"type": "integer", "minimum": -1},
                                                        },
                                                    },
                                                    "region": {
                                                        "type": "object",
                                                        "additionalProperties": False,
                                                        "properties": {
                                                            "startLine": {"type": "integer", "minimum": 1},
                                                            "startColumn": {"type": "integer", "minimum": 1},
                                                        },
                                                    },
                                                },
                                            }
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}
"""What SARIF 2.1.0 asks of the objects that we write, and nothing beyond them."""


@pytest.mark.parametrize("made", [MIXED, report()], ids=["mixed", "clean"])
def test_sarif_fits_the_standard(made):
    log = json.loads(sarif.render(made))
    jsonschema.validate(log, SARIF)
    run = log["runs"][0]
    assert len(run["results"]) == len(made.findings)
    for result in run["results"]:
        if "ruleIndex" in result:
            assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9/_.~%-]*", uri)


def test_the_sarif_test_can_fail():
    log = json.loads(sarif.render(MIXED))
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, SARIF)


@pytest.mark.parametrize("made", [MIXED, report()], ids=["mixed", "clean"])
def test_junit_has_the_elements_and_attributes_that_readers_ask_for(made):
    root = ET.fromstring(junit.render(made))
    assert root.tag == "testsuites"
    for suite in root:
        assert suite.tag == "testsuite"
        assert {"name", "tests", "failures", "errors"} <= set(suite.keys())
        assert len(suite) == int(suite.get("tests"))
        assert len(suite.findall("testcase/failure")) == int(suite.get("failures"))
        for case in suite:
            assert case.tag == "testcase"
            assert case.get("name")
            assert all(child.tag == "failure" and {"type", "message"} <= set(child.keys()) for child in case)
    assert len(root.findall("testsuite/testcase/failure")) == len(made.findings)
    assert {suite.get("name") for suite in root} >= {"a.yaml"}


GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string"},
            "check_name": {"type": "string"},
            "fingerprint": {"type": "string"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./)"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
"""What GitLab's page about its code quality report asks for."""


def test_gitlab_is_an_array_of_issues_whose_fingerprints_differ():
    made = report(PLAIN, PLAIN, *MIXED.findings[1:])
    issues = json.loads(gitlab.render(made))
    jsonschema.validate(issues, GITLAB)
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == 4


def test_json_has_counts_and_findings():
    answer = json.loads(as_json.render(MIXED))
    assert answer["counts"] == {"error": 1, "warning": 1, "note": 1}
    assert answer["findings"][0] == {
        "code": "KV101", "name": "mixed-layouts-restrided", "severity": "note", "message": "one", "source": "a.yaml", "line": 3,
        "column": 5, "path": "kv[1]", "layers": [], "fingerprint": PLAIN.fingerprint,
    }  # fmt: skip
