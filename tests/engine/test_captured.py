"""A captured cache beside the computed one: what real engines made, and what is said where it differs."""

import copy
import json

import pytest
import yaml

import kvinspect
from conftest import ROOT

CAPTURED = ROOT / "tests" / "capture"
NAMES = ["dense", "window", "hybrid"]

OTHER = {list: lambda value: [*value[:-1], value[-1] + 1], int: lambda value: value + 7, str: lambda value: "float64"}
"""A value of the same kind that is another."""


def document(name):
    """What vLLM 0.27.1 wrote on a CPU."""
    return yaml.safe_load((CAPTURED / f"{name}.yaml").read_text())


def differences(changed):
    return [
        (one.what, one.computed, one.captured, one.layer_names) for one in kvinspect.align(changed).captured.differences
    ]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_real_engine_made_is_what_is_computed(name):
    answer = kvinspect.align(document(name))
    assert answer.captured.differences == ()
    assert answer.captured.num_layers == len(answer.layers)
    assert answer.clean


@pytest.mark.parametrize("name", NAMES)
def test_every_number_is_compared(name):
    """No number of a captured tensor can change without a difference."""
    whole = document(name)
    for layer, views in whole["captured"]["layers"].items():
        for field, value in views[0].items():
            if field in ("item_size", "storage_offset", "storage"):
                continue
            changed = copy.deepcopy(whole)
            changed["captured"]["layers"][layer][0][field] = OTHER[type(value)](value)
            assert differences(changed), (layer, field)


def test_a_difference_says_both_sides_and_all_layers():
    changed = document("dense")
    for views in changed["captured"]["layers"].values():
        views[0]["stride"] = [4, 3, 2, 1]
    layers = ("model.layers.0.self_attn.attn", "model.layers.1.self_attn.attn")
    assert differences(changed) == [("stride", "[16384, 8192, 64, 1]", "[4, 3, 2, 1]", layers)]


def test_layers_that_share_otherwise():
    changed = document("window")
    changed["captured"]["layers"]["model.layers.1.self_attn.attn"][0]["storage"] = 1
    found = {what: (computed, captured) for what, computed, captured, _ in differences(changed)}
    name = "model.layers.{}.self_attn.attn".format
    assert found[f"layers on the storage of {name(0)}"] == (f"{name(0)}, {name(1)}", name(0))
    assert found[f"layers on the storage of {name(3)}"] == (f"{name(2)}, {name(3)}", f"{name(1)}, {name(2)}, {name(3)}")


def test_sizes_of_storages_and_of_kernel_blocks():
    changed = document("hybrid")
    changed["captured"]["storages"] = [123]
    changed["captured"]["kernel_block_sizes"] = [256, 256, 256, 64]
    found = differences(changed)
    assert found[0] == ("kernel block sizes", "[256, 256, 256, 128]", "[256, 256, 256, 64]", ())
    assert (found[1][0], found[1][2], len(found[1][3])) == ("bytes of the storage", "123", 4)


def test_a_layer_more_and_a_layer_less():
    changed = document("dense")
    captured = changed["captured"]["layers"]
    captured["model.layers.7.attn"] = captured.pop("model.layers.1.self_attn.attn")
    assert differences(changed) == [
        ("tensor", "one", "nothing", ("model.layers.1.self_attn.attn",)),
        ("tensor", "nothing", "one", ("model.layers.7.attn",)),
    ]


def test_states_beside_a_whole():
    """Where the engine's whole is not there, its states still tell where each block begins."""
    changed = document("hybrid")
    conv = {
        "dtype": "bfloat16",
        "item_size": 2,
        "shape": [32768, 3, 256],
        "stride": [16384, 256, 1],
        "storage_offset": 0,
        "storage": 0,
        "byte": 0,
    }
    state = {
        "dtype": "float32",
        "item_size": 4,
        "shape": [32768, 4, 32, 32],
        "stride": [8192, 1024, 32, 1],
        "storage_offset": 384,
        "storage": 0,
        "byte": 1536,
    }
    changed["captured"]["layers"]["model.layers.0.linear_attn"] = [conv, state]
    assert differences(changed) == []
    conv["stride"], conv["byte"] = [8192, 256, 1], 64
    layer = ("model.layers.0.linear_attn",)
    assert differences(changed) == [
        ("first byte", "0", "64", layer),
        ("bytes from block to block", "32768", "16384", layer),
    ]
    conv["shape"], conv["stride"] = [], []
    assert ("bytes from block to block", "32768", "0", layer) in differences(changed)


def test_an_engine_that_started_where_it_is_said_to_refuse():
    whole = yaml.safe_load((ROOT / "configs" / "whisper-large-v3-rocm-0.27.yaml").read_text())
    whole["model_runner"] = "v2"
    whole["cache_dtype"] = "fp8_ds_mla"
    whole["captured"] = {"vllm": "0.27.1"}
    answer = kvinspect.align(whole)
    assert answer.decision == "refused"
    assert not answer.clean


def test_what_is_not_compared():
    assert kvinspect.align(ROOT / "configs" / "llama-3.1-8b.yaml").captured is None
    other = kvinspect.align(document("dense"), engine="0.26").captured
    assert (other.differences, other.why_not) == ((), "the rules are those of 0.26.0")
    fewer = kvinspect.align(document("dense"), num_blocks=4).captured
    assert fewer.to_dict()["compared"] is False
    assert "4 blocks" in fewer.why_not


@pytest.fixture
def files(tmp_path):
    """(a file that differs, one that does not)."""
    changed = document("dense")
    evil = "model.layers.0.self_attn.attn"
    changed["captured"]["layers"][evil][0]["stride"] = [4, 3, 2, 1]
    changed["captured"]["device_name"] = "<img src=x>\x1b[31m|`"
    for name, value in (("differs", changed), ("same", document("dense"))):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    return tmp_path / "differs.json", tmp_path / "same.json"


def test_align_says_it_and_ends_with_1(run, files):
    differs, same = files
    done = run("align", differs, "--device", "none")
    assert done.returncode == 1
    assert "1 difference between the computed views and those of vLLM 0.27.1" in done.stdout
    assert (
        "stride of model.layers.0.self_attn.attn: computed [16384, 8192, 64, 1], captured [4, 3, 2, 1]" in done.stdout
    )
    done = run("align", same, "--device", "none")
    assert done.returncode == 0
    assert "✓ as captured: the computed views of 2 layers are those of vLLM 0.27.1." in done.stdout
    done = run("align", same, "--device", "none", "--engine", "0.28")
    assert "Not compared with the captured cache of vLLM 0.27.1: the rules are those of 0.28.0." in done.stdout


def test_doctor_prints_a_block_and_escapes_it(run, files):
    differs, same = files
    done = run("doctor", differs)
    assert done.returncode == 1
    for said in (
        "| vllm | 0.27.1 |",
        "| torch | 2.13.0+cpu |",
        "Decision: unshared, sound.",
        "stride of model.layers.0",
    ):
        assert said in done.stdout
    assert "&lt;img src=x&gt;\\\\x1b\\[31m\\|\\`" in done.stdout
    assert "\x1b" not in done.stdout
    done = run("doctor", same, "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["differences"]) == (0, [])


def test_doctor_compares_cuda_graphs_too(tmp_path, run):
    changed = document("dense")
    graphs = changed["captured"]["cudagraph"]
    graphs["resolved_mode"], graphs["groups"][0]["support"] = "FULL", "ALWAYS"
    found = [(one.what, one.computed, one.captured) for one in kvinspect.doctor(changed).differences]
    assert found == [("CUDA graph mode", "NONE", "FULL"), ("CUDA graph support of CPU_ATTN", "NEVER", "ALWAYS")]


def test_doctor_of_a_document_by_hand(run):
    done = run("doctor", "configs/whisper-large-v3-rocm-0.27.yaml")
    assert done.returncode == 1
    assert "Refused at start-up (align): AssertionError" in done.stdout
    assert "Not captured from a running engine." in done.stdout


@pytest.mark.parametrize("command", ["cg-support", "map", "lint"])
def test_the_other_commands_take_a_captured_document(run, files, command):
    assert run(command, files[1]).returncode == 0


def test_what_is_wrong_with_a_captured_part_is_told(run, tmp_path):
    changed = document("dense")
    changed["captured"]["layers"]["model.layers.0.self_attn.attn"][0]["shape"] = "big"
    changed["captured"]["devise"] = "cpu"
    (tmp_path / "bad.json").write_text(json.dumps(changed))
    done = run("align", tmp_path / "bad.json")
    assert done.returncode == 2
    assert "did you mean" in done.stderr
    assert "[0].shape" in done.stderr


def test_capture_says_what_to_add(run):
    done = run("capture", "--help")
    assert done.returncode == 0
    assert "KVINSPECT_CAPTURE=captured.yaml vllm serve MODEL" in done.stdout
    assert "docker run -e KVINSPECT_CAPTURE=" in done.stdout
    assert run("capture").stdout.split("Options")[0] == done.stdout.split("Options")[0]
