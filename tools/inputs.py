"""Write `kvinspect/releases/data/<release>/inputs.json`: what a release reads besides the flags of `vllm serve`.

    python tools/inputs.py OUT_DIR

Asked of the vLLM that this Python imports, as on a machine with a CUDA device: the environment variables that it knows,
and the keys of those flags whose value is a JSON object that decides about the cache.
"""

import dataclasses
import json
import pathlib
import sys

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


def main(out_dir):
    pretend.be("cuda", "9.0")
    from vllm import envs

    release = pretend.version()
    lines = [f'{{\n "release": {json.dumps(release)},\n "variables": [']
    lines.append(",\n".join(f"  {json.dumps(name)}" for name in sorted(envs.environment_variables)))
    lines.append(' ],\n "keys": {')
    lines.append(",\n".join(f"  {json.dumps(flag)}: {json.dumps(names)}" for flag, names in sorted(keys().items())))
    out = pathlib.Path(out_dir, release, "inputs.json")
    out.write_text("\n".join(lines) + "\n }\n}\n", encoding="utf-8")
    print(out, len(envs.environment_variables))


if __name__ == "__main__":
    main(*sys.argv[1:])
