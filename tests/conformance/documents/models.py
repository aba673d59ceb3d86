"""Models for `specs`: configurations of real models with other numbers in them, and engine arguments."""

import json
from functools import cache

import golden

COUNTS = {
    "num_hidden_layers": (2, 3, 4, 7),
    "num_key_value_heads": (1, 2, 4, 8),
    "sliding_window": (128, 1000, 4096, None),
    "head_dim": (64, 128, 96, 256),
    "max_position_embeddings": (4096, 2048, 131072),
    "max_window_layers": (1, 2, 28),
    "sliding_window_pattern": (2, 6),
    "kv_lora_rank": (512, 256),
    "num_kv_shared_layers": (0, 1, 2),
    "attention_chunk_size": (8192, 128),
}
"""Numbers of a configuration that are changed where it has them → values."""

CACHE_DTYPES = ("auto", "fp8", "fp8_e5m2", "bfloat16")


def model(choose):
    """A model's configuration, a device and engine arguments."""
    config = json.loads(json.dumps(choose.pick(configurations(choose.facts.version))))
    text = config.get("text_config", config)
    count = text.get("num_hidden_layers")
    if isinstance(count, int):
        cut_layers(text, choose.pick(COUNTS["num_hidden_layers"]))
    for name, values in COUNTS.items():
        if text.get(name) is not None and name != "num_hidden_layers" and choose.chance(15):
            text[name] = choose.pick(values)
    if isinstance(text.get("layer_types"), list) and choose.chance(15):
        text["layer_types"].reverse()
    return {
        "engine": choose.facts.version,
        "platform": "cuda",
        "device_capability": choose.pick(("9.0", "10.0", "8.0", "8.9", "12.0")),
        "engine_args": arguments(choose),
        "config": config,
        "available_memory": choose.pick((40_000_000_000, 1_000_000_000, 50_000_000)),
    }


def arguments(choose):
    """Engine arguments by name, few at a time."""
    found = {}
    if choose.chance(40):
        found["tensor_parallel_size"] = choose.pick((2, 4, 8))
    if choose.chance(30):
        found["kv_cache_dtype"] = choose.pick(CACHE_DTYPES)
    if choose.chance(20):
        found["block_size"] = choose.pick((16, 32, 64, 128))
    if choose.chance(30):
        found["max_model_len"] = choose.pick((1024, 2048, 4096))
    if choose.chance(10):
        found["enable_prefix_caching"] = choose.pick((True, False))
    if choose.chance(10):
        found["disable_hybrid_kv_cache_manager"] = True
    if choose.chance(10):
        found["max_num_seqs"] = choose.pick((16, 1024))
    return found


def cut_layers(text, count):
    """Fewer layers, and lists that have an entry for each layer cut to as many."""
    before, ahead = text["num_hidden_layers"], text.get("num_nextn_predict_layers") or 0
    text["num_hidden_layers"] = min(count, before)
    for name, value in text.items():
        if isinstance(value, list) and before <= len(value) <= before + ahead:
            text[name] = value[: text["num_hidden_layers"]]


BY_TRANSFORMERS = {
    "allenai__Olmo-3-7B-Instruct": "0.33.0",
    "ibm-granite__granite-4.0-h-small": "0.33.0",
    "meituan-longcat__LongCat-Flash-Chat": "0.33.0",
    "shrunk__ipex__codegen": None,
    "tiny__ditch__granitemoehybrid": "0.33.0",
}
"""Models that one Transformers reads otherwise than another, or not at all → the first release that is asked about them.

Releases before 0.33 take any later Transformers. Recorded answers about CodeGen are those of a later one than 0.33 takes.
"""


@cache
def configurations(release):
    """The configurations that a release is asked about, in the order of their names."""
    left_out = {name for name, first in BY_TRANSFORMERS.items() if first is None or _version(release) < _version(first)}
    paths = sorted(path for path in golden.models().glob("*.json") if path.stem not in left_out)
    return tuple(json.loads(path.read_text(encoding="utf-8")) for path in paths)


def _version(release):
    return tuple(map(int, release.split(".")))
