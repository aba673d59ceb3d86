"""Each stage of a pipeline decides by itself how far CUDA graphs go; an answer says so of all its workers."""

import pickle

import pytest

from kvinspect.document.load import load
from kvinspect.question.question import Question, Rules
from kvinspect.report import cg_support, terminal

SPEC = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype": "bfloat16"}
UNLIKE = [["a.{0..1}"], ["b.{0..1}"], ["b.{2..3}"]]


def answer(workers, engine="0.33"):
    document = load({
        "engine": engine, "platform": "cuda", "device_capability": "9.0",
        "compilation_config": {"cudagraph_mode": "FULL"}, "model_config": {"num_attention_heads": 32},
        "available_memory": [1 << 30] * len(workers), "worker_layers": workers,
        "kv_cache_specs": {"a.{0..1}": {**SPEC, "backend": "FLASH_ATTN"}, "b.{0..3}": {**SPEC, "backend": "FLASHINFER"}},
    })  # fmt: skip
    return Question.of(document, Rules.of(None, engine)).cg_support


@pytest.mark.parametrize("engine", ["0.25", "0.33"])
def test_workers_that_decide_otherwise_are_in_the_answer_once(engine):
    found = answer(UNLIKE, engine)
    (other,) = found.workers
    assert found.layer_names == ("a.0", "a.1")
    assert other.layer_names == ("b.0", "b.1")
    assert found.running.mode.name == "FULL"
    assert other.running.mode is not found.running.mode
    assert not found.as_requested
    row = found.to_dict()["workers"][0]
    assert row["resolved_mode"] == other.running.mode.name
    assert pickle.loads(pickle.dumps(found)) == found
    assert hash(found) == hash(answer(UNLIKE, engine))


def test_the_page_says_what_the_other_workers_end_with():
    text = terminal.render(cg_support.page(answer(UNLIKE)), width=120, colour=False)
    assert "b.{0..1}" in text
    assert "Another worker" in text


def test_workers_that_decide_alike_are_not_told_apart():
    found = answer([["b.{0..1}"], ["b.{2..3}"]])
    assert found.workers == ()
    assert "workers" not in found.to_dict()
    assert "Another worker" not in terminal.render(cg_support.page(found), width=120, colour=False)
