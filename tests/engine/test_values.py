"""Stages are values: equal where the document is, hashed, and as good after a trip through pickle."""

import pickle

import pytest

from conftest import ROOT
from kvinspect.backends.deployed import Deployed
from kvinspect.document.load import load
from kvinspect.document.refusal import Refused
from kvinspect.engine.chain import Stages
from kvinspect.question.question import Question
from kvinspect.releases.lookup import known, release
from kvinspect.specs.full_attention import FullAttentionSpec
from kvinspect.specs.uniform_type import UniformTypeSpecs

DENSE, MIXED = "configs/llama-3.1-8b.yaml", "configs/whisper-large-v3-rocm.yaml"


def test_specs_of_a_uniform_group_are_found_by_layer_without_going_through_them_again():
    spec = FullAttentionSpec("full_attention", 16, 8, 128, 128, "bfloat16")
    specs = UniformTypeSpecs(16, tuple((f"l.{i}", spec) for i in range(3)))
    assert specs.by_layer is specs.by_layer
    assert specs.by_layer["l.2"] is spec
    assert specs._replace(specs=()).by_layer == {}


STAGES = ("specs", "grouped", "layout", "tensors", "attention", "kernel_blocks", "views", "soundness")


def stages(path, engine):
    version = known(engine)
    return Stages(load(ROOT / path), release(version))


@pytest.mark.parametrize("engine", ["0.25", "0.28", "0.29", "0.33"])
@pytest.mark.parametrize("path", [DENSE, "configs/qwen3-next-80b-a3b.yaml"])
def test_every_stage_is_a_value(path, engine):
    first, second = stages(path, engine), stages(path, engine)
    for name in STAGES:
        made = getattr(first, name)
        assert getattr(first, name) is made
        assert getattr(second, name) == made, name
        assert hash(getattr(second, name)) == hash(made), name
        assert pickle.loads(pickle.dumps(made)) == made, name


def test_a_stage_that_refuses_does_so_again_with_a_carrier_of_its_own_and_those_before_it_stand():
    refusing = stages(MIXED, "0.33")
    raised = []
    for _ in range(2):
        with pytest.raises(Refused) as caught:
            print(refusing.built)
        raised.append(caught.value)
    assert raised[0] is not raised[1]
    assert raised[0].refusal is raised[1].refusal
    assert refusing.specs


def test_the_backends_of_a_document_are_made_once_for_all_stages(monkeypatch):
    made = []
    of = Deployed.of
    monkeypatch.setattr(Deployed, "of", lambda *given: made.append(given) or of(*given))
    asked = Question.needing("kv_cache_config", "align", load(ROOT / "configs/llama-3.1-8b.yaml"), None)
    assert asked.align.sound
    assert asked.cg_support
    assert asked.cache.given.deployed is asked.deployed
    assert len(made) == 1
