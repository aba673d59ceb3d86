"""Write `kvinspect/data/<release>/inputs.json`: what a release reads besides the flags of `vllm serve`.

    python tools/inputs.py OUT_DIR

Asked of the vLLM that this Python imports, as on a machine with a CUDA device: the environment variables that it knows,
the keys of those flags whose value is a JSON object that decides about the cache, and the words that some of them take.
"""

import dataclasses
import json
import pathlib
import sys
import typing

import pretend

OBJECTS = {
    "speculative-config": "SpeculativeConfig",
    "compilation-config": "CompilationConfig",
    "attention-config": "AttentionConfig",
    "kv-transfer-config": "KVTransferConfig",
    "mamba-config": "MambaConfig",
}
"""Flag → the configuration class that its keys are fields of."""


def keys():
    """Flag → the keys that a user may give; fields that the engine fills in by itself are none."""
    import vllm.config

    found = {}
    for flag, name in OBJECTS.items():
        cls = getattr(vllm.config, name, None)
        if cls is not None:
            found[flag] = sorted(field.name for field in dataclasses.fields(cls) if field.init)
    return found


def words():
    """`flag.key` → the words that a key of `--speculative-config` takes, where it takes no others."""
    from vllm.config import SpeculativeConfig

    hints = typing.get_type_hints(SpeculativeConfig, vars(sys.modules[SpeculativeConfig.__module__]))
    found = {}
    for field in dataclasses.fields(SpeculativeConfig):
        taken = list(literals(hints[field.name]))
        if field.init and taken and all(isinstance(word, str) for word in taken):
            found[f"speculative-config.{field.name}"] = taken
    return found


def literals(hint):
    """The words of a type that takes nothing else but None."""
    if typing.get_origin(hint) is typing.Literal:
        for word in typing.get_args(hint):
            yield from literals(word) if typing.get_origin(word) else [word]
    elif typing.get_args(hint):
        for inner in typing.get_args(hint):
            if inner is not type(None):
                yield from literals(inner) if typing.get_origin(inner) else [None]


def main(out_dir):
    pretend.be("cuda", "9.0")
    from vllm import envs

    release = pretend.version()
    lines = [f'{{\n "release": {json.dumps(release)},\n "variables": [']
    lines.append(",\n".join(f"  {json.dumps(name)}" for name in sorted(envs.environment_variables)))
    lines.append(' ],\n "keys": {')
    lines.append(",\n".join(f"  {json.dumps(flag)}: {json.dumps(names)}" for flag, names in sorted(keys().items())))
    lines.append(' },\n "words": {')
    lines.append(",\n".join(f"  {json.dumps(key)}: {json.dumps(taken)}" for key, taken in sorted(words().items())))
    out = pathlib.Path(out_dir, release, "inputs.json")
    out.write_text("\n".join(lines) + "\n }\n}\n", encoding="utf-8")
    print(out, len(envs.environment_variables))


if __name__ == "__main__":
    main(*sys.argv[1:])
