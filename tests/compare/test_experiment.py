"""The verdict against an experiment: each engine's own way to take K and V apart, on real memory, block by block."""

from itertools import product
from typing import NamedTuple

import pytest

import kvinspect

torch = pytest.importorskip("torch")

BLOCK, HEADS, SIZE, NUM_BLOCKS = 32, 2, 16, 3
X = 8
"""Elements of 16 bytes."""


def unbound(cache):
    return cache.unbind(1)


def split(cache):
    return cache.transpose(1, 2).split(SIZE, dim=-1)


def sliced(cache):
    return cache[..., :SIZE], cache[..., SIZE:]


def paged(cache):
    """K and V with the dims of the others, of what paged attention makes of the pages."""
    num_blocks = cache.shape[1]
    keys = cache[0].view(num_blocks, HEADS, SIZE // X, -1, X).permute(0, 3, 1, 2, 4)
    return keys, cache[1].view(num_blocks, HEADS, SIZE, -1).permute(0, 3, 1, 2)


def kv_first(cache):
    return cache.unbind(0)


class Variant(NamedTuple):
    """A backend of a release, and how its code there takes the cache apart."""

    engine: str
    backend: str
    layout: str
    apart: object
    kernel_block: int = BLOCK
    num_blocks: int = NUM_BLOCKS


NPU = {"kv_cache_shape": [2, "num_blocks", "block_size", "num_kv_heads", "head_size"]}
VARIANTS = [
    Variant("0.25", "FLASH_ATTN", "NHD", unbound),
    Variant("0.25", "FLASH_ATTN", "HND", unbound),
    Variant("0.25", "FLASH_ATTN", "NHD", unbound, 16),
    Variant("0.25", "TRITON_ATTN", "NHD", unbound),
    Variant("0.25", "FLEX_ATTENTION", "NHD", unbound),
    Variant("0.25", "FLASH_ATTN_DIFFKV", "NHD", sliced),
    Variant("0.26", "FLASH_ATTN", "NHD", split),
    Variant("0.26", "FLASH_ATTN", "HND", split),
    Variant("0.28", "FLASHINFER", "HND", split, 16),
    Variant("0.28", "FLEX_ATTENTION", "HND", split),
    Variant("0.28", "HPC_ATTN", "NHD", unbound),
    Variant("0.25", "ROCM_ATTN", "NHD", paged),
    Variant("0.25", "ROCM_ATTN", "NHD", paged, 16),
    Variant("0.27", "ROCM_ATTN", "NHD", paged, 16, 5),
    Variant("0.25", "NPU", "NHD", kv_first),
    Variant("0.28", "NPU", "NHD", kv_first, 16),
    Variant("0.28", "NPU", "NHD", kv_first, BLOCK, 5),
]


def document(variant):
    spec = {"kind": "full_attention", "block_size": BLOCK, "num_kv_heads": HEADS, "head_size": SIZE, "dtype": "float16"}
    group = {"layer_names": ["l.0"], "backend": variant.backend, "kv_cache_spec": spec}
    return {
        "engine": variant.engine,
        "platform": "rocm" if variant.backend == "ROCM_ATTN" else "cuda",
        "kv_cache_layout": variant.layout,
        "kernel_block_sizes": [variant.kernel_block],
        "kv_cache_config": {"num_blocks": variant.num_blocks, "kv_cache_groups": [group]},
        "backends": {"NPU": NPU} if variant.backend == "NPU" else {},
    }


def written(variant, block=1):
    """Element of the allocation → the number of the cached element that a block of this variant keeps there."""
    layer = kvinspect.align(document(variant)).to_dict()["layers"][0]
    raw = torch.full((variant.num_blocks * BLOCK * HEADS * SIZE * 2,), -1, dtype=torch.int32)
    cache = raw.as_strided(layer["shape"], layer["stride"], layer["storage_offset"])
    ratio = BLOCK // variant.kernel_block
    for i, side in enumerate(variant.apart(cache)):
        mine = side[block * ratio : (block + 1) * ratio]
        numbers = torch.arange(BLOCK * HEADS * SIZE, dtype=torch.int32) + i * BLOCK * HEADS * SIZE
        mine.copy_(numbers.view(mine.shape))
    return {place: value for place, value in enumerate(raw.tolist()) if value >= 0}


KEPT = [written(variant) for variant in VARIANTS]


def test_the_experiment_writes_every_element_once():
    for kept in KEPT:
        assert sorted(kept.values()) == list(range(2 * BLOCK * HEADS * SIZE))


@pytest.mark.parametrize(
    ("a", "b"), list(product(range(len(VARIANTS)), repeat=2)), ids=lambda i: "-".join(map(str, VARIANTS[i][:3]))
)
def test_the_verdict_is_what_a_copy_of_a_block_shows(a, b):
    answer = kvinspect.diff(document(VARIANTS[a]), document(VARIANTS[b]))
    [layer] = answer.layers
    copied, other = list(KEPT[a].values()), list(KEPT[b].values())
    if copied != other:
        first = next(i for i, pair in enumerate(zip(copied, other, strict=True)) if pair[0] != pair[1])
        assert (layer.verdict, layer.outcome.first_byte.byte) == ("different", 2 * first)
        assert layer.outcome.first_byte.other_byte == 2 * other.index(copied[first])
        assert number(layer.outcome.first_byte.holds) == copied[first]
        assert number(layer.outcome.first_byte.instead) == other[first]
    else:
        assert layer.verdict == ("same" if KEPT[a] == KEPT[b] else "moved")
    assert answer.compatible is (copied == other)


def number(place):
    at = dict(place.coordinates)
    inside = (at["token"] * HEADS + at["head"]) * SIZE + at["element"]
    return inside + {"K": 0, "V": BLOCK * HEADS * SIZE}[place.region]
