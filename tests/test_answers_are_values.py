"""Answers are values: equal where the question is, hashed and as good after pickle, and nothing in them is writable.

Asked are all public functions, with what is refused where they can refuse.
"""

import dataclasses
import inspect
import pickle

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.api.plan_log import against_plan
from kvinspect.api.plan_model import sweep
from kvinspect.document.document import Document
from kvinspect.document.entry import Entry
from kvinspect.document.frozen import Frozen, FrozenList, frozen
from kvinspect.models.config import Model
from kvinspect.models.memory import Memory
from kvinspect.planning.sweep_axes import axis
from kvinspect.releases import lookup
from kvinspect.start_up_log.reader import read_start_up_log

CONFIGS = ROOT / "configs"
DENSE, MIXED, STATES = (CONFIGS / f"{name}.yaml" for name in (
    "llama-3.1-8b", "whisper-large-v3-rocm", "qwen3-next-80b-a3b"))  # fmt: skip
DRAFTS, SMALL, IMAGES = (CONFIGS / f"{name}.yaml" for name in (
    "llama-3.1-8b-eagle3-sm100", "qwen3-next-80b-a3b-256-seqs", "gemma-3-27b-two-images"))  # fmt: skip
QWEN = ROOT / "examples/models/qwen3-8b"
GEMMA = ROOT / "examples/models/gemma-3-27b"
SPECS = {"l.{0..3}": {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128,
                      "dtype": "bfloat16", "backend": "FLASH_ATTN"}}  # fmt: skip
CONNECTOR = {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both", "kv_connector_extra_config": {"a": [1]}}
LOG = "INFO GPU KV cache size: 87,376 tokens\nINFO Maximum concurrency for 40,960 tokens per request: 2.13x"


def planned(memory):
    return kvinspect.plan({"engine": "0.33", "kv_cache_specs": SPECS, "available_memory": [memory]})


QUESTIONS = {
    "align": lambda: kvinspect.align(DENSE, engine="0.33"),
    "align with states": lambda: kvinspect.align(STATES, engine="0.27"),
    "align on a device": lambda: kvinspect.align(DENSE, engine="0.33", device="meta"),
    "align refused": lambda: kvinspect.align(MIXED, engine="0.27"),
    "align on one backing refused": lambda: kvinspect.align(MIXED, engine="0.33"),
    "cg_support": lambda: kvinspect.cg_support(DRAFTS, engine="0.33"),
    "cg_support with advice": lambda: kvinspect.cg_support(SMALL, engine="0.33"),
    "cg_support refused": lambda: kvinspect.cg_support(MIXED, engine="0.33"),
    "cg_support_table": lambda: kvinspect.cg_support_table(engine="0.33"),
    "cg_support_matrix": lambda: kvinspect.cg_support_matrix(DENSE),
    "diff": lambda: kvinspect.diff(DENSE, engines=["0.33", "0.28"]),
    "diff refused": lambda: kvinspect.diff(MIXED, engines=["0.33", "0.27"]),
    "doctor": lambda: kvinspect.doctor(DENSE),
    "doctor refused": lambda: kvinspect.doctor(MIXED, engine="0.33"),
    "fit": lambda: kvinspect.fit(QWEN, gpus=["L4", "1xRTX 3060"], requests=kvinspect.RequestShape(9, 8000, 1000)),
    "lint": lambda: kvinspect.lint(DENSE),
    "lint with findings": lambda: kvinspect.lint({"engine": "0.33", "kv_cache_config": {"num_blocks": -1}}),
    "load": lambda: kvinspect.load(DENSE),
    "load of a mapping": lambda: kvinspect.load({"engine": "0.33", "kv_cache_specs": SPECS}),
    "load_model": lambda: kvinspect.load_model(QWEN),
    "load_model with a value": lambda: kvinspect.load_model(QWEN).having(sliding_window=[None]),
    "mm_prefix": lambda: kvinspect.mm_prefix(IMAGES),
    "plan": lambda: planned(1 << 30),
    "plan refused": lambda: planned(1 << 10),
    "plan_model": lambda: kvinspect.plan_model(QWEN, 12 << 30),
    "plan_model refused": lambda: kvinspect.plan_model(QWEN, 12 << 10),
    "plan_model with a connector": lambda: kvinspect.plan_model(
        GEMMA, 60 << 30, engine_args={"pipeline_parallel_size": 2, "kv_transfer_config": CONNECTOR,
                                      "compilation_config": {"cudagraph_capture_sizes": [1, 2]}}),
    "log": lambda: against_plan(
        read_start_up_log(LOG, "engine.log"), lambda memory: kvinspect.plan_model(QWEN, memory), Memory(12 << 30, "")),
    "specs": lambda: kvinspect.specs(QWEN),
    "sweep": lambda: sweep(QWEN, [axis("max_model_len=8k..32k")], lambda _: Memory(12 << 30, "given")),
}  # fmt: skip

asked = pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)


def test_every_public_function_is_asked():
    public = {name for name in kvinspect.__all__ if inspect.isfunction(getattr(kvinspect, name))}
    assert public - {name.split()[0] for name in QUESTIONS} == set()
    assert len(public) > 8


@asked
def test_two_answers_to_one_question_are_one_value(ask):
    one, other = ask(), ask()
    assert one == other
    assert (one != other) is False
    assert hash(one) == hash(other)
    assert len({one, other, pickle.loads(pickle.dumps(one))}) == 1
    assert repr(one)


@asked
def test_an_answer_is_as_good_after_pickle(ask):
    answer = ask()
    again = pickle.loads(pickle.dumps(answer))
    assert again == answer
    assert hash(again) == hash(answer)
    if hasattr(answer, "to_dict"):
        assert again.to_dict() == answer.to_dict()


def test_answers_to_different_questions_differ():
    answers = [ask() for ask in QUESTIONS.values()]
    assert len(set(answers)) == len(answers)
    assert planned(1 << 30) != planned(1 << 31)
    assert kvinspect.load(DENSE) != kvinspect.load(STATES)


def refusal_in(answer):
    """What the engine refuses, wherever an answer has it."""
    for part in (answer, *(getattr(answer, name, None) for name in ("plan", "align"))):
        for name in ("refusal", "refusals"):
            found = getattr(part, name, None)
            found = found[0] if isinstance(found, tuple) and name == "refusals" else found
            if found is not None:
                return found
    return None


@pytest.mark.parametrize("name", [name for name in QUESTIONS if "refused" in name])
def test_what_is_asked_to_be_refused_is(name):
    refusal = refusal_in(QUESTIONS[name]())
    assert refusal is not None
    assert pickle.loads(pickle.dumps(refusal)) == refusal
    assert hash(refusal) == hash(refusal_in(QUESTIONS[name]()))


def writable(value, path, met):
    """Where in a value a plain dictionary, list or set is; documents and models are what was read."""
    if id(value) in met or isinstance(value, (Document, Model, Entry, type)):
        return
    met[id(value)] = value
    if isinstance(value, (dict, list, set)) and not isinstance(value, (Frozen, FrozenList)):
        yield path
    inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, (tuple, list)) else []
    for part in inner:
        yield from writable(part, f"{path}.{type(value).__name__}", met)
    if dataclasses.is_dataclass(value) and not hasattr(value, "catalogue"):
        for field in dataclasses.fields(value):
            yield from writable(getattr(value, field.name), f"{path}.{field.name}", met)


@asked
def test_nothing_in_an_answer_can_be_written_to(ask):
    assert list(writable(ask(), "", {})) == []


def test_the_planning_document_of_a_plan_cannot_be_written_to():
    for plan in (planned(1 << 30), kvinspect.plan_model(QWEN, 12 << 30).plan):
        planning = plan.planning
        for write in (lambda p=planning: p.update(engine="0.1"), lambda p=planning: p["kv_cache_specs"].clear(),
                      lambda p=planning: p["available_memory"].append(1)):  # fmt: skip
            with pytest.raises(TypeError):
                write()
        assert plan.planning == planning


def test_a_frozen_value_is_equal_to_what_it_was_made_of_and_cannot_be_written_to():
    said = {"b": [1, {"c": [2]}], "a": None}
    made = frozen(said)
    assert made == said
    assert frozen(made) is made
    assert hash(made) == hash(frozen({"a": None, "b": [1, {"c": [2]}]}))
    assert pickle.loads(pickle.dumps(made)) == made
    writes = (
        lambda: made.update(b=2), lambda: made.pop("a"), lambda: made.__setitem__("b", 2), lambda: made["b"].sort(),
        lambda: made["b"].append(1), lambda: made["b"].__setitem__(0, 2), lambda: made["b"].__iadd__([1]),
        lambda: made.__ior__({"c": 1}), lambda: made["b"][1].clear(),
    )  # fmt: skip
    for write in writes:
        with pytest.raises(TypeError):
            write()
    assert made == said


def test_a_release_is_one_object_before_and_after_pickle():
    release = lookup.release("0.27.1")
    assert lookup.release("0.27.1", "v2") is release
    assert pickle.loads(pickle.dumps(release)) is release
    assert pickle.loads(pickle.dumps(release.but(version="0.99.0"))).version == "0.99.0"
