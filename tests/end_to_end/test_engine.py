"""A real engine with the plugin on: what it captures is what is computed.

`KVINSPECT_VLLM_PYTHON` is an interpreter that has vLLM (0.25 or newer) for the CPU; the kvinspect of this checkout is put
beside it, with its entry point.
"""

import os
import pathlib
import subprocess
import tomllib

import pytest
import yaml

from conftest import ROOT

PYTHON = os.environ.get("KVINSPECT_VLLM_PYTHON")
MODELS = pathlib.Path(__file__).with_name("models")
BOOT = pathlib.Path(__file__).with_name("boot.py")
OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
ALONE = {"VLLM_ENABLE_V1_MULTIPROCESSING": "0"}
"""One process: nothing is left over where it ends badly."""

pytestmark = [pytest.mark.vllm, pytest.mark.skipif(not PYTHON, reason="KVINSPECT_VLLM_PYTHON names no vLLM")]


@pytest.fixture(scope="session")
def beside_vllm(tmp_path_factory):
    """A folder with this kvinspect as an installation leaves it: the package, and its entry points."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "kvinspect").symlink_to(ROOT / "kvinspect")
    entry_points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    written = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in one.items()) for group, one in entry_points.items()]
    metadata = folder / "kvinspect-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: kvinspect\nVersion: 0\n")
    (metadata / "entry_points.txt").write_text("\n".join(written))
    return folder


def boot(model, capture, path):
    environment = {**os.environ, **OFFLINE, **ALONE, "KVINSPECT_CAPTURE": str(capture), "PYTHONPATH": str(path)}
    command = [PYTHON, str(BOOT), str(MODELS / model)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert "booted" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module", params=sorted(path.name for path in MODELS.iterdir()))
def captured(request, tmp_path_factory, beside_vllm):
    """(model, the file that its engine wrote)."""
    file = tmp_path_factory.mktemp(request.param) / "captured.yaml"
    boot(request.param, file, beside_vllm)
    return request.param, file


def answer_of(run, command, file):
    done = run(command, file, "--format", "json")
    return done.returncode, yaml.safe_load(done.stdout), done.stderr


def test_the_engine_makes_what_is_computed(run, captured):
    _, file = captured
    code, answer, said = answer_of(run, "align", file)
    assert (code, said) == (0, "")
    assert answer["captured"]["compared"] is True
    assert answer["captured"]["differences"] == []
    assert answer["captured"]["num_layers"] == len(answer["layers"]) > 0
    assert all(layer["stride"] for layer in answer["layers"])


def test_the_other_commands_take_it(run, captured):
    _, file = captured
    code, answer, _ = answer_of(run, "doctor", file)
    assert (code, answer["differences"]) == (0, [])
    assert answer["versions"]["vllm"] == answer["captured"]["vllm"]
    for command in ("cg-support", "map"):
        assert run(command, file).returncode == 0
    # The engine does pad the hybrid's pages by more than half, which is a warning.
    assert run("lint", file, "--fail-on", "error").returncode == 0


def test_the_document_says_what_the_model_is(captured):
    model, file = captured
    document = yaml.safe_load(file.read_text())
    kinds = [group["kv_cache_spec"]["kind"] for group in document["kv_cache_config"]["kv_cache_groups"]]
    expected = {
        "dense": {"full_attention"},
        "window": {"sliding_window", "full_attention"},
        "hybrid": {"mamba", "full_attention"},
    }
    assert set(kinds) == expected[model]
    assert document["captured"]["cudagraph"]["resolved_mode"] == "NONE"
    shared = [tensor["shared_by"] for tensor in document["kv_cache_config"]["kv_cache_tensors"]]
    assert len(document["captured"]["storages"]) == len(shared)


def test_no_path_is_written(captured):
    _, file = captured
    text = file.read_text()
    assert str(MODELS) not in text
    assert str(ROOT) not in text
    assert os.path.expanduser("~") not in text or os.path.expanduser("~") == "/"


def test_a_failure_of_ours_is_a_warning(tmp_path, beside_vllm):
    file = tmp_path / "file"
    file.write_text("")
    assert "the KV cache was not captured: FileExistsError" in boot("dense", file / "captured.yaml", beside_vllm)
