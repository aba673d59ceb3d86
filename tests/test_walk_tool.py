"""The tool that counts the rooms that a call goes through."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

from conftest import ROOT

TOOL = ROOT / "tools/walk.py"
CALLS = {
    "align": ["configs/llama-3.1-8b.yaml"],
    "plan": ["examples/models/qwen3-8b", "--available-kv-cache-memory", "12GiB"],
}


def run(*words):
    return subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize("command", CALLS)
def test_a_walk_is_drawn(command):
    counts, first, *_ = run(command, *CALLS[command]).stdout.splitlines()
    assert counts.startswith(f"{command}: ")
    assert counts.endswith("ways back: none")
    assert first.split()[:2] == ["cli", "─▶"]


def test_a_call_without_an_answer_has_no_walk():
    done = run("align", "no-such-file.yaml")
    assert done.returncode
    assert "ended with 2" in done.stderr


def test_crossings_and_ways_back_are_told_from_the_files():
    spec = importlib.util.spec_from_file_location("walk_tool", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    steps = (("cli/a.py", "api/b.py"), ("api/b.py", "api/c.py"), ("api/c.py", "cli/d.py"), ("api/b.py", "cli/d.py"))
    found = tool.Walk(("cli/a.py", "api/b.py", "api/c.py", "cli/d.py"), steps)
    assert (found.crossings, found.ways_back) == (2, [("api", "cli")])
    assert tool.drawing(found) == ["cli ─▶ api", "api ─▶ cli ×2"]


def test_a_walk_holds_the_files_in_which_a_function_runs():
    spec = importlib.util.spec_from_file_location("walk_tool", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    here = pathlib.Path(__file__)
    assert tool.walk(lambda: 0, here.parent).files == (here.name,)
