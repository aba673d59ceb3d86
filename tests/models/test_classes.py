"""Specs of models of many classes, each made small, against what vLLM's own class answered in a release."""

import pytest

import golden
from conformance.compare import judged

CASES = golden.answers("classes")


@pytest.mark.parametrize("case", CASES, ids=[f"{case['name']}-{case['document']['engine']}" for case in CASES])
def test_a_class_answers_as_the_engine(case):
    verdict = judged("specs", case["document"], case["answer"])
    assert verdict.outcome == "equal", verdict.why
