"""The examples that every `--help` shows."""

import re
import shlex
import shutil

import pytest

from conftest import ROOT
from kvinspect.cli.main import program

EXAMPLES = [
    line.strip()
    for command in program().registered_commands
    for line in (command.epilog or "").splitlines()
    if line.strip().startswith("kvinspect ")
]
PLACEHOLDERS = ("captured.yaml", "server.log", "--installed")
"""Words of examples that only another program's output or an installed vLLM give a meaning."""


def test_most_commands_show_examples():
    assert len(EXAMPLES) > 20


@pytest.mark.parametrize("example", [one for one in EXAMPLES if not any(word in one for word in PLACEHOLDERS)])
def test_an_example_names_files_that_are_there_and_runs(run, tmp_path, example):
    for folder in ("configs", "examples"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    done = run(*shlex.split(example)[1:], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode in (0, 1), done.stderr
    for path in re.findall(r"(?:configs|examples)/[\w./-]+", example):
        assert (ROOT / path).exists(), path
