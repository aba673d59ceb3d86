"""Write `kvinspect/data/<release>/runners.json`: which model runner each release picks by itself.

    python tools/runners.py model-runner.json kvinspect/data

`model-runner.json` holds the answers of the releases' own `VllmConfig.use_v2_model_runner` for made-up configurations.
A feature in it is a phrase; here it becomes a condition over a document's keys.
"""

import json
import pathlib
import sys

SHORT = {
    "pass_config.enable_sp": "compilation_config.pass_config.enable_sp",
    "tensor_parallel_size": "parallel_config.tensor_parallel_size",
    "pipeline_parallel_size": "parallel_config.pipeline_parallel_size",
    "prefill_context_parallel_size": "parallel_config.prefill_context_parallel_size",
    "distributed_executor_backend": "parallel_config.distributed_executor_backend",
    "enable_dbo": "parallel_config.enable_dbo",
    "enable_elastic_ep": "parallel_config.enable_elastic_ep",
    "enable_return_routed_experts": "model_config.enable_return_routed_experts",
    "enable_prompt_embeds": "model_config.enable_prompt_embeds",
    "logprobs_mode": "model_config.logprobs_mode",
    "kv_sharing_fast_prefill": "cache_config.kv_sharing_fast_prefill",
    "mamba_cache_mode": "cache_config.mamba_cache_mode",
}
WHOLE = {
    "logits_processors": {"model_config.logits_processors": "set"},
    "ec_transfer_config": {"ec_transfer_config": "set"},
    "LoRA": {"lora_config": "set"},
    "parallel_drafting": {
        # The engine asks so of every draft that does not draft all its tokens at once by nature.
        "speculative_config.method": ["eagle", "eagle3", "mtp", "draft_model"],
        "speculative_config.parallel_drafting": True,
    },
    "draft with sliding and full layers": {"draft_mixes_windows": True},
    "DFlash2DraftModel": {"draft_is_dflash2": True},
}


def condition(phrase):
    """{key of a document: wanted value} of a phrase such as `speculative_config.method=eagle, parallel_drafting`."""
    out = {}
    for part in phrase.split(", "):
        if part in WHOLE:
            out |= WHOLE[part]
            continue
        name, sign, value = next((part.partition(s) for s in ("=", ">") if s in part), (part, "", ""))
        wanted = f">{value}" if sign == ">" else value if sign else True
        out[SHORT.get(name, name)] = wanted
    return out


def features(phrases):
    return None if phrases is None else [{"feature": phrase, "if": condition(phrase)} for phrase in phrases]


def entry(version, row):
    """The row of one release."""
    return {
        "release": version,
        "default": row["default"],
        "diffusion_first": row["without_triton"]["diffusion"] == "v2",
        "v2_architectures": row["default_v2_architectures"],
        "hybrids_of_v2_architectures": row["hybrids_of_these_architectures"],
        "v1_architectures": row["default_v1_architectures"],
        **{key: features(row[key]) for key in ("forces_v2", "falls_back_to_v1", "refused_with_v2", "refused_with_v1")},
    }


def text(row):
    """JSON with one line a feature, so that two releases can be compared by eye."""
    lines = []
    for key, value in row.items():
        if isinstance(value, list) and value:
            inner = ",\n".join(f"  {json.dumps(feature)}" for feature in value)
            lines.append(f" {json.dumps(key)}: [\n{inner}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(facts_path, out_dir):
    facts = json.loads(pathlib.Path(facts_path).read_text(encoding="utf-8"))
    for version, row in facts["engines"].items():
        out = pathlib.Path(out_dir, version, "runners.json")
        out.parent.mkdir(exist_ok=True)
        out.write_text(text(entry(version, row)), encoding="utf-8")
        print(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
