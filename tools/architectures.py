"""Writes `kvinspect/releases/data/<release>/architectures.json`: what a vLLM release's model registry has.

    python tools/architectures.py ASKED.json OUT_DIR

ASKED.json holds, for each architecture, the class that the registry names and what vLLM's own inspection of that class
answered (`_ModelInfo`), and the architectures that were removed or moved to plugins.
"""

import json
import pathlib
import sys

FLAGS = {
    "is_text_generation_model": "text_generation",
    "is_pooling_model": "pooling",
    "supports_multimodal": "multimodal",
    "supports_pp": "pp",
    "is_attention_free": "attention_free",
    "is_hybrid": "hybrid",
    "has_noops": "noops",
    "supports_mamba_prefix_caching": "mamba_prefix_caching",
}


def entry(info):
    found = {"class": info["cls"], "flags": [word for key, word in FLAGS.items() if info.get(key)]}
    if info.get("default_seq_pooling_type", "LAST") != "LAST":
        found["pooling_type"] = info["default_seq_pooling_type"]
    if info.get("attn_type", "decoder") != "decoder":
        found["attn_type"] = info["attn_type"]
    return found


def main():
    asked = json.loads(pathlib.Path(sys.argv[1]).read_text())
    release = sys.argv[3]
    classes = {name: entry(info) for name, info in sorted(asked["archs"].items())}
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in classes.items())
    removed, plugins = json.dumps(asked["previous"]), json.dumps(asked["oot"])
    text = f'{{\n "removed": {removed},\n "plugins": {plugins},\n "classes": {{\n{rows}\n }}\n}}\n'
    out = pathlib.Path(sys.argv[2], release, "architectures.json")
    out.parent.mkdir(exist_ok=True)
    out.write_text(text)


if __name__ == "__main__":
    main()
