"""The experiment says what the proof says, and would say so if it did not."""

import pytest

import golden
import kvinspect
from conftest import fuzz_module
from kvinspect.api import on_device
from kvinspect.device.read_back import PlacedLayer, verify
from kvinspect.device.torn import Piece

torch = pytest.importorskip("torch")
CUDA = pytest.param(
    "cuda", marks=[pytest.mark.cuda, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")]
)


@pytest.mark.parametrize("device", ["cpu", CUDA])
@pytest.mark.parametrize("release", ["0.25.1", "0.27.1", "0.28.0"])
def test_the_experiment_agrees_with_the_proof_on_every_golden_document(release, device):
    pairs = unsound = 0
    for case in golden.answers(f"align-{release}"):
        try:
            answer = kvinspect.align(case["document"], device=device, verify=True)
        except kvinspect.DocumentError:
            continue
        pairs += answer.device.read_back.num_pairs if answer.device.read_back else 0
        unsound += answer.sound is False
    assert pairs > 1000
    assert unsound > 10


@pytest.mark.parametrize("num_blocks", [2, 255, 256, 257, 300])
def test_block_ids_of_any_number_of_digits(num_blocks):
    raw = torch.zeros(num_blocks * 16, dtype=torch.int8)
    halves = raw.view(torch.float16).view(2, num_blocks, 4)
    pages = raw.view(num_blocks, 16)
    subjects = [PlacedLayer("kv", (Piece(halves, 1, 1),)), PlacedLayer("page", (Piece(pages, 0, 1),))]
    seen = verify({0: subjects}, num_blocks)
    assert seen.clashes == {frozenset({"kv", "page"})}
    alike = [PlacedLayer("a", (Piece(pages, 0, 1),)), PlacedLayer("b", (Piece(raw.view(num_blocks, 4, 4), 0, 1),))]
    assert verify({0: alike}, num_blocks).clashes == frozenset()


def test_a_clash_of_the_last_two_blocks_alone_is_seen():
    raw = torch.zeros(64 * 300, dtype=torch.int8)
    first = raw.view(300, 64)
    second = raw[: 64 * 300 - 64].as_strided((299, 64), (64, 1))
    shifted = raw.as_strided((299, 65), (64, 1))
    assert (
        verify({0: [PlacedLayer("a", (Piece(first, 0, 1),)), PlacedLayer("b", (Piece(second, 0, 1),))]}, 300).clashes
        == set()
    )
    found = verify(
        {0: [PlacedLayer("a", (Piece(first, 0, 1),)), PlacedLayer("b", (Piece(shifted, 0, 1),))]}, 300
    ).clashes
    assert frozenset({"a", "b"}) in found
    assert frozenset({"b"}) in found


def test_kernel_blocks_of_one_block_carry_one_id():
    raw = torch.zeros(64, dtype=torch.int8)
    split = PlacedLayer("split", (Piece(raw.view(8, 8), 0, 2),))
    whole = PlacedLayer("whole", (Piece(raw.view(4, 16), 0, 1),))
    assert verify({0: [split, whole]}, 4).clashes == frozenset()
    wrong = PlacedLayer("wrong", (Piece(raw.view(8, 8), 0, 1),))
    assert verify({0: [wrong, whole]}, 8).clashes == {frozenset({"wrong", "whole"})}


def test_blocks_that_the_manager_does_not_have_do_not_count():
    raw = torch.zeros(64, dtype=torch.int8)
    forward, backward = raw.view(8, 8), raw.as_strided((8, 4), (8, 1), 4)
    assert (
        verify({0: [PlacedLayer("a", (Piece(forward, 0, 1),)), PlacedLayer("b", (Piece(backward, 0, 1),))]}, 4).clashes
        == set()
    )


def test_a_disagreement_is_an_internal_error(whisper, monkeypatch):
    monkeypatch.setattr(on_device, "first_meeting", lambda first, second: None)
    with pytest.raises(kvinspect.InternalError, match=r"the experiment finds a clash that the proof does not: s\.0"):
        kvinspect.align(whisper, engine="0.27", verify=True, device="cpu")


def test_the_experiment_runs_before_and_after_the_alignment(whisper):
    seen = kvinspect.align(whisper, verify=True, device="cpu").device
    assert seen.read_back.num_pairs == 2 * 3 + 2 * 3
    assert seen.num_views == 4 + 2
    assert seen.read_back.bytes_per_second > 0


def test_without_a_device_the_host_is_taken_and_only_so_much_of_it(whisper, monkeypatch):
    monkeypatch.setattr(on_device, "CPU_BYTES", 100_000)
    seen = kvinspect.align(whisper, verify=True).device
    assert (seen.device, seen.num_blocks, seen.of_blocks) == ("cpu", 2, 8)
    assert kvinspect.align(whisper, verify=True, device="cpu").device.num_blocks == 8


def test_meta_has_nothing_to_read_back(whisper):
    with pytest.raises(ValueError, match="meta"):
        kvinspect.align(whisper, verify=True, device="meta")


def test_progress_is_told_how_far_it_is(whisper):
    told = []
    kvinspect.align(whisper, verify=True, device="cpu", progress=lambda done, total: told.append(done / total))
    assert told == sorted(told[:2]) + sorted(told[2:])
    assert told[-1] == 1.0


def test_proof_and_experiment_agree_on_drawn_documents():
    outcomes, bad = fuzz_module("verify").compared(70)
    assert bad == []
    assert min(outcomes[word] for word in ("sound", "unsound", "overlaps itself")) > 0


def torn(raw, blocks, size, stride, begin=0):
    return PlacedLayer(f"torn at {begin}", (Piece(raw.as_strided((blocks, size), (stride, 1), begin), 0, 1),))


@pytest.mark.parametrize("blocks", [2, 3, 300])
def test_a_torn_view_clashes_with_what_lies_on_its_bytes_and_with_nothing_else(blocks):
    raw = torch.zeros(32 * blocks, dtype=torch.int8)
    one, far = torn(raw, blocks, 8, 4), torn(raw, blocks, 8, 4, 16 * blocks)
    beside = PlacedLayer("beside", (Piece(raw.as_strided((blocks, 4), (4, 1), 24 * blocks), 0, 1),))
    same = PlacedLayer("same", (Piece(raw.as_strided((blocks, 2), (4, 1)), 0, 1),))
    seen = verify({0: [one, far, beside, same]}, blocks)
    assert seen.clashes == {frozenset({one.label}), frozenset({far.label}), frozenset({one.label, "same"})}


@pytest.mark.parametrize("engine", ["0.29", "0.30", "0.33"])
def test_many_layers_are_compared_all_at_once(engine):
    spec = {"kind": "full_attention", "block_size": 1, "num_kv_heads": 1, "head_size": 8, "dtype": "float16"}
    groups = [{"layer_names": ["l.{0..299}"], "backend": "FLASH_ATTN", "kv_cache_spec": spec | {"block_size": 16}}]
    document = {"engine": engine, "kv_cache_config": {"num_blocks": 2, "kv_cache_groups": groups}}
    seen = kvinspect.align(document, verify=True, device="cpu").device.read_back
    assert seen.num_pairs == 300 * 301 // 2
    assert seen.num_bytes == 4 * 300 * 2 * 16 * 8 * 2 * 2
