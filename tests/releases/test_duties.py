"""Every flag, variable and key of every release has a class, and what is called modelled has a reader."""

import json
import pathlib
import subprocess
import sys

import pytest

from conftest import ROOT
from kvinspect.data import catalogue, duties
from kvinspect.models.arguments import EngineArguments

ROOMS = (duties.FLAGS, duties.VARIABLES, duties.KEYS)
WRITTEN = json.loads((catalogue.FOLDER / "duties.json").read_text(encoding="utf-8"))

ELSEWHERE = {
    "limit-mm-per-prompt": "forbidden_modalities",
    "attention-config": "an attention backend",
    "compilation-config": "CUDA graphs",
    "config": "the file of flags",
    "cudagraph-capture-sizes": "CUDA graphs",
    "enable-fault-tolerance": "the warm-up of kernels",
    "enforce-eager": "CUDA graphs",
    "gpu-memory-utilization": "an estimate of the memory",
    "hf-overrides": "the model's configuration",
    "kernel-config": "the warm-up of kernels",
    "kv-cache-memory-bytes": "the memory",
    "kv-offloading-backend": "the KV connector",
    "kv-offloading-size": "the KV connector",
    "kv-transfer-config": "the KV connector",
    "max-cudagraph-capture-size": "CUDA graphs",
    "model": "the model",
    "optimization-level": "CUDA graphs",
    "speculative-config": "drafts",
    "spec-method": "drafts",
    "spec-model": "drafts",
    "spec-tokens": "drafts",
}
"""Modelled flags that are no engine argument of their own."""


@pytest.mark.parametrize("version", catalogue.versions())
@pytest.mark.parametrize("room", ROOMS)
def test_each_name_of_a_release_has_a_class(version, room):
    assert duties.names(version)[room] <= duties.read(version)[room].keys()


@pytest.mark.parametrize("room", ROOMS)
def test_each_name_stands_in_one_class_and_some_release_has_it(room):
    classes = [list(names) for names in WRITTEN[room].values()]
    every = [name for names in classes for name in names]
    assert len(every) == len(set(every))
    assert set(every) == set().union(*(duties.names(version)[room] for version in catalogue.versions()))


def test_a_modelled_flag_has_a_reader():
    fields = {name.replace("_", "-") for name in EngineArguments.__dataclass_fields__}
    assert set(WRITTEN["flags"]["modelled"]) <= fields | ELSEWHERE.keys()


def test_the_page_is_the_table(tmp_path):
    page = tmp_path / "flags.md"
    subprocess.run([sys.executable, ROOT / "tools" / "duties.py", page], check=True)
    assert page.read_text(encoding="utf-8") == pathlib.Path(ROOT, "docs", "flags.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", catalogue.versions())
@pytest.mark.parametrize("room", ROOMS)
def test_the_page_has_each_name_of_each_release(version, room):
    page = pathlib.Path(ROOT, "docs", "flags.md").read_text(encoding="utf-8")
    dash = "" if room == duties.VARIABLES else "--"
    assert [name for name in duties.names(version)[room] if f"`{dash}{name}`" not in page] == []


def test_a_value_that_changes_nothing_is_not_left_out():
    row = duties.Duty(duties.NOT_MODELLED, "x", unless=("auto", 0))
    assert [row.touches(value) for value in ("AUTO", "0", 0, None, False, "", 1, "8GiB")] == [False] * 6 + [True] * 2
    assert not duties.Duty(duties.NOT_MODELLED, "x", only=("a",)).touches("b")
