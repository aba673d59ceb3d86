"""The same views on real tensors."""

import pytest

import golden
import kvinspect
from kvinspect.device import allocate, choose
from kvinspect.geometry import StridedView

torch = pytest.importorskip("torch")
CUDA = pytest.param(
    "cuda", marks=[pytest.mark.cuda, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")]
)


@pytest.mark.parametrize("device", ["cpu", "meta", CUDA])
def test_torch_confirms_every_view(whisper, device):
    result = kvinspect.align(whisper, device=device)
    assert result.device.num_views == 4 + 2  # two before the alignment and after it
    assert result.device.num_bytes == 2 * 8 * 16384
    assert result.to_dict()["device"].startswith(device)


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("release", ["0.25.1", "0.27.1", "0.28.0"])
def test_torch_confirms_the_views_of_every_golden_document(release, device):
    views = 0
    for case in golden.answers(f"align-{release}"):
        try:
            views += kvinspect.align(case["document"], device=device).device.num_views
        except kvinspect.DocumentError:
            continue
    assert views > 500


def test_a_view_that_torch_does_not_confirm_is_an_internal_error():
    view = StridedView.of_bytes(8).view((2, 4))
    wrong = view.permute((1, 0))
    wanted = allocate.Wanted("l", 0, "int8", (("view", ((2, 4),)),), wrong)
    with pytest.raises(allocate.ViewMismatch, match="torch reports"):
        allocate.materialise("cpu", {0: 8}, [wanted])


def test_layers_of_one_tensor_share_their_bytes(whisper):
    answer = kvinspect.align(whisper)
    wanted = [
        allocate.Wanted(layer.layer_name, layer.allocation.key, part.dtype, part.steps, part.view)
        for layer in answer.layers
        for part in layer.view.parts
    ]
    made = allocate.materialise("cpu", answer.allocations, wanted)
    made.views["s.0"][0].fill_(1)
    assert bool((made.views["x.0"][0] == 1).all())
    assert not bool(made.views["x.1"][0].any())


def test_what_does_not_fit_is_scaled_down_and_said(whisper, monkeypatch):
    monkeypatch.setattr(allocate, "free_bytes", lambda device: 3 * 2 * 16384 + 100_000)
    result = kvinspect.align(whisper, device="cpu")
    assert (result.device.num_blocks, result.device.of_blocks) == (5, 8)
    assert result.device.scaled
    assert result.setting.num_blocks == 8


def test_not_even_one_block_fits(whisper, monkeypatch):
    monkeypatch.setattr(allocate, "free_bytes", lambda device: 1000)
    with pytest.raises(kvinspect.DeviceError, match="one block takes 32768 bytes"):
        kvinspect.align(whisper, device="cpu")


def test_more_than_any_machine_has(whisper):
    whisper["kv_cache_config"]["num_blocks"] = 2**45
    result = kvinspect.align(whisper, device="meta")
    assert result.device.num_views == 6
    assert kvinspect.align(whisper, device="cpu").device.scaled


@pytest.mark.parametrize("word", ["gpu", "cuda:", "cuda:x", "", "CPU"])
def test_a_word_that_is_no_device(word):
    with pytest.raises(ValueError, match="expected auto"):
        choose.choose(word)


def test_a_device_that_is_not_there(whisper):
    with pytest.raises(kvinspect.DeviceError):
        kvinspect.align(whisper, device="cuda:99")


def test_auto_without_an_accelerator_says_why(monkeypatch, whisper):
    monkeypatch.setattr(choose, "driver_has_device", lambda: False)
    report = kvinspect.align(whisper, device="auto").device
    assert (report.device, report.reason) == ("none", "no accelerator on this machine")


def test_auto_without_torch_says_why(monkeypatch):
    monkeypatch.setattr(choose, "driver_has_device", lambda: True)
    monkeypatch.setattr(choose, "_has_torch", lambda: False)
    assert choose.choose("auto") == choose.DeviceChoice("none", "torch is not installed")
    with pytest.raises(kvinspect.DeviceError, match="pip install torch"):
        choose.choose("cpu")


def test_a_refusal_before_any_view_makes_no_tensor(whisper):
    whisper["kv_cache_config"]["kv_cache_groups"][0]["kv_cache_spec"]["block_size"] = 24
    whisper["kv_cache_config"]["kv_cache_groups"][1]["kv_cache_spec"]["block_size"] = 24
    report = kvinspect.align(whisper, device="cpu").device
    assert (report.device, report.num_views) == ("none", 0)
