"""Specs of real models, layer by layer, against those of vLLM's own model classes."""

import pytest

import golden
from golden.cases import differences


@pytest.mark.parametrize("release", ["0.27.1", "0.33.0"])
def test_specs_of_real_models(release):
    cases = golden.answers(f"specs-{release}")
    found = {case["id"]: rows for case in cases if (rows := differences("specs", case))}
    assert not found, f"{len(found)} of {len(cases)}: {dict(list(found.items())[:1])}"


@pytest.mark.parametrize(("release", "number"), [("0.27.1", 164), ("0.33.0", 163)])
def test_every_real_model_is_asked_about(release, number):
    assert len(golden.answers(f"specs-{release}")) == number
