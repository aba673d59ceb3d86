"""Write `kvinspect/data/<release>/architectures.json`: what a vLLM release's model registry has.

    python tools/architectures.py OUT_DIR

Asked of the vLLM that this Python imports, as on a machine with a CUDA device: for each architecture, the class that
the registry names and what vLLM's own inspection of that class answers (`_ModelInfo`), and the architectures that were
removed or moved to plugins. Ends with 1 where a class cannot be imported; nothing is written then.
"""

import json
import pathlib
import sys

import pretend

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


def entry(info, cls):
    found = {"class": cls, "flags": [word for key, word in FLAGS.items() if getattr(info, key, False)]}
    if info.default_seq_pooling_type != "LAST":
        found["pooling_type"] = info.default_seq_pooling_type
    if info.attn_type != "decoder":
        found["attn_type"] = info.attn_type
    return found


def classes(registry):
    """Architecture → its entry, and architecture → why its class cannot be imported."""
    found, failed = {}, {}
    for name, model in sorted(registry.ModelRegistry.models.items()):
        try:
            cls = pretend.load(model.load_model_cls)
            found[name] = entry(registry._ModelInfo.from_model_cls(cls), model.class_name)
        except Exception as error:  # whatever a module does when it is imported
            failed[name] = f"{type(error).__name__}: {error}"
    return found, failed


def main(out_dir):
    pretend.be("cuda", "9.0")
    from vllm.model_executor.models import registry

    found, failed = classes(registry)
    for name, why in failed.items():
        print(f"{name}: {why[:200]}", file=sys.stderr)
    if failed:
        return 1
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    removed = json.dumps(registry._PREVIOUSLY_SUPPORTED_MODELS)
    plugins = json.dumps(list(registry._OOT_SUPPORTED_MODELS))
    text = f'{{\n "removed": {removed},\n "plugins": {plugins},\n "classes": {{\n{rows}\n }}\n}}\n'
    out = pathlib.Path(out_dir, pretend.version(), "architectures.json")
    out.parent.mkdir(exist_ok=True)
    out.write_text(text, encoding="utf-8")
    print(out, len(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
