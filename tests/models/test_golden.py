"""Specs of real models, layer by layer, against those of vLLM's own model classes."""

import pytest

import kvinspect
from conftest import SHARED, golden_module, lines

pytestmark = pytest.mark.shared


def asked(case):
    model = kvinspect.load_model(SHARED / "hf_configs" / case["config"])
    given = {"engine": case["engine"], "platform": case["platform"], "device_capability": case["device_capability"]}
    return model, lambda: kvinspect.specs(model, **given, engine_args=case["engine_args"]).to_dict()


def differences(case):
    golden = golden_module()
    _, ask = asked(case)
    theirs, ours = dict(case["specs"]), ask()
    for answer in (theirs, ours):
        answer["order"] = [name for row in answer["layers"] for name in row["layer_names"]]
        answer["layers"] = golden.flat(answer)
    yield from golden.difference(theirs, ours)


@pytest.mark.parametrize("release", ["0.27.1", "0.33.0"])
def test_specs_of_real_models(release):
    cases = lines(SHARED / "golden" / f"specs-{release}.jsonl")
    found = {case["id"]: rows for case in cases if (rows := list(differences(case)))}
    assert not found, f"{len(found)} of {len(cases)}: {dict(list(found.items())[:1])}"


def test_every_real_model_is_asked_about():
    assert len(lines(SHARED / "golden" / "specs-0.27.1.jsonl")) == 173
