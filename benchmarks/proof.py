"""The proof costs the same for any number of blocks, a thousand layers under a second; --verify is memory-bound."""

import time

import torch

import kvinspect
from kvinspect.device.read_back import PlacedLayer, verify
from kvinspect.device.torn import Piece
from kvinspect.geometry import StridedView
from kvinspect.geometry.disjoint import meeting
from kvinspect.geometry.runs import block_bytes
from measure import finish, ratio, report


def prove(num_blocks, rounds=200):
    """Seconds of a proof of K/V-first blocks against pages, and against blocks-first ones; nothing is remembered."""
    half = 16 * 20 * 64

    def run():
        kv_first = StridedView((2, num_blocks, half), (num_blocks * half, half, 1), 0, 2, 4 * num_blocks * half)
        restrided = StridedView((num_blocks, 2, half), (half, num_blocks * half, 1), 0, 2, 4 * num_blocks * half)
        pages = StridedView((num_blocks, 4 * half), (4 * half, 1), 0, 1, 4 * num_blocks * half)
        start = time.perf_counter()
        for _ in range(rounds):
            meeting.cache_clear()
            a, b, c = (block_bytes(v, d, num_blocks) for v, d in ((kv_first, 1), (restrided, 0), (pages, 0)))
            assert meeting(a, b) is None
            assert meeting(a, c) is not None
        return time.perf_counter() - start

    return run


def thousand_layers():
    spec = {"block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype": "float16"}
    document = {
        "engine": "0.25",
        "platform": "rocm",
        "kv_cache_config": {
            "num_blocks": 10_000,
            "kv_cache_groups": [
                {
                    "layer_names": ["s.{0..499}"],
                    "backend": "ROCM_ATTN",
                    "kv_cache_spec": {"kind": "full_attention", **spec},
                },
                {
                    "layer_names": ["x.{0..499}"],
                    "backend": "TRITON_ATTN",
                    "kv_cache_spec": {"kind": "cross_attention", **spec},
                },
            ],
        },
    }
    loaded = kvinspect.load(document)
    start = time.perf_counter()
    assert kvinspect.align(loaded).sound
    return time.perf_counter() - start


RAW = torch.zeros(512 * 2**20, dtype=torch.int8)


def experiment():
    """Seconds a byte of writing and reading all pairs of two views that agree."""
    blocks = 200
    size = RAW.numel() // blocks // 8 * 8
    raw = RAW[: size * blocks]
    first = raw.view(torch.float16).view(blocks, size // 2)
    second = raw.view(torch.float32).view(blocks, 2, size // 8)
    subjects = [PlacedLayer("a", (Piece(first, 0, 1),)), PlacedLayer("b", (Piece(second, 0, 1),))]
    seen = verify({0: subjects}, blocks)
    assert not seen.clashes
    return seen.seconds / seen.num_bytes


def fill_and_read():
    """Seconds a byte of `fill_` and one read of the same bytes."""
    start = time.perf_counter()
    RAW.fill_(1)
    RAW.view(torch.int64).sum()
    return (time.perf_counter() - start) / (2 * RAW.numel())


seconds = min(thousand_layers() for _ in range(3))
print(f"all pairs of 1,000 layers: {seconds:.3f} s (under 1) {'ok' if seconds < 1 else 'OVER'}")
finish(
    [
        report("proof of 2^40 blocks / of 2^4", ratio(prove(2**40), prove(2**4)), 1.2),
        report("a byte of --verify / of fill_ and a read", ratio(experiment, fill_and_read, 5), 3.0),
        seconds < 1,
    ]
)
