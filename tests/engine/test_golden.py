"""The engine's own answers, and where the engine itself goes wrong, release by release."""

import json
import pathlib

import pytest

import golden
import kvinspect
from conformance.intended import reason_of
from conftest import ROOT
from golden import compare

GOLDEN = {
    "align": ("0.25.1", "0.27.1", "0.28.0", "0.33.0", "v1-0.25.1", "v1-0.27.1", "v1-0.28.0"),
    "cg_support": ("0.27.1", "0.33.0"),
    "mm_prefix": ("0.27.1",),
    "plan": ("0.27.1", "0.33.0", "kinds-0.29.0", "kinds-0.30.0", "kinds-0.33.0"),
}
"""Releases by kind; `v1-` is the older model runner, `kinds-` has kinds of specs that few models have."""


def cases():
    for kind, releases in GOLDEN.items():
        for release in releases:
            rows = golden.answers(f"{kind.replace('_', '-')}-{release}")
            for number, case in enumerate(rows, 1):
                yield pytest.param(kind, case, id=f"{kind}:{release}:{number}:{case['category']}")


@pytest.mark.parametrize(("kind", "case"), list(cases()))
def test_the_answer_equals_the_engines(kind, case):
    theirs = case[kind]
    try:
        answer = getattr(kvinspect, kind)(case["document"]).to_dict()
    except kvinspect.DocumentError:
        assert theirs.get("stage") in compare.EARLY
        return
    rows = list(compare.difference(compare.by_name(theirs), compare.by_name(answer)))
    assert not rows or reason_of(kind, case["document"], rows), rows


HERE = pathlib.Path(__file__).parent
FINDINGS = {
    "v1": json.loads((HERE / "findings_v1.json").read_text(encoding="utf-8")),
    "v2": json.loads((HERE / "findings.json").read_text(encoding="utf-8")),
}


@pytest.mark.parametrize(
    ("runner", "name", "release"),
    [(runner, name, release) for runner, rows in FINDINGS.items() for name in rows for release in rows[name]],
)
def test_the_engines_own_faults_are_answered_as_the_engine_behaves(runner, name, release):
    document = json.loads((ROOT / "tests/cases/findings" / name).read_text(encoding="utf-8"))
    try:
        answer = kvinspect.align({**document, "engine": release, "model_runner": runner}).to_dict()
    except kvinspect.DocumentError:
        assert FINDINGS[runner][name][release]["stage"] == "spec"
        return
    assert {key: answer.get(key) for key in ("decision", "sound", "stage")} == FINDINGS[runner][name][release]
