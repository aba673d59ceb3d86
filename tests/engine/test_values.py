"""Answers are values: equal where the question is, and as good after a trip through pickle, refused ones too."""

import pickle

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.document.load import load
from kvinspect.engine.chain import Stages
from kvinspect.engine.frozen import Frozen
from kvinspect.engine.refusal import Refused
from kvinspect.releases.lookup import known, release
from kvinspect.specs.full_attention import FullAttentionSpec
from kvinspect.specs.uniform_type import UniformTypeSpecs

DENSE, MIXED = "configs/llama-3.1-8b.yaml", "configs/whisper-large-v3-rocm.yaml"
SPECS = {"l.{0..3}": {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128,
                      "dtype": "bfloat16"}}  # fmt: skip


def planned(memory):
    return kvinspect.plan({"engine": "0.33", "kv_cache_specs": SPECS, "available_memory": [memory]})


QUESTIONS = {
    "align": lambda: kvinspect.align(ROOT / DENSE, engine="0.33"),
    "align refused": lambda: kvinspect.align(ROOT / MIXED, engine="0.27"),
    "align on one backing refused": lambda: kvinspect.align(ROOT / MIXED, engine="0.33"),
    "cg-support": lambda: kvinspect.cg_support(ROOT / DENSE, engine="0.33"),
    "cg-support refused": lambda: kvinspect.cg_support(ROOT / MIXED, engine="0.33"),
    "plan": lambda: planned(1 << 30),
    "plan refused": lambda: planned(1 << 10),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_an_answer_is_a_value(ask):
    answer = ask()
    assert ask() == answer
    again = pickle.loads(pickle.dumps(answer))
    assert again.to_dict() == answer.to_dict()
    assert repr(answer)


@pytest.mark.parametrize("name", [name for name in QUESTIONS if "refused" in name])
def test_a_refusal_is_a_value(name):
    refusal = QUESTIONS[name]().refusal
    assert refusal is not None
    assert pickle.loads(pickle.dumps(refusal)) == refusal
    assert hash(refusal) == hash(QUESTIONS[name]().refusal)


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


def test_a_frozen_mapping_cannot_be_written_to():
    mapping = Frozen(a=1)
    for write in (lambda: mapping.update(b=2), lambda: mapping.pop("a"), lambda: mapping.__setitem__("b", 2)):
        with pytest.raises(TypeError):
            write()
    assert mapping == Frozen({"a": 1}) == {"a": 1}
