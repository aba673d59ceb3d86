"""Every public function × parameter × wrong value: TypeError or ValueError with a sentence, and nothing else."""

import inspect
import pathlib

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.device.choose import UnknownDevice
from kvinspect.document.checked import RAISES
from kvinspect.models.memory import Memory

FUNCTIONS = [name for name in kvinspect.__all__ if inspect.isfunction(getattr(kvinspect, name))]
MODEL, DOCUMENT = str(ROOT / "examples/models/qwen3-8b"), str(ROOT / "configs/llama-3.1-8b.yaml")
REQUIRED = {"document": DOCUMENT, "origin": DOCUMENT, "model": MODEL, "memory": 12 << 30}


def nested(make):
    found = make(None)
    for _ in range(100_000):
        found = make(found)
    return found


def in_itself():
    found = {}
    found.update(a=found, b=[found])
    return found


WRONG = {
    "float": 0.28, "nan": float("nan"), "bytes": b"x", "set": {1}, "generator": (i for i in ()), "huge": 10**5000,
    "folder": pathlib.Path("/"), "surrogate": "\ud800", "path": pathlib.Path("\ud800"), "keys": {"\ud800": "\udc00"},
    "deep mapping": nested(lambda inner: {"a": inner}), "deep list": nested(lambda inner: [inner]), "itself": in_itself(),
    "inner": {"kv_cache_config": in_itself()}, "words": "12GiB", "object": object(), "bytes key": {b"a": 1}, "nul": "a\0b",
    "class": int, "negative": -1, "list": [1],
}  # fmt: skip


NUMBERS, PATHS, TEXTS = ("float", "nan", "huge", "negative"), ("folder", "path"), ("surrogate", "words", "nul")
MAPPINGS = ("keys", "deep mapping", "itself", "inner", "bytes key")
TYPES = {
    "str": TEXTS, "Path": PATHS, "Mapping": MAPPINGS, "Origin": (*TEXTS, *PATHS, *MAPPINGS), "int": ("huge", "negative"),
    "float": NUMBERS, "Progress": ("class",),
}  # fmt: skip
"""The values that each word of an annotation allows; what is wrong with those is not their type."""

NEVER = ("surrogate", "path", "nan", "huge")
"""Values that are of the right type, and are refused before anything is asked: no encoding or no machine has them."""

OF_MODELS = ("align", "cg_support", "diff", "lint")
"""Functions of a document that take what only a model needs; it is refused for a document."""

OTHERWISE = {
    ("align", "progress", "class"): None,
    ("align", "device", "words"): UnknownDevice, ("align", "device", "nul"): UnknownDevice,
    ("align", "num_blocks", "negative"): ValueError, ("align", "memory", "negative"): ValueError,
    ("cg_support", "memory", "negative"): ValueError, ("specs", "stage", "negative"): ValueError,
    **{(name, "env", wrong): ValueError for name in OF_MODELS for wrong in MAPPINGS},
    **{("diff", "document", wrong): ValueError for wrong in ("folder", "words", "nul", *MAPPINGS)},
    **{(name, key, wrong): ValueError for name in OF_MODELS for key in ("platform", "device_capability") for wrong in ("words", "nul")},
    ("lint", "memory", "negative"): ValueError,
    ("lint", "engine", "words"): None, ("lint", "engine", "nul"): None,
    **{("lint", "origin", wrong): None for wrong in ("folder", "words", "nul", *MAPPINGS)},
    ("load", "name", "words"): None, ("load", "name", "nul"): None,
    ("load_model", "inside", "folder"): None, ("load_model", "inside", "words"): None,
    ("load_model", "inside", "nul"): ValueError,
    ("load_model", "origin", "keys"): None, ("load_model", "origin", "bytes key"): None,
    **{("diff", "engine_args", wrong): ValueError for wrong in MAPPINGS},
    ("diff", "memory", "negative"): ValueError,
    ("diff", "connector", "words"): ValueError, ("diff", "connector", "nul"): ValueError,
}  # fmt: skip
"""What is told in another way: by a finding, by a plan that refuses, or not at all as nothing is wrong yet."""


def expected(name, parameter, wrong):
    """The class of the error, None where the call answers."""
    words = (part.partition("[")[0].rpartition(".")[2] for part in str(parameter.annotation).split(" | "))
    allowed = {value for word in words for value in TYPES.get(word, ())}
    if wrong not in allowed:
        return TypeError
    if wrong in NEVER:
        return ValueError
    return OTHERWISE.get((name, parameter.name, wrong), kvinspect.DocumentError)


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_values(name, wrong):
    function = getattr(kvinspect, name)
    parameters = inspect.signature(function).parameters
    missing = {p.name: REQUIRED[p.name] for p in parameters.values() if p.default is p.empty}
    if name == "load_model":
        missing["origin"] = MODEL
    for parameter in parameters.values():
        found = None
        try:
            function(**{**missing, parameter.name: WRONG[wrong]})
        except Exception as error:
            found = type(error)
            assert str(error).encode(), parameter
        assert found is expected(name, parameter, wrong), parameter


OF_MODELS = [name for name in FUNCTIONS if "engine_args" in inspect.signature(getattr(kvinspect, name)).parameters]


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", OF_MODELS)
def test_wrong_values_beside_a_model(name, wrong):
    function = getattr(kvinspect, name)
    first, *parameters = inspect.signature(function).parameters
    right = {first: MODEL, "engine_args": {}, "memory": 12 << 30}
    for parameter in [first, *parameters]:
        given = {key: value for key, value in right.items() if key in (first, *parameters)}
        try:
            function(**{**given, parameter: WRONG[wrong]})
        except (TypeError, ValueError, kvinspect.DeviceError) as error:
            assert not isinstance(error, UnicodeError), (parameter, error)
            assert str(error).encode(), parameter


def test_every_public_function_is_checked():
    assert [name for name in FUNCTIONS if not hasattr(getattr(kvinspect, name), "__wrapped__")] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_says_what_it_raises(name):
    assert inspect.getdoc(getattr(kvinspect, name)).endswith(RAISES)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: kvinspect.align(DOCUMENT, engine=0.28), "align: engine is text or None, not float"),
        (lambda: kvinspect.plan_model(MODEL, "12GiB"), "plan_model: memory is Memory or a whole number, not str"),
        (lambda: kvinspect.specs(MODEL, engine_args="x"), "specs: engine_args is a mapping or EngineArguments or None"),
        (lambda: kvinspect.diff(DOCUMENT, engines="0.28"), "diff: engines is a list of texts, not str"),
        (lambda: kvinspect.align(MODEL, engine_args=3), "align: engine_args is a mapping or None, not int"),
        (lambda: kvinspect.cg_support(MODEL, engine_args={}, memory="8"), "memory is Memory or a whole number or None"),
    ],
)
def test_a_sentence_says_what_is_wrong(call, error):
    with pytest.raises(TypeError, match=error):
        call()


def test_a_model_with_arguments_is_answered_as_its_words():
    memory = 8 << 30
    arguments = {"tensor_parallel_size": 2, "kv_cache_memory_bytes": memory}
    answer = kvinspect.align(MODEL, engine_args=arguments)
    assert answer == kvinspect.align(kvinspect.load_model(MODEL), engine_args={**arguments}, memory=memory)
    assert answer.setting.num_blocks == kvinspect.plan_model(MODEL, memory, engine_args=arguments).plan.num_blocks
    assert kvinspect.align(MODEL, engine_args={}, num_blocks=4).setting.num_blocks == 4
    graphs = kvinspect.cg_support(MODEL, engine_args={"enforce_eager": True}, engine="0.28")
    assert (graphs.requested_mode.name, graphs.setting.num_blocks, graphs.setting.engine) == ("NONE", 0, "0.28")


def test_what_a_model_refuses_is_refused_from_python_too():
    assert kvinspect.align(MODEL, engine_args={}, memory=1 << 30).refusal.kind == "memory"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: kvinspect.align(MODEL, engine_args={}), "how much memory is there for the cache"),
        (lambda: kvinspect.align(DOCUMENT, memory=1 << 30), "memory is of a model: give its engine_args"),
        (lambda: kvinspect.align(DOCUMENT, platform="rocm"), "platform is of a model"),
        (lambda: kvinspect.cg_support(MODEL, env={}), "env is of a model"),
        (lambda: kvinspect.align(MODEL, engine_args={}, memory=1 << 34, platform="rocmm"), "did you mean rocm"),
        (lambda: kvinspect.cg_support(MODEL, engine_args={"max_num_seq": 1}), "max_num_seq"),
        (lambda: kvinspect.align(DOCUMENT, engine_args={}, num_blocks=4), "llama-3.1-8b"),
    ],
)
def test_a_wrong_call_about_a_model_is_said(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_diff_compares_a_model_under_other_arguments():
    fp8 = {"kv_cache_dtype": "fp8"}
    answer = kvinspect.diff(MODEL, other_engine_args=fp8)
    assert answer.compatible is False
    assert answer == kvinspect.diff(MODEL, kvinspect.load_model(MODEL), engine_args={}, other_engine_args=fp8)
    assert kvinspect.diff(MODEL, engine_args=fp8, engines=("0.28", "0.28")).compatible is True
    assert kvinspect.diff(MODEL, other_engine_args=fp8, memory=8 << 30).changes["num_blocks"] == (3640, 7281)
    with pytest.raises(ValueError, match="memory is of a model"):
        kvinspect.diff(DOCUMENT, DOCUMENT, memory=1)


@pytest.mark.parametrize("env", [{b"a": "1"}, {"A": 1}, {"\ud800": "1"}, {"A": "a\0b"}])
def test_an_environment_is_text(env):
    with pytest.raises(kvinspect.DocumentError, match="is no variable of an environment"):
        kvinspect.plan_model(MODEL, 12 << 30, env=env)


@pytest.mark.parametrize("memory", [-1, Memory(-1, "given")])
@pytest.mark.parametrize("ask", [kvinspect.plan_model, kvinspect.align, kvinspect.cg_support, kvinspect.diff])
def test_no_memory_is_less_than_none(ask, memory):
    with pytest.raises(kvinspect.DocumentError, match=r"memory: expected bytes, 0 or more, found -1"):
        ask(
            MODEL,
            memory=memory,
            engine_args={"tensor_parallel_size": 2},
            **{"other": MODEL} if ask is kvinspect.diff else {},
        )
