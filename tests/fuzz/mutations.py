"""Bad files made of good ones: what the command must survive."""

import json
import pathlib
import random

import yaml

HUGE = ["9" * 400, "-1", "0", "1e309", ".nan", ".inf", str(2**63), str(-(2**63)), "0x7fffffffffffffff", "1_0", "1:30"]
TYPES = [None, True, -1, 0, 1.5, "", "x", "\u202e", [], {}, [[]], {"a": {}}, [None], "{0..9}", "a" * 5000]
ENDS = ["&a [*a, *a]", "*nowhere", "? [", "<<: *x", "!!python/object:os.system x", "--- ---", "\t", "%YAML 9.9", "'"]


def mutated(text: str, chance: random.Random) -> bytes:
    """One bad file."""
    return chance.choice(WAYS)(text, chance)


def truncated(text, chance):
    data = text.encode()
    return data[: chance.randrange(len(data))]


def bytes_flipped(text, chance):
    data = bytearray(text.encode())
    for _ in range(chance.choice((1, 2, 8, 64))):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def lines_shuffled(text, chance):
    lines = text.splitlines(keepends=True)
    first, second = (chance.randrange(len(lines)) for _ in range(2))
    how = chance.randrange(4)
    if how == 0:
        lines[first], lines[second] = lines[second], lines[first]
    elif how == 1:
        lines.insert(first, lines[second])
    elif how == 2:
        del lines[first]
    else:
        lines[first] = " " * chance.randrange(9) + lines[first]
    return "".join(lines).encode()


def number_replaced(text, chance):
    places = [at for at, char in enumerate(text) if char.isdigit() and not text[at - 1].isdigit()]
    at = chance.choice(places)
    end = at
    while end < len(text) and text[end].isdigit():
        end += 1
    return (text[:at] + chance.choice(HUGE) + text[end:]).encode()


def value_swapped(text, chance):
    """The same document with another type somewhere, as JSON or YAML."""
    value = yaml.load(text, Loader=yaml.CSafeLoader)
    parent, key = chance.choice(list(_places(value)))
    parent[key] = chance.choice(TYPES)
    return _dumped(value, chance)


def values_exchanged(text, chance):
    value = yaml.load(text, Loader=yaml.CSafeLoader)
    places = list(_places(value))
    (one, key), (other, name) = chance.choice(places), chance.choice(places)
    one[key] = json.loads(json.dumps(other[name]))
    return _dumped(value, chance)


def key_changed(text, chance):
    value = yaml.load(text, Loader=yaml.CSafeLoader)
    parent, key = chance.choice([place for place in _places(value) if isinstance(place[0], dict)])
    parent[chance.choice((key[::-1], key + "s", "", "__class__", "\n"))] = parent.pop(key)
    return _dumped(value, chance)


def deeply_nested(text, chance):
    depth = chance.choice((10, 100, 2000, 50_000))
    opening, closing = chance.choice((("[", "]"), ('{"a":', "}")))
    line = chance.choice(text.splitlines())
    return text.replace(line, f"deep: {opening * depth}1{closing * depth}", 1).encode()


def aliases_added(text, chance):
    levels = chance.choice((2, 9, 40))
    bomb = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, levels)]
    return ("\n".join(bomb) + "\n" + text).encode()


def syntax_added(text, chance):
    lines = text.splitlines()
    lines.insert(chance.randrange(len(lines)), chance.choice(ENDS))
    return "\n".join(lines).encode()


def encoding_changed(text, chance):
    encoding = chance.choice(("utf-16", "utf-32", "utf-8-sig", "latin-1"))
    return (text + "# é\u0085" * chance.randrange(2)).encode(encoding, "replace")


def repeated(text, chance):
    return (text * chance.choice((2, 50))).encode()


WAYS = [
    truncated,
    bytes_flipped,
    lines_shuffled,
    number_replaced,
    number_replaced,
    value_swapped,
    value_swapped,
    values_exchanged,
    values_exchanged,
    key_changed,
    deeply_nested,
    aliases_added,
    syntax_added,
    encoding_changed,
    repeated,
]


def _places(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield value, key
            yield from _places(inner)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield value, at
            yield from _places(inner)


def _dumped(value, chance):
    if chance.random() < 0.5:
        return json.dumps(value, indent=chance.choice((None, 2))).encode()
    return yaml.safe_dump(value, sort_keys=False).encode()


PLANNED = """engine: "0.33"
kv_cache_specs:
  "model.layers.{0..9}.attn": {kind: full_attention, block_size: 16, num_kv_heads: 8, head_size: 128, dtype: bfloat16, backend: FLASH_ATTN}
  "model.layers.{10..29}.attn": {kind: sliding_window, block_size: 16, num_kv_heads: 8, head_size: 128, dtype: bfloat16, sliding_window: 1024}
  "model.layers.{30..33}.mixer": {kind: mamba, block_size: 528, shapes: [[3, 8192], [32, 128, 128]], dtypes: [bfloat16, float32], mamba_type: mamba2}
available_memory: [12884901888, 11811160064]
model_config: {max_model_len: 4096}
"""


def documents(root: pathlib.Path) -> list[str]:
    """Inspection documents."""
    return [path.read_text(encoding="utf-8") for path in sorted((root / "configs").iterdir())]


def seeds(root: pathlib.Path) -> list[str]:
    """The texts that bad files are made of: documents, a planning one among them, and flags in a file."""
    served = sorted((root / "tests" / "cases" / "serve_configs").glob("*.yaml"))
    return [*documents(root), PLANNED, PLANNED, *(path.read_text(encoding="utf-8") for path in served)]
