"""The tool that counts the rooms that a call goes through."""

import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import ROOT

TOOL = ROOT / "tools/walk.py"
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
CALLS = {
    "align": ["configs/llama-3.1-8b.yaml", "--device", "none"],
    "plan": ["examples/models/qwen3-8b", "--available-kv-cache-memory", "12GiB"],
}
MOST = {"align": (23, 12), "plan": (46, 31)}
"""Crossings that a call may have, and those among rooms that decide something; no file is merged to please them."""


def run(*words):
    return subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize("command", CALLS)
def test_a_walk_is_drawn(command):
    drawn = run(command, *CALLS[command]).stdout
    counts, first, *_ = drawn.splitlines()
    assert counts.startswith(f"{command}: ")
    assert counts.endswith("ways back: none")
    assert first.split()[:2] == ["cli", "─▶"]
    crossings = re.search(r"(\d+) crossings, (\d+) without", counts)
    assert all(int(count) <= most for count, most in zip(crossings.groups(), MOST[command], strict=True)), counts
    assert f"```text\n{drawn}```" in PAGE, "python tools/walk.py --page docs/architecture.md draws it again"


def test_the_walks_of_a_page_are_drawn_again():
    spec = importlib.util.spec_from_file_location("walk_tool", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = (
        f"`python tools/walk.py align {CALLS['align'][0]} --device none` draws\n\n```text\nstale\n```\n\nand no more."
    )
    drawn = tool.drawn_again(page)
    assert "stale" not in drawn
    assert drawn.endswith("```\n\nand no more.")
    assert drawn.count("align: ") == 1


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
    assert (found.crossings, found.between_deciders, found.ways_back) == (2, 2, [("api", "cli")])
    assert tool.drawing(found) == ["cli ─▶ api", "api ─▶ cli ×2"]


def test_a_walk_holds_the_files_in_which_a_function_runs():
    spec = importlib.util.spec_from_file_location("walk_tool", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    here = pathlib.Path(__file__)
    assert tool.walk(lambda: 0, here.parent).files == (here.name,)
