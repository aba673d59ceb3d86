"""Inputs that once crashed, hung, flooded or were answered wrongly: each ends with an exit code and its right answer."""

import importlib.util
import json

import pytest

from conftest import ROOT, fuzz_module

FOLDER = ROOT / "tests" / "cases" / "hostile"
MEMORY = ("--available-kv-cache-memory", "40GiB")
CALLS = {
    "align-verify": lambda file: ("align", file, "--verify", "--device", "cpu"),
    "align-yaml": lambda file: ("align", file, "-f", "yaml"),
    "lint": lambda file: ("lint", file),
    "plan": lambda file: ("plan", file),
    "plan-model": lambda file: ("plan", file, *MEMORY),
    "plan-model-fp8": lambda file: ("plan", file, *MEMORY, "--kv-cache-dtype", "fp8"),
    "plan-serve": lambda file: ("plan", "--config", file, *MEMORY),
}
"""What each folder's files are asked."""

FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.glob("*/*"))
RIGHT = json.loads((FOLDER / "right.json").read_text(encoding="utf-8"))
"""File → exit code, and words that are printed."""


@pytest.fixture(scope="module")
def called():
    return fuzz_module("harness").called


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_ends_with_an_exit_code_and_its_right_answer(called, name):
    folder = name.partition("/")[0]
    if folder == "align-verify" and importlib.util.find_spec("torch") is None:
        pytest.skip("no torch")
    code, printed = called(CALLS[folder](str(FOLDER / name)))
    assert code in (0, 1, 2, 3), printed
    assert "Traceback" not in printed
    assert "internal error" not in printed
    right, words = RIGHT.get(name, (code, ""))
    assert code == right, printed
    assert words in printed


def test_every_right_answer_is_of_a_file():
    assert set(RIGHT) <= set(FILES)
