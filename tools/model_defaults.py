"""Writes `kvinspect/models/defaults.json`: what a config.json leaves out, by model type.

Facts are read off the configuration classes of transformers and of the vLLM that is first on PYTHONPATH; a value that
follows from others (`head_dim` from the hidden size) is left to the rules. Run it in an environment with both:

    PYTHONPATH=VLLM_FOLDER python tools/model_defaults.py kvinspect/models/defaults.json [OTHER.json ...]

OTHER files were written the same way with other versions of both; model types that they have alone are taken over.
"""

import contextlib
import io
import json
import pathlib
import re
import sys

WANTED = re.compile(
    r"layer|head|hidden_size|kv_|window|position|seq_len|max_len|n_embd|n_ctx|rope_param|rope_scal|rope_theta|"
    r"attn_type|attn_layer|attention_chunk|mamba|ssm|conv|linear_|index_|lora_rank|_dim$|types|pattern|interval|period|"
    r"offset|chunk|state_|expand|d_inner|d_model|block|compress|is_encoder|is_causal|is_decoder|causal|hybrid|mtp|nextn|"
    r"sliding|multi_query|new_decoder|num_experts|n_routed|^n_groups|^dtype|canvas|bidirectional|time_step_rank|alibi|n_positions|max_target|"
    r"max_source|cycles|conv_L|rswa|shared|d_state|d_conv|ngroups|group"
)
UNWANTED = re.compile(
    r"dropout|token|bias|norm|init|prob|_act|loss|vision|image|audio|mask|label|beam|return|output_|topk_|vocab|eps|_std|"
    r"layerdrop|attn_implementation|quant|encoder_ffn|decoder_ffn|intermediate|video|patch|mlp|_path|timm|aux|detr"
)
NEVER = ("chunk_size_feed_forward", "ffn_hidden_size")
ARCHITECTURE_PARTS = (
    "text_config",
    "llm_config",
    "language_config",
    "thinker_config",
    "decoder",
    "vlm_config",
    "decoder_config",
)


def plain(value):
    if value is None or isinstance(value, (bool, int, str)):
        return True
    if isinstance(value, float):
        return value == value and abs(value) != float("inf")
    if isinstance(value, (list, tuple)):
        return len(value) <= 128 and all(map(plain, value))
    return isinstance(value, dict) and len(value) <= 12 and all(map(plain, value.values()))


def made(cls, **changes):
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            return cls(**changes)
        except Exception:
            return None


def fields(config):
    return {k: v for k, v in vars(config).items() if not k.startswith("_")}


def followers(cls, base):
    """(fields that follow from others, field → the one whose value it takes) by changing one number at a time."""
    follow, copies = set(), {}
    mine = fields(base)
    for name, value in mine.items():
        if type(value) is not int or value < 1 or not WANTED.search(name):
            continue
        for change in (6 * value, value + 6, value + 1):
            other = made(cls, **{name: change})
            if other is None:
                continue
            theirs = fields(other)
            for k, v in mine.items():
                if k != name and plain(v) and k in theirs and theirs[k] != v:
                    follow.add(k)
                    if theirs[k] == change and v == value:
                        copies[k] = name
            break
    return follow, {k: v for k, v in copies.items() if k in follow}


def entry_of(cls, classes):
    """What is known of a class; classes of nested configurations that have no name yet get one in `classes`."""
    base = made(cls)
    if base is None:
        return None
    follow, copies = followers(cls, base)
    values, parts, filled = {}, {}, {}
    for name, value in fields(base).items():
        if hasattr(value, "to_dict") and name in ARCHITECTURE_PARTS:
            parts[name] = value.model_type or f"{cls.model_type}.{name}"
            classes.setdefault(parts[name], type(value))
            filled[name] = own_values(cls, name, value)
        elif (name not in follow or name == "rope_parameters") and wanted(name) and plain(value) and value is not None:
            values[name] = value
    names = {k: v for k, v in getattr(cls, "attribute_map", {}).items() if wanted(k)}
    copies = {k: v for k, v in copies.items() if wanted(k)}
    filled = {name: found for name, found in filled.items() if found}
    named = (("values", values), ("names", names), ("parts", parts), ("filled", filled), ("copies", copies))
    return {key: value for key, value in named if value}


def own_values(cls, name, value):
    """What a class puts into a nested configuration that says little, where the nested class alone would not."""
    alone = made(type(value))
    terse = made(cls, **{name: {"model_type": value.model_type}})
    inner = getattr(terse, name, None)
    if alone is None or not hasattr(inner, "to_dict"):
        return {}
    mine, theirs = fields(inner), fields(alone)
    return {k: v for k, v in mine.items() if wanted(k) and plain(v) and v is not None and theirs.get(k) != v}


def wanted(name):
    return WANTED.search(name) and not UNWANTED.search(name) and name not in NEVER


def worth(name, entry):
    """Whether a model type is one of a language model, or holds one."""
    seen = ("vision", "vit", "ocr_det", "doclayout", "detr", "clip_", "audio_encoder", "d_fine", "resnet", "regnet")
    text = "num_attention_heads" in json.dumps(entry) and not any(word in name for word in seen)
    return text or "parts" in entry or "causal" in entry


def main():
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_MAPPING_NAMES
    from vllm.transformers_utils.config import _CONFIG_REGISTRY

    classes = {}
    for model_type in list(CONFIG_MAPPING.keys()):
        with contextlib.suppress(Exception):
            classes[model_type] = CONFIG_MAPPING[model_type]
    for name in dir(transformers):
        if name.endswith("Config") and not name.startswith("_"):
            with contextlib.suppress(Exception):
                cls = getattr(transformers, name)
                if getattr(cls, "model_type", ""):
                    classes.setdefault(cls.model_type, cls)
    import vllm.transformers_utils.configs as own

    for name in own.__all__:
        with contextlib.suppress(Exception):
            cls = getattr(own, name)
            if getattr(cls, "model_type", ""):
                classes.setdefault(cls.model_type, cls)
    for model_type in _CONFIG_REGISTRY:
        with contextlib.suppress(Exception):
            classes[model_type] = _CONFIG_REGISTRY[model_type]
    found = {}
    todo = sorted(classes)
    while todo:
        model_type = todo.pop(0)
        before = set(classes)
        entry = entry_of(classes[model_type], classes)
        todo += sorted(set(classes) - before)
        if entry is None:
            print("no default instance of", model_type, file=sys.stderr)
            entry = {}
        for key, mapping in (("causal", MODEL_FOR_CAUSAL_LM_MAPPING_NAMES), ("base", MODEL_MAPPING_NAMES)):
            name = mapping.get(model_type)
            if isinstance(name, (list, tuple)):
                name = name[0]
            if name:
                entry[key] = name
        found[model_type] = entry
    for other in sys.argv[2:]:
        found = {**json.loads(pathlib.Path(other).read_text(encoding="utf-8")), **found}
    nested = {part for entry in found.values() for part in entry.get("parts", {}).values()}
    found = {name: entry for name, entry in sorted(found.items()) if name in nested or worth(name, entry)}
    rows = [f"{json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in found.items()]
    pathlib.Path(sys.argv[1]).write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
