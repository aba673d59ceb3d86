"""Specs of models of many classes, each made small, against what vLLM's own class answered in a release."""

import json

import pytest

import golden
from conformance.compare import judged

CASES = (*golden.answers("classes"), *golden.answers("classes-rarer"))


@pytest.mark.parametrize("case", CASES, ids=[f"{case['name']}-{case['document']['engine']}" for case in CASES])
def test_a_class_answers_as_the_engine(case, tmp_path):
    document = case["document"]
    if "draft" in case:
        (tmp_path / "config.json").write_text(json.dumps(case["draft"]), encoding="utf-8")
        speculation = {**document["engine_args"]["speculative_config"], "model": str(tmp_path)}
        document = {**document, "engine_args": {**document["engine_args"], "speculative_config": speculation}}
    verdict = judged("specs", document, case["answer"])
    assert verdict.outcome == ("refused" if "error" in case["answer"] else "equal"), verdict.why
