"""Bad config.json files and flags, made of what model types say by default: what `plan` and `specs` must survive."""

import copy
import json
import math
import pathlib

HOSTILE = [
    None, True, False, "", "x", "true", "7", "full_attention", "\u202e", -1, 0, 1, 2, 3, 7, 1.5, 4.0, -0.0, math.nan, math.inf, 10_000,
    10_001, 2**31 - 1, 2**31, 2**62, 2**63, 10**30, 1e300, [], [0], [1], [None], ["x"], [[]], [-1] * 3, ["full_attention"],
    ["sliding_attention"] * 3, [{}], {}, {"a": {}}, {"rope_type": {}}, {"rope_type": "yarn", "factor": 0}, {"model_type": "umm"},
    {"model_type": "mamba"}, {"model_type": "nemotron_h"}, {"model_type": 3}, {"quant_method": []}, {"quant_method": "modelopt"},
    ["attention"] * 10_000,
]  # fmt: skip
FLAGS = [
    ("--speculative-config", '{"method": "mtp", "num_speculative_tokens": 2}'), ("-tp", "2"), ("-tp", "8"), ("-tp", "3"),
    ("-pp", "2"), ("-pp", "4096"), ("--kv-cache-dtype", "fp8"), ("--kv-cache-dtype", "turboquant_k8v4"), ("--block-size", "64"),
    ("--block-size", "1"), ("--max-model-len", "4096"), ("--max-model-len", "auto"), ("--max-model-len", "1"),
    ("--attention-backend", "TRITON_ATTN"), ("--disable-sliding-window",), ("--enable-prefix-caching",), ("--language-model-only",),
    ("--mamba-cache-mode", "align"), ("--mamba-cache-mode", "all"), ("--mamba-block-size", "8"), ("--dtype", "float16"), ("--platform", "rocm"),
    ("--platform", "cpu"), ("--device-capability", "10.0"), ("--device-capability", "7.5"), ("--runner", "pooling"), ("--dcp", "2"),
    ("--kv-cache-dtype-skip-layers", "sliding_window"), ("--hf-overrides", '{"num_hidden_layers": 3}'),
    ("--hf-overrides", '{"text_config": {"model_type": "umm"}}'), ("--max-num-batched-tokens", "1"), ("-f", "json"), ("-f", "document"),
]  # fmt: skip
ENGINES = ("0.25", "0.27", "0.28", "0.29", "0.30", "0.33")


def seeds(root: pathlib.Path) -> list[dict]:
    """A configuration of each model type with its defaults written out, and one for each known architecture."""
    known = json.loads((root / "kvinspect/models/defaults.json").read_text(encoding="utf-8"))
    classes = json.loads((root / "kvinspect/data/0.33.0/architectures.json").read_text(encoding="utf-8"))["classes"]
    files = sorted((root / "tests").glob("models/configs/*.json")) + sorted(
        (root / "examples/models").rglob("config.json")
    )
    found = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    for name, entry in known.items():
        parts = {part: {"model_type": kind} for part, kind in entry.get("parts", {}).items()}
        found += [
            {"model_type": name, **entry.get("values", {}), **parts, "architectures": [way]}
            for way in {entry.get("causal"), entry.get("base")} - {None}
        ]
    plain = {"num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "num_key_value_heads": 4}
    return found + [{"architectures": [name], **plain} for name in classes]


def mutated(configs, chance):
    """A configuration with up to four hostile values in it, under keys of its own, of nested ones and of other types."""
    config = json.loads(json.dumps(chance.choice(configs)))
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        parts = [config, *(value for value in config.values() if isinstance(value, dict))]
        part = chance.choice(parts)
        other = chance.choice(configs)
        key = chance.choice(list(part or other)) if chance.random() < 0.8 else chance.choice(list(other))
        way = chance.random()
        if way < 0.7:
            part[key] = copy.deepcopy(chance.choice(HOSTILE))
        elif way < 0.8:
            part.pop(key, None)
        elif isinstance(part.get(key), int):
            part[key] = chance.choice((-1, 0, 1, 2, 3, part[key] + 1, part[key] // 2, -part[key], float(part[key])))
        else:
            part[key] = copy.deepcopy(other[chance.choice(list(other))])
    return json.dumps(config).encode()


def call(path, chance):
    """The words of a call that plans a model's file."""
    words = ["plan", str(path), "--engine", chance.choice(ENGINES), "--available-kv-cache-memory", "40GiB"]
    flags = chance.sample(FLAGS, chance.choice((0, 0, 1, 1, 2, 3)))
    return tuple(words + [word for flag in flags for word in flag])
