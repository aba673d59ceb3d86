"""Public configurations that no other folder here has, planned on three releases, against vLLM's own model classes."""

import json
import lzma
import pathlib

import pytest

from conformance.compare import judged

FOLDER = pathlib.Path(__file__).parent / "public"
RELEASES = ("0.27.1", "0.30.0", "0.33.0")


def _cases():
    with lzma.open(FOLDER / "answers.jsonl.xz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


CASES = _cases()


@pytest.mark.parametrize("case", CASES, ids=[f"{case['name']}-{case['document']['engine']}" for case in CASES])
def test_a_public_configuration_answers_as_the_engine(case):
    verdict = judged("specs", case["document"], case["answer"])
    assert verdict.outcome == ("refused" if "error" in case["answer"] else "equal"), verdict.why


def test_forty_models_of_different_families_are_planned_on_three_releases():
    planned = {}
    for case in CASES:
        if "error" not in case["answer"]:
            planned.setdefault(case["name"], set()).add(case["document"]["engine"])
    everywhere = {name for name, releases in planned.items() if releases == set(RELEASES)}
    types = {case["document"]["config"]["model_type"] for case in CASES if case["name"] in everywhere}
    assert len(everywhere) >= 40
    assert len(types) >= 40


def test_every_configuration_says_where_it_is_from():
    header, *rows = [line.split("\t") for line in (FOLDER / "SOURCES.tsv").read_text(encoding="utf-8").splitlines()]
    assert header == ["name", "repository", "path", "commit"]
    assert {name for name, *_ in rows} == {case["name"] for case in CASES}
    assert all(len(commit) == 40 for *_, commit in rows)
