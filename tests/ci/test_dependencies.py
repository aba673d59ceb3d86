"""The dependencies: their lower bounds, and that they leave vLLM's environment as it is."""

import json
import os
import re
import subprocess
import sys
import tomllib

import pytest

from conftest import ROOT

DEPENDENCIES = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
VLLM = ROOT / "tests" / "ci" / "vllm-0.33.0.txt"


def resolved(folder, *more):
    """{name: version} of what pip would install for vLLM and `more` into an empty environment."""
    report = folder / "report.json"
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
    command += ["--only-binary", ":all:", "--report", report, "-r", VLLM, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(report.read_text())["install"]
    return {one["metadata"]["name"].lower(): one["metadata"]["version"] for one in found}


@pytest.mark.index
@pytest.mark.skipif("KVINSPECT_INDEX" not in os.environ, reason="asks a package index: set KVINSPECT_INDEX=1")
def test_pip_keeps_every_version_that_vllm_takes(tmp_path):
    alone = resolved(tmp_path)
    beside = resolved(tmp_path, *DEPENDENCIES)
    assert {"typer", "rich", "pydantic", "pyyaml"} <= set(alone)
    assert {name: beside[name] for name in alone} == alone


def test_no_dependency_has_an_upper_bound():
    assert not [one for one in DEPENDENCIES if re.search("<|==|~=|!=", one)]


def test_ci_runs_the_lowest_versions():
    lines = (ROOT / ".ci" / "lowest.txt").read_text().splitlines()
    lowest = {tuple(line.split("==")) for line in lines if not line.startswith("#")}
    asked = {tuple(one.split(">=")) for one in DEPENDENCIES}
    numbers = {(name, tuple(map(int, version.split(".")))) for name, version in asked}
    assert {
        (name, tuple(map(int, version.split(".")))[: len(dict(numbers)[name])]) for name, version in lowest
    } == numbers
    assert len(lowest) == len(asked)


def test_the_tests_need_no_gigabytes():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert not [one for one in extras["test"] if one.startswith("torch")]
    assert extras["torch"] == ["torch>=2.4"]
