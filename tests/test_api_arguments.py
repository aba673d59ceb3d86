"""Every public function × parameter × wrong value: TypeError or ValueError with a sentence, and nothing else."""

import inspect
import pathlib

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.document.checked import RAISES

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


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_values(name, wrong):
    function = getattr(kvinspect, name)
    parameters = inspect.signature(function).parameters
    missing = {p.name: REQUIRED[p.name] for p in parameters.values() if p.default is p.empty}
    if name == "load_model":
        missing["origin"] = MODEL
    for parameter in parameters:
        try:
            function(**{**missing, parameter: WRONG[wrong]})
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
    ],
)
def test_a_sentence_says_what_is_wrong(call, error):
    with pytest.raises(TypeError, match=error):
        call()
