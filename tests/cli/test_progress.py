"""Progress is shown on standard error, on a terminal, and nowhere else."""

import os
import pathlib
import sys
import time

import pytest

from kvinspect.output.waiting import show, waiting

pty = pytest.importorskip("pty")


def in_terminal(code):
    """What a program prints to a terminal of its own."""
    shown = []

    def read(descriptor):
        data = os.read(descriptor, 65536)
        shown.append(data)
        return data

    out = os.dup(1)
    try:
        with pathlib.Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            pty.spawn([sys.executable, "-c", code], read)
    finally:
        os.dup2(out, 1)
        os.close(out)
    return b"".join(shown).decode("utf-8", "replace")


WAITS = """
import time
from kvinspect.cli import progress
from kvinspect.output import waiting
waiting.show(progress.spinner)
progress.PATIENCE = 0.01
with waiting.waiting("asking the hub [red]"):
    time.sleep(0.5)
"""


def test_what_takes_long_is_named_on_a_terminal():
    assert "asking the hub [red]" in in_terminal(WAITS)
    assert "asking" not in in_terminal(WAITS.replace("0.01", "30"))


def test_nothing_is_shown_where_standard_error_is_no_terminal(run):
    done = run("lint", "configs")
    assert done.stderr == ""


def test_lint_counts_files_on_a_terminal():
    code = "import sys; sys.argv = ['kvinspect', 'lint', 'configs']; from kvinspect.cli.main import run; run()"
    assert "15/15" in in_terminal(code)


def test_a_program_that_shows_nothing_waits_without_a_word(capsys):
    show(None)
    begun = time.monotonic()
    with waiting("something"):
        pass
    assert time.monotonic() - begun < 5
    assert capsys.readouterr() == ("", "")
