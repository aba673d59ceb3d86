"""What every command shows in terminals of several widths is what was read and kept."""

import importlib.util
import pathlib

import pytest

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("screen_calls", HERE / "calls.py")
calls = importlib.util.module_from_spec(spec)
spec.loader.exec_module(calls)


@pytest.mark.parametrize("name", calls.CALLS)
def test_a_screen_is_the_one_that_was_kept(name):
    for width in calls.WIDTHS:
        shown = calls.screen(calls.CALLS[name], width)
        assert shown == calls.file_of(name, width).read_text(encoding="utf-8"), f"{name} at {width} columns"


@pytest.mark.parametrize("width", calls.WIDTHS)
@pytest.mark.parametrize("name", [name for name in calls.CALLS if not name.startswith(("lint", "error", "help"))])
def test_no_line_is_wider_than_its_terminal(name, width):
    text = calls.file_of(name, width).read_text(encoding="utf-8")
    shown = [line for line in text.splitlines()[1:] if not line.startswith("vllm serve ")]  # a line to copy is not cut
    assert max(map(len, shown)) <= width


def test_a_plan_of_seven_groups_fits_on_one_screen():
    text = calls.file_of("plan-tight", 100).read_text(encoding="utf-8")
    assert len(text.splitlines()) - 3 <= 30  # the call, a blank line and the exit code are ours
    assert "┃ group ┃" in text


def test_every_kept_screen_is_of_a_call():
    kept = {path.stem for path in HERE.glob("*/*.txt")}
    assert kept == set(calls.CALLS)
