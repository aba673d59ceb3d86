"""Calls are read without the adapters that Typer from 0.29 on would build, and to the same values and messages."""

import subprocess
import sys

import pytest
import typer

from conftest import ROOT, options_of
from kvinspect.cli.command import UNTAKEN, Command, _taken
from kvinspect.cli.command_list import COMMANDS
from kvinspect.cli.main import program
from kvinspect.cli.output import Format

CALLS = [
    ["--version"],
    ["--help"],
    ["align", "--help"],
    ["align", "configs/llama-3.1-8b.yaml", "--device", "none", "-f", "json", "--num-blocks", "3", "--layer", "*.1.*"],
    ["plan", "examples/models/qwen3-8b", "-tp", "2", "--available-kv-cache-memory", "12GiB", "-f", "json"],
    ["lint", "configs", "--select", "KV1", "--fail-on", "error", "--jobs", "1"],
]


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_a_call_builds_no_adapter(words):
    code = f"""
import sys
sys.argv = ["kvinspect", *{words!r}]
from kvinspect.cli.main import run
code = run()
built = sorted({{"typer._adapters", "pydantic.type_adapter"}} & set(sys.modules))
print(code, built, file=sys.stderr)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stderr.splitlines()[-1] == "0 []"


def test_a_call_builds_its_own_command_alone():
    assert [one.name for one in program(["align", "x"]).registered_commands] == ["align"]
    assert program(["--version"]).registered_commands == []
    for words in ([], ["--help"], ["aling"], ["--version", "align"]):
        assert [one.name for one in program(words).registered_commands] == list(COMMANDS)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (str, None, None),
        (str, "x", "x"),
        (list[str], None, ()),
        (list[str], ("a", "b"), ["a", "b"]),
        (Format, "json", Format.json),
        (Format, Format.json, Format.json),
        (Format, "nope", UNTAKEN),
        (int, "12", 12),
        (int, 12, 12),
        (int, "-1", UNTAKEN),
        (int, "1e3", UNTAKEN),
        (int, "١٢", UNTAKEN),
        (int, "9" * 5000, UNTAKEN),
        (bool, True, True),
        (float, "1", UNTAKEN),
    ],
)
def test_a_value_is_taken_or_left_to_typer(kind, value, expected):
    taken = _taken(kind, value)
    assert (type(taken), taken) == (type(expected), expected)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["align", "x", "--num-blocks", "0"], "--num-blocks"),
        (["align", "x", "--num-blocks", "9" * 5000], "--num-blocks"),
        (["map", "x", "--blocks", "65"], "--blocks"),
        (["map", "x", "--allocation", "-1"], "--allocation"),
        (["align", "x", "--format", "nope"], "'nope' is not one of"),
        (["align"], "Missing argument"),
        (["plan", "--engine"], "--engine"),
    ],
    ids=lambda one: " ".join(one)[:40] if isinstance(one, list) else "",
)
def test_what_is_wrong_is_told_by_typer(words, told, run):
    done = run(*words)
    assert done.returncode == 2
    assert told in done.stderr
    assert "internal error" not in done.stderr


def test_commands_are_of_the_kind_that_takes_values():
    group = typer.main.get_command(program())
    assert all(isinstance(one, Command) for one in group.commands.values())


TEXTS = [(one, flags[0]) for one in COMMANDS for flags, kind in options_of(one) if kind in (str, list[str])]
"""(command, option) of each option that takes a text or several."""


@pytest.mark.parametrize(("command", "option"), TEXTS)
def test_no_option_takes_an_empty_value(command, option, run):
    words = (
        ["a.yaml"] if command in ("align", "cg-support", "diff", "doctor", "lint", "map", "mm-prefix", "plan") else []
    )
    done = run(command, *words, option, "")
    assert done.returncode == 2
    assert f"Invalid value for {option}: the value is empty" in done.stderr
