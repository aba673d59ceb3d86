"""SARIF and JUnit as programs of other people read them, and JUnit against its published schema."""

import io
import json

import junitparser
import pytest
import xmlschema
from pydantic import ValidationError
from sarif_pydantic import Sarif

from conftest import ROOT
from kvinspect.document.finding import Finding, Severity
from kvinspect.document.problem import Mark
from kvinspect.report.lint import junit, sarif
from kvinspect.report.lint.report import LintReport, RuleInfo

EVIL = "x\n::error::y]]>%0A\x1b[31m\r\u202e<b>&\"'\x00\udcff,:"
PLAIN = Finding("KV101", "mixed-layouts", Severity.NOTE, "one", "a.yaml", ("kv", 1), Mark(3, 5), "  backend: X")
ODD = PLAIN._replace(severity=Severity.ERROR, message=EVIL, source=EVIL, mark=None)
RULES = [RuleInfo("KV101", "mixed-layouts", Severity.NOTE, "summary", "# help\n")]
REPORTS = {
    "mixed": LintReport([PLAIN, PLAIN, ODD], ["a.yaml", EVIL, "clean.yaml"], "0.1.0", RULES),
    "clean": LintReport([], ["clean.yaml"], "0.1.0", RULES),
    "empty": LintReport([], [], "0.1.0", RULES),
}
XSD = xmlschema.XMLSchema(ROOT / "tests" / "vendored" / "junit-10.xsd")


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_junit_fits_the_published_schema(report):
    XSD.validate(io.BytesIO(junit.render(report).encode("utf-8")))


def test_the_schema_refuses_what_is_wrong():
    text = junit.render(REPORTS["mixed"]).replace("<failure", "<failed").replace("</failure", "</failed")
    assert not XSD.is_valid(io.BytesIO(text.encode("utf-8")))


def test_a_reader_of_junit_counts_the_same():
    report = junitparser.JUnitXml.fromstring(junit.render(REPORTS["mixed"]).encode("utf-8"))
    assert (report.tests, report.failures) == (4, 3)
    by_suite = {suite.name: [case for case in suite if case.result] for suite in report}
    assert [len(cases) for cases in by_suite.values()] == [2, 1, 0]
    assert by_suite["a.yaml"][0].result[0].message == "one"


@pytest.mark.parametrize("report", REPORTS.values(), ids=REPORTS)
def test_a_reader_of_sarif_finds_every_result(report):
    log = Sarif.model_validate(json.loads(sarif.render(report)))
    results = log.runs[0].results
    assert [result.rule_id for result in results] == [finding.code for finding in report.findings]
    assert [result.level.value for result in results] == [finding.severity.word for finding in report.findings]
    if results:
        region = results[0].locations[0].physical_location.region
        assert (region.start_line, region.start_column) == (3, 5)
        assert log.runs[0].tool.driver.rules[0].help.markdown == "# help\n"


def test_the_reader_of_sarif_refuses_what_is_wrong():
    log = json.loads(sarif.render(REPORTS["mixed"]))
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(ValidationError):
        Sarif.model_validate(log)
