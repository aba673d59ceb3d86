"""Models for `specs`: configurations of real models with other numbers in them, and engine arguments."""

import json

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
    config = json.loads(json.dumps(choose.pick(configurations())))
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
    before = text["num_hidden_layers"]
    text["num_hidden_layers"] = min(count, before)
    for name, value in text.items():
        if isinstance(value, list) and len(value) == before:
            text[name] = value[: text["num_hidden_layers"]]


def configurations():
    """The configurations beside the checkout, in the order of their names."""
    paths = sorted(golden.models().glob("*.json"))
    return tuple(json.loads(path.read_text(encoding="utf-8")) for path in paths)
