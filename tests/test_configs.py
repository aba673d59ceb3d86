"""Every shipped config is answered, and says what its comment says."""

import pytest

import kvinspect
from conftest import ROOT

EXPECTED = {
    "deepseek-v3.yaml": ("unshared", True),
    "gemma-3-27b.yaml": ("agree", True),
    "llama-3.1-8b-eagle3-sm100.yaml": ("unshared", True),
    "llama-4-maverick-tp8.yaml": ("agree", True),
    "qwen3-next-80b-a3b-256-seqs.yaml": ("unshared", True),
    "gpt-oss-20b.yaml": ("agree", True),
    "llama-3.1-8b.yaml": ("unshared", True),
    "llama-3.1-8b-eagle3.yaml": ("unshared", True),
    "mistral-7b.json": ("unshared", True),
    "qwen3-30b-a3b-tp4.yaml": ("unshared", True),
    "qwen3-8b-out-of-tree.yaml": ("unshared", True),
    "qwen3-next-80b-a3b.yaml": ("unshared", True),
    "whisper-large-v3-rocm-0.27.yaml": ("refused", None),
    "whisper-large-v3-rocm.yaml": ("restrided", True),
}


GRAPHS = {
    "deepseek-v3.yaml": "FULL_AND_PIECEWISE",
    "llama-3.1-8b-eagle3.yaml": "PIECEWISE",
    "llama-3.1-8b-eagle3-sm100.yaml": "FULL_AND_PIECEWISE",
    "llama-4-maverick-tp8.yaml": "PIECEWISE",
    "qwen3-next-80b-a3b.yaml": "FULL_AND_PIECEWISE",
    "qwen3-next-80b-a3b-256-seqs.yaml": None,
    "whisper-large-v3-rocm.yaml": "FULL_DECODE_ONLY",
}
"""The CUDA graph mode that runs, where the comment of a config speaks of it."""

REQUESTS = {"gemma-3-27b-two-images.yaml": [((14, 269),)]}
"""The ranges that attend bidirectionally."""


def test_no_config_is_without_an_expectation():
    assert {path.name for path in (ROOT / "configs").iterdir()} == {*EXPECTED, *REQUESTS}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name):
    mode = kvinspect.cg_support(ROOT / "configs" / name).running.mode
    assert (mode.name if mode else None) == GRAPHS[name]


@pytest.mark.parametrize("name", REQUESTS)
def test_requests(name):
    assert [r.ranges for r in kvinspect.mm_prefix(ROOT / "configs" / name).requests] == REQUESTS[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_config(name):
    answer = kvinspect.align(ROOT / "configs" / name)
    assert (answer.decision, answer.sound) == EXPECTED[name]
    assert answer.layers


@pytest.mark.parametrize("name", EXPECTED)
def test_torch_confirms_the_views_of_every_config(name):
    pytest.importorskip("torch")
    assert kvinspect.align(ROOT / "configs" / name, device="meta").device.num_views > 0
