"""Every finding in the deployment files of `deploy/`, and none besides, as `expected.yaml` there has them."""

import pathlib

import pytest
import yaml

import kvinspect
from kvinspect.linting.settings import Settings

FOLDER = pathlib.Path(__file__).parent / "deploy"
CASES = yaml.safe_load((FOLDER / "expected.yaml").read_text(encoding="utf-8"))

NOT_YET = {
    "compose-command-list.yaml": "0.32 is not in the catalogue, and the releases around it differ",
    "serve-config-traps.yaml": "the model is judged once the flags are right",
}
FILES = [
    pytest.param(case, id=case["file"], marks=pytest.mark.xfail(strict=True, reason=NOT_YET[case["file"]]))
    if case["file"] in NOT_YET
    else pytest.param(case, id=case["file"])
    for case in CASES
]


def found_in(case):
    """The findings of a file as a walked folder has them."""
    result = kvinspect.lint(FOLDER / case["file"], settings=Settings())
    return result.findings if result.ours else ()


def test_no_file_is_waited_for_that_is_not_there():
    assert {*NOT_YET} < {case["file"] for case in CASES}


@pytest.mark.parametrize("case", FILES)
def test_the_findings_of_a_file(case):
    wanted = [(one["line"], one["column"], one["severity"]) for place in case["places"] for one in place["findings"]]
    found = [(one.mark.line, one.mark.column, one.severity.word) for one in found_in(case) if not one.unjudged]
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "negative"], ids=lambda case: case["file"])
def test_a_file_without_places_is_passed_over_in_a_folder(case):
    result = kvinspect.lint(FOLDER / case["file"], settings=Settings())
    assert (result.ours, result.places, result.fault) == (False, 0, "")


@pytest.mark.parametrize("case", [case for case in CASES if case["kind"] == "positive"], ids=lambda case: case["file"])
def test_what_has_to_stay_silent_is_silent(case):
    silent = {(one["line"], one["column"]) for place in case["places"] for one in place.get("silent", ())}
    assert not silent & {(one.mark.line, one.mark.column) for one in found_in(case) if not one.unjudged}
