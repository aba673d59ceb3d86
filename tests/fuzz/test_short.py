"""The short form of the harness: a hundred and fifty bad inputs of each kind, the same in every run."""

import subprocess
import sys

import pytest

from conftest import ROOT


@pytest.mark.parametrize("what", ["documents", "models", "flags", "settings"])
def test_no_bad_file_ends_but_with_an_exit_code_of_the_four(what, tmp_path):
    # A process of its own: its memory, which its children begin with, is what the calls are measured by.
    words = ["--what", what, "--count", "150", "--jobs", "1"]
    done = subprocess.run(
        [sys.executable, ROOT / "tests/fuzz/harness.py", *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
