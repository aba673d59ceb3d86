"""KV cache specs of every class that a release has, plain ones and odd ones."""

import math

from conformance.documents.chooser import ITEM_BYTES

PLAIN = (
    "FullAttentionSpec",
    "SlidingWindowSpec",
    "FullAttentionSpec",
    "CrossAttentionSpec",
    "ChunkedLocalAttentionSpec",
)
RARE = (
    "SinkFullAttentionSpec",
    "RSWASpec",
    "TQFullAttentionSpec",
    "EncoderOnlyAttentionSpec",
    "CircularBufferSpec",
    "KpoolTailSpec",
)
LATENT_SIZES = (576, 320, 128, 512)
LATENT = ("MLAAttentionSpec", "SlidingWindowMLASpec", "HiddenStateCacheSpec")

REQUIRED = {
    "sliding_window": (128, 64, 512, 1000),
    "attention_chunk_size": (128, 64, 8192),
    "rswa_window": (128, 1024),
}
"""What a class needs beside its geometry → values."""

ODD = {
    "kv_quant_mode": None,
    "indexes_kv_by_block_stride": (True, False),
    "head_size_v": (64, 32, 128, 576),
    "sliding_window": (128, 512),
    "attention_chunk_size": (128, 1024),
    "non_causal": (True, False),
    "extra_retained_tokens": (0, 1, 16, 100),
    "sink_len": (4, 16),
    "tq_slot_size": (70, 134, 6),
    "alignment": (576, 1024, 64),
    "compress_ratio": (4, 2, 128),
    "cache_dtype_str": ("fp8_ds_mla", "fp8", "auto"),
    "model_version": ("deepseek_v4", "other"),
    "num_head_slots": (1, 2, 7),
    "state_content_bytes": (64, 100, 256),
    "tokens_per_state": (1, 2, 4, 128),
    "block_stride_alignment": (64, 576),
    "storage_block_size": (16, 64),
    "dcp_sharded": (True, False),
    "max_tp_shards": (1, 2),
}
"""Fields that most specs leave at their default → values; those that a release has not are left out."""


class Geometry:
    """The numbers that specs of a document have in common, so that their pages are of one size."""

    def __init__(self, choose, backends, most_bytes=150_000):
        multiple = math.lcm(*(choose.facts.block_multiple.get(backend, 1) for backend in backends), 16)
        multiple = multiple if multiple <= 128 else 16
        self.block_size = multiple * choose.pick((1, 1, 2, 3, 4, 1, 8, 17, 33))
        self.heads = choose.pick((2, 1, 4, 8, 3, 20))
        self.head_size = choose.pick((64, 128, 80, 96, 256, 32, 576))
        self.dtype = choose.pick(("float16", "bfloat16", "float16", "float32"))
        while self.page > most_bytes and self.block_size > multiple:
            self.block_size = multiple
        while self.page > most_bytes and self.head_size > 64:
            self.head_size = 128 if self.head_size > 128 else 64
        while self.page > most_bytes and self.heads > 1:
            self.heads //= 2

    @property
    def page(self):
        """Bytes of a page of keys and values."""
        return 2 * self.block_size * self.heads * self.head_size * ITEM_BYTES[self.dtype]


def attention(choose, geometry, classes=PLAIN):
    """A spec of keys and values, of a class that the release has."""
    there = tuple(name for name in classes if name in choose.facts.spec_fields)
    spec = {
        "kind": choose.pick(there),
        "block_size": geometry.block_size,
        "num_kv_heads": geometry.heads,
        "head_size": geometry.head_size,
        "dtype": geometry.dtype,
    }
    if choose.chance(20) and geometry.heads % 2 == 0:  # the same page from half the heads and twice the block
        spec.update(block_size=geometry.block_size * 2, num_kv_heads=geometry.heads // 2)
    return completed(choose, spec)


def latent(choose, geometry, head_size):
    """A spec of latent attention, now and then of another head size than the model's."""
    there = tuple(name for name in LATENT if name in choose.facts.spec_fields)
    head_size = choose.pick(LATENT_SIZES) if choose.chance(15) else head_size
    spec = {"kind": choose.pick(there), "block_size": geometry.block_size, "num_kv_heads": 1, "head_size": head_size}
    return completed(choose, {**spec, "dtype": geometry.dtype}, odd=10)


def completed(choose, spec, odd=3):
    """A spec with what its class needs, and now and then with a field that most leave out."""
    required, optional = choose.facts.spec_fields[spec["kind"]]
    spec.update({field: choose.pick(REQUIRED[field]) for field in required if field in REQUIRED})
    for field in optional:
        if field in ODD and choose.chance(odd):
            spec[field] = choose.pick(ODD[field] or choose.facts.quant_modes)
    for field in ("compress_ratio", "tokens_per_state"):  # more would make pages of no byte
        if field in spec:
            spec[field] = min(spec[field], spec["block_size"])
    return spec


def states(choose, page, block_size):
    """A spec of a state-space layer whose page is `page` bytes, or None where its states don't fit."""
    first, second = choose.pick((("float16", "float16"), ("bfloat16", "float32"), ("float32", "float32")))
    shapes = [[choose.pick((3, 4)), choose.pick((32, 64, 100))], [choose.pick((1, 2, 8)), 8, choose.pick((8, 16, 5))]]
    spec = {"kind": "MambaSpec", "block_size": block_size, "shapes": shapes, "dtypes": [first, second]}
    spec["mamba_type"] = choose.pick(choose.facts.states).removesuffix("_MAMBA")
    used = sum(math.prod(s) * ITEM_BYTES[d] for s, d in zip(shapes, spec["dtypes"], strict=True))
    if used > page and not choose.chance(10):
        spec.update(shapes=[[1, 4], [1, 4]])
    if choose.chance(90):
        spec["page_size_padded"] = page
    if choose.chance(10):
        spec["num_speculative_blocks"] = choose.pick((1, 3))
    return spec


def spoilt(choose, spec):
    """A spec with one number that most engines would not take."""
    field = choose.pick(("block_size", "page_size_padded", "num_kv_heads", "head_size"))
    if field == "page_size_padded":
        spec[field] = choose.pick((100, 4096, 1 << 16, 12345))
    elif field in spec:
        spec[field] = choose.pick((spec[field] * 2, spec[field] + 1, 24, 1))
