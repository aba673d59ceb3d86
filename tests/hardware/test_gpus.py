"""GPUs by name, and what a plan takes from them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvinspect.hardware.gpus import find_gpu, known_gpus, parse_gpus
from kvinspect.models.deployed import device_of, on_gpus
from kvinspect.models.specs_answer import server_defaults
from kvinspect.releases.lookup import release

MODEL = "examples/models/qwen3-8b"


@pytest.mark.parametrize(
    ("text", "count", "name"),
    [
        ("H100", 1, "H100"),
        ("2xH100", 2, "H100"),
        ("2 x h100", 2, "H100"),
        ("8×MI300X", 8, "MI300X"),
        ("H100:4", 4, "H100"),
        ("rtx4090", 1, "RTX 4090"),
        ("NVIDIA GeForce RTX 4090", 1, "RTX 4090"),
        ("4090", 1, "RTX 4090"),
        ("RTX-4090-24GB", 1, "RTX 4090"),
        ("A100-40GB", 1, "A100-40GB"),
        ("A100", 1, "A100-80GB"),
        ("NVIDIA A100-SXM4-80GB", 1, "A100-80GB"),
        ("NVIDIA H100 80GB HBM3", 1, "H100"),
        ("a6000", 1, "RTX A6000"),
        ("L4", 1, "L4"),
        ("GB200", 1, "GB200"),
        ("B300", 1, "B300"),
        ("AMD Instinct MI300X", 1, "MI300X"),
        ("RTX 3060 12GB", 1, "RTX 3060"),
    ],
)
def test_names(text, count, name):
    found = parse_gpus(text)
    assert (found.number, found.gpu.name) == (count, name)


@pytest.mark.parametrize("gpu", known_gpus(), ids=lambda gpu: gpu.name)
def test_every_name_and_alias_leads_to_its_gpu(gpu):
    assert {find_gpu(name) for name in (gpu.name, *gpu.aliases)} == {gpu}
    assert gpu.source


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        ("H100", 79.19), ("A100", 79.25), ("H200", 139.8), ("B200", 178.35), ("L40S", 44.4), ("RTX 4090", 23.52),
        ("RTX 3090", 23.56), ("RTX 5090", 31.36), ("L4", 22.03), ("MI300X", 191.98),
    ],
)  # fmt: skip
def test_memory_is_what_drivers_report(name, gib):
    assert find_gpu(name).gib == gib


@pytest.mark.parametrize("text", ["Gaudi2", "H100-40GB", "TPU v5e", "", "x" * 101, "0xL4", "99999xL4", "2x"])
def test_what_is_not_known_is_refused_with_what_is_near(text):
    with pytest.raises(ValueError, match=r"nearest name|at most 100|expected 1 to"):
        parse_gpus(text)


@given(st.text(max_size=120))
def test_any_text_is_a_gpu_or_refused(text):
    try:
        assert parse_gpus(text).number > 0
    except ValueError as error:
        assert len(str(error)) < 400


def test_a_number_becomes_tensor_parallelism_unless_flags_say_otherwise():
    two = parse_gpus("2xH100")
    assert on_gpus({}, two) == {"tensor_parallel_size": 2}
    assert on_gpus({"pipeline_parallel_size": "2"}, two) == {"pipeline_parallel_size": "2"}
    assert on_gpus({}, parse_gpus("H100")) == on_gpus({}, None) == {}
    with pytest.raises(ValueError, match="names 2 GPUs, and the arguments need 4"):
        on_gpus({"tensor_parallel_size": 2, "data_parallel_size": 2}, two)


def test_platform_and_capability_are_the_gpus_own():
    assert device_of(parse_gpus("MI300X"), None, None) == ("rocm", "9.4")
    assert device_of(None, None, None) == ("cuda", None)
    assert device_of(parse_gpus("L4"), None, "9.0") == ("cuda", "9.0")
    with pytest.raises(ValueError, match="is of platform rocm"):
        device_of(parse_gpus("MI300X"), "cuda", None)


def test_a_gb10_has_small_batches_from_0_33_on():
    gpu = find_gpu("GB10")
    sizes = [server_defaults(release(v).models, gpu.memory, gpu.name, gpu.capability) for v in ("0.30.0", "0.33.0")]
    assert sizes == [(8192, 1024), (2048, 256)]


def test_a_plan_on_a_gpu_by_name(run):
    asked = ("plan", MODEL, "--gpu", "2xH100", "--weights", "16.4GB")
    shown = run(*asked, "--explain")
    assert shown.returncode == 0
    assert "memory of each GPU (H100, 79.2 GiB)" in shown.stdout
    assert "TP 2" in shown.stdout
    assert "Batches of up to 8,192 tokens and 1,024 sequences." in shown.stdout
    answer = json.loads(run(*asked, "-f", "json").stdout)
    assert (answer["platform"], answer["device_capability"]) == ("cuda", "9.0")
    a100 = run("plan", MODEL, "--gpu", "A100", "--weights", "16.4GB", "--explain").stdout
    assert "Batches of up to 2,048 tokens and 256 sequences." in a100
    refused = run("plan", MODEL, "--gpu", "Gaudi2")
    assert (refused.returncode, "nearest name" in refused.stderr.replace("\n", " ")) == (2, True)


def test_gpus_are_listed(run):
    found = json.loads(run("gpus", "4090", "-f", "json").stdout)
    assert [gpu["name"] for gpu in found["gpus"]] == ["RTX 4090", "RTX 4090D"]
    assert "79.19 GiB" in run("gpus").stdout
