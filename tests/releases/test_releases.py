"""Every release is whole, and one more is one module and one folder of data."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.data import catalogue
from kvinspect.data.catalogue import versions
from kvinspect.releases import lookup

PACKAGE = pathlib.Path(kvinspect.__file__).parent
MODULES, FOLDERS = PACKAGE / "releases", PACKAGE / "data"
DATA = {"catalogue.json", "flags.json", "runners.json", "architectures.json", "inputs.json", "connectors.json"}


@pytest.mark.parametrize("version", versions())
def test_a_release_has_all_of_its_data(version):
    assert {path.name for path in (FOLDERS / version).iterdir()} == DATA


def test_there_is_a_module_for_each_folder_of_data_and_no_other():
    folders = {path.name for path in FOLDERS.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(versions())
    modules = {path.stem for path in MODULES.glob("v*.py")}
    assert modules == {"v" + version.rpartition(".")[0].replace(".", "_") for version in versions()}


@pytest.mark.parametrize("runner", ["v1", "v2"])
@pytest.mark.parametrize("version", versions())
def test_a_module_is_the_release_that_its_data_are_of(version, runner):
    release = lookup.release(version, runner)
    assert (release.version, release.runner, release.key) == (version, runner, version)
    assert release.catalogue is catalogue.read(version)
    assert release.catalogue["release"] == version


def test_no_release_changes_a_field_that_is_none():
    with pytest.raises(TypeError, match="no_such_step"):
        lookup.release(versions()[0]).but(no_such_step=None)


def test_a_release_that_is_not_there_is_refused():
    with pytest.raises(kvinspect.DocumentError, match="a vLLM release: one of"):
        kvinspect.cg_support({"engine": "0.99", "kv_cache_config": {"num_blocks": 1, "kv_cache_groups": []}})


COPY = """
from kvinspect.releases import v{newest}

RELEASE = v{newest}.RELEASE.but(version="0.99.0")
"""


@pytest.fixture
def with_one_more(tmp_path):
    """A folder with a kvinspect that knows a release 0.99, which is the newest one again."""
    newest = versions()[-1]
    package = tmp_path / "kvinspect"
    shutil.copytree(ROOT / "kvinspect", package, ignore=shutil.ignore_patterns("__pycache__"))
    module = COPY.format(newest=newest.rpartition(".")[0].replace(".", "_"))
    (package / "releases" / "v0_99.py").write_text(module, encoding="utf-8")
    shutil.copytree(package / "data" / newest, package / "data" / "0.99.0")
    for name in ("catalogue", "flags"):
        path = package / "data" / "0.99.0" / f"{name}.json"
        data = json.loads(path.read_text(encoding="utf-8"))
        path.write_text(json.dumps({**data, "release": "0.99.0"}), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "call",
    [
        ("align", "configs/llama-3.1-8b.yaml"),
        ("cg-support", "configs/llama-3.1-8b.yaml"),
        ("plan", "examples/models/qwen3-8b", "--available-kv-cache-memory", "12GiB"),
    ],
    ids=lambda call: call[0],
)
def test_one_more_release_is_a_module_and_a_folder_of_data(with_one_more, call):
    newest = versions()[-1]
    answers = [answer(folder, call, engine) for folder, engine in ((ROOT, newest), (with_one_more, "0.99"))]
    assert answers[1].replace("0.99.0", newest).replace('"0.99"', f'"{newest}"') == answers[0]


def answer(folder, call, engine):
    command = [sys.executable, "-m", "kvinspect", *call, "--engine", engine, "--format", "json"]
    # Documents are named from the checkout, while the program is that of the folder.
    environment = {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1", "PATH": ""}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
