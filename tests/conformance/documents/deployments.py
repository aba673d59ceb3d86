"""Planning documents: specs of layers, workers and their memory, lengths, ranks, the hybrid manager on or off."""

from conformance.documents import specs
from conformance.documents.caches import STANDARDISED
from conformance.documents.chooser import page_bytes

LENGTHS = (4096, 128, 512, 2048, 32768, 1000)
COUNTS = (1, 2, 3, 4, 5, 7, 10, 12, 13, 26)


def deployment(choose):
    """A document that `plan` answers."""
    layers = layer_specs(choose)
    document = choose.beginning()
    document["kv_cache_specs"] = layers
    longest = choose.pick(LENGTHS)
    document["available_memory"] = memory(choose, layers, longest)
    document["model_config"] = {"max_model_len": longest, "num_attention_heads": choose.pick((8, 32))}
    if choose.chance(12):
        document["model_config"]["original_max_model_len"] = -1
    document["scheduler_config"] = {
        "max_num_batched_tokens": choose.pick((8192, 512, 2048, 100)),
        "max_num_seqs": 64,
        "max_concurrent_batches": choose.pick((1, 1, 2, 3)),
        "disable_hybrid_kv_cache_manager": choose.chance(18),
    }
    if choose.chance(10):
        document["num_gpu_blocks_override"] = choose.pick((7, 64, 1000))
    if choose.chance(40):
        document["cache_config"] = {"mamba_cache_mode": choose.pick(("none", "all", "align"))}
    if choose.chance(15):
        ranks = choose.pick(("decode_context_parallel_size", "prefill_context_parallel_size"))
        document["parallel_config"] = {ranks: choose.pick((2, 4, 8))}
    if choose.facts.standardised and choose.chance(50):
        document["kv_cache_layout"] = choose.pick(STANDARDISED[:6])
    return document


def layer_specs(choose):
    """Layer → spec; one to four kinds of layers, in runs or interleaved."""
    make = latent_kinds if choose.chance(18) else kinds
    runs = [(prefix, choose.pick(COUNTS), spec) for prefix, spec in zip("abcdef", make(choose), strict=False)]
    if not choose.chance(35):
        return {f"{prefix}.{i}": dict(spec) for prefix, count, spec in runs for i in range(count)}
    longest = max(count for _, count, _ in runs)
    return {f"x.{i}.{prefix}": dict(spec) for i in range(longest) for prefix, count, spec in runs if i < count}


def kinds(choose):
    """Specs of a model with keys and values, and perhaps states."""
    geometry = specs.Geometry(choose, [])
    classes = specs.PLAIN if choose.chance(85) else specs.PLAIN + specs.RARE
    pool = choose.facts.on(choose.platform, choose.facts.plain)
    for _ in range(choose.number(1, 3)):
        spec = specs.attention(choose, geometry, classes)
        if choose.chance(20):
            spec["num_kv_heads"] *= choose.pick((2, 3))
        if choose.chance(15):
            spec["head_size"] = choose.pick((64, 96, 192))
        if choose.chance(8):
            spec["dtype"] = choose.pick(("float32", "uint8"))
        if choose.chance(20):
            spec["backend"] = choose.pick(pool)
        yield spec
    if choose.chance(30):
        block = choose.pick((geometry.block_size, 4096, 16))
        spec = specs.states(choose, geometry.page, block)
        if choose.chance(50):
            spec.pop("page_size_padded", None)
        yield spec


def latent_kinds(choose):
    """Specs of a model with latent attention: an index beside it, windows, compressed layers."""
    geometry = specs.Geometry(choose, [])
    geometry.block_size = choose.pick((64, 16, 256))
    for _ in range(choose.number(1, 4)):
        yield specs.latent(choose, geometry, choose.pick(specs.LATENT_SIZES))
    if choose.chance(20):
        yield specs.attention(choose, geometry)


def memory(choose, layers, longest):
    """Bytes for each of one to three workers: plenty, just enough or too few."""
    page = max(page_bytes(spec) for spec in layers.values())
    plenty = longest // 16 * 4 + 1000
    blocks = choose.pick((plenty, plenty + 333, plenty * 7, plenty, plenty, plenty, plenty, 300, 50, 3))
    first = page * len(layers) * blocks + choose.pick((0, 1, 12345))
    return [max(0, first - choose.pick((0, page, first // 9)) * worker) for worker in range(choose.pick((1, 1, 2, 3)))]
