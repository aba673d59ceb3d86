"""What public reports describe: what lint says of it today, and why it says nothing yet."""

import pathlib

import pytest
import yaml

import kvinspect
from conftest import ROOT
from kvinspect.document.finding import Severity
from kvinspect.linting.settings import Settings

TABLE = yaml.safe_load((pathlib.Path(__file__).parent / "cases.yaml").read_text(encoding="utf-8"))
ROWS = [
    pytest.param(row, id=f"{name}-{number}")
    for name, rows in TABLE["decided"].items()
    for number, row in enumerate(rows)
]


@pytest.mark.parametrize("row", ROWS)
def test_a_decided_case_has_the_finding_that_it_names(row):
    found = kvinspect.lint(row["document"], settings=Settings()).findings
    if "finds" not in row:
        assert [finding for finding in found if finding.severity > Severity.NOTE] == []
        return
    messages = [finding.message for finding in found if finding.code == row["finds"]]
    assert any(all(part in message for part in row["says"]) for message in messages), found


def test_every_decided_case_has_a_finding():
    assert [name for name, rows in TABLE["decided"].items() if not any("finds" in row for row in rows)] == []


def test_no_case_is_both_decided_and_not():
    assert set(TABLE["decided"]) & set(TABLE["undecided"]) == set()
    assert all(len(reason) > 10 for reason in TABLE["undecided"].values())


def test_every_reported_case_is_in_the_table():
    reports = yaml.safe_load((ROOT / "tests/cases/reports.yaml").read_text(encoding="utf-8"))
    assert sorted(report["id"] for report in reports) == sorted([*TABLE["decided"], *TABLE["undecided"]])
