"""Write kvinspect/bundled/models.tsv: facts of public config.json files, with where each is from.

    python tools/bundled_models.py --configs FOLDER_OF_AICONFIGURATOR --dims litgpt/config.py

Sources are the recorded files of tests/golden/models.tar.xz, the `model_configs` folder of an unpacked
`aiconfigurator-core` wheel, and the table of sizes in `litgpt/config.py`, whose rows are turned into the keys of a
config.json. What decides neither about the cache nor about the weights is left out.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).parent.parent
OUT = ROOT / "kvinspect" / "bundled" / "models.tsv"
PUBLISHED = "published"
KINDS = (PUBLISHED, "trimmed", "re-serialized")
LEFT_OUT = re.compile(
    r".*_token_(id|index)|.*token_id|id2label|label2id|auto_map|.*dropout.*|.*_pdrop|initializer_.*|init_.*|use_cache"
    r"|transformers_version|_name_or_path|task_specific_params|summary_.*|aux_loss.*|router_aux.*|output_router_logits"
    r"|seq_aux|talker_config|token2wav_config|time_step_.*|rope_theta|.*_act|.*activation.*|hidden_act|scoring_func"
    r"|topk_method|norm_topk_prob|routed_scaling_factor|.*_multiplier|ignore_index|image_grid_pinpoints|use_bfloat16"
    r"|output_attentions|output_hidden_states|return_dict|torchscript|pruned_heads|problem_type|top_[kp]|temperature"
    r"|.*beam.*|.*penalty|do_sample|chunk_size_feed_forward|finetuning_task|tokenizer_class|prefix|suppress_tokens"
    r"|.*_size_ngram|bad_words_ids|begin_suppress_tokens|min_length|max_length|cross_attention_hidden_size"
    r"|add_cross_attention|tie_encoder_decoder|tf_legacy_loss|typical_p|diversity_.*|gradient_checkpointing"
    r"|video_placeholder|image_placeholder|swiglu_limits?.*|partial_rotary_factors|block_configs_"
)
NAMES_LEFT_OUT = re.compile(r"tiny__|shrunk__|inference-sim__|.*\.(sophgo|expanded|ktransformers)\.json|.*speculator")
RENAMED = {
    "openai-community__gpt2-xl-1p5B": "openai-community/gpt2-xl",
    "meta-llama__Meta-Llama-3": "",
    "microsoft__Phi-3": "",
    "openai-community__gpt2": "",
    "mistralai__Mistral-7B-Instruct-v0.2": "",
    "Qwen__Qwen2.5-Omni": "Qwen/Qwen2.5-Omni-7B",
    "BAAI__bge-large": "BAAI/bge-large-en-v1.5",
    "stabilityai__stablelm-3b": "",
    "ibm-granite__granite-4-8b-dense": "",
    "Skywork__Skywork-Reward-Llama": "Skywork/Skywork-Reward-Llama-3.1-8B",
}
UNKNOWN = re.compile(r"MiniMax-M3|Step-3\.7")
"""Models whose layers kvinspect does not know."""

SAME = {
    "deepseek-ai/DeepSeek-R1": ("deepseek-ai/DeepSeek-R1-0528", "deepseek-ai/DeepSeek-R1-Zero"),
    "deepseek-ai/DeepSeek-V3": ("deepseek-ai/DeepSeek-V3-0324", "deepseek-ai/DeepSeek-V3-Base"),
    "deepseek-ai/DeepSeek-V3.1": ("deepseek-ai/DeepSeek-V3.1-Base", "deepseek-ai/DeepSeek-V3.1-Terminus"),
    "deepseek-ai/DeepSeek-V2-Lite": ("deepseek-ai/DeepSeek-V2-Lite-Chat",),
    "Qwen/Qwen2.5-14B": ("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B",),
    "Qwen/Qwen2.5-32B": ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",),
    "Qwen/Qwen3-VL-2B-Instruct": ("Qwen/Qwen3-VL-2B-Thinking",),
    "Qwen/Qwen3-VL-4B-Instruct": ("Qwen/Qwen3-VL-4B-Thinking",),
    "Qwen/Qwen3-VL-8B-Instruct": ("Qwen/Qwen3-VL-8B-Thinking",),
    "Qwen/Qwen3-VL-30B-A3B-Instruct": ("Qwen/Qwen3-VL-30B-A3B-Thinking",),
    "Qwen/Qwen3-VL-235B-A22B-Instruct": ("Qwen/Qwen3-VL-235B-A22B-Thinking",),
    "meta-llama/Meta-Llama-3.1-8B": ("meta-llama/Llama-3.1-8B", "NousResearch/Meta-Llama-3.1-8B"),
    "meta-llama/Meta-Llama-3.1-70B": ("meta-llama/Llama-3.1-70B", "meta-llama/Llama-3.1-70B-Instruct"),
    "meta-llama/Meta-Llama-3.1-405B": ("meta-llama/Llama-3.1-405B", "meta-llama/Llama-3.1-405B-Instruct"),
    "allenai/Olmo-3-7B-Instruct": ("allenai/Olmo-3-7B-Think",),
    "mistralai/Mistral-Small-24B-2501": (
        "mistralai/Mistral-Small-24B-Base-2501", "mistralai/Mistral-Small-24B-Instruct-2501",
    ),
    "google/gemma-3-4b-it": ("google/gemma-3-4b-pt",),
    "google/gemma-3-12b-it": ("google/gemma-3-12b-pt",),
    "google/gemma-3-27b-it": ("google/gemma-3-27b-pt",),
    "google/gemma-3-1b-it": ("google/gemma-3-1b-pt",),
}  # fmt: skip
"""Models whose config.json has the same shapes as another one's."""


class Row(NamedTuple):
    """A model's name, where its facts are from, and the facts."""

    name: str
    source: str
    commit: str
    config: dict[str, Any]


def recorded() -> Iterator[Row]:
    """The published files of the golden archive."""
    with tarfile.open(ROOT / "tests" / "golden" / "models.tar.xz") as archive:
        texts = {
            name: archive.extractfile(name).read().decode() for name in archive.getnames() if "hf_configs/" in name
        }
    table = csv.DictReader(io.StringIO(texts.pop("hf_configs/SOURCES.tsv")), delimiter="\t")
    known = {row["file"]: row for row in table}
    for path, text in texts.items():
        file = path.rpartition("/")[2]
        row = known.get(file, {"kind": PUBLISHED, "github_repo": "a public copy", "commit": "-"})
        name = RENAMED.get(file.removesuffix(".json"), file.removesuffix(".json").replace("__", "/", 1))
        if file.endswith(".json") and row["kind"] in KINDS and not NAMES_LEFT_OUT.match(file) and name:
            yield Row(name, row["github_repo"], row["commit"], json.loads(text))


def unpacked(folder: pathlib.Path, version: str) -> Iterator[Row]:
    """The files of an unpacked wheel, what ModelOpt wrote beside one put into it."""
    for file in sorted(folder.rglob("*--*_config.json")):
        if file.name.endswith("_hf_quant_config.json") or UNKNOWN.search(file.name):
            continue
        stem = file.name.removesuffix("_config.json")
        config = json.loads(file.read_text(encoding="utf-8"))
        beside = file.with_name(f"{stem}_hf_quant_config.json")
        if "quantization_config" not in config and beside.exists():
            config["quantization_config"] = json.loads(beside.read_text(encoding="utf-8"))
        yield Row(stem.replace("--", "/", 1), "aiconfigurator-core", version, config)


LLAMA, QWEN2, QWEN3 = "LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"
TIED = re.compile(
    r"Llama-3\.2|[Gg]emma|SmolLM2|OLMo-1B|Qwen2\.5-(Coder-|Math-)?(0\.5|1\.5|3)B|Qwen3-(0\.6|1\.7|4)B|Phi-4-mini"
    r"|falcon-(7|40|180)"
)


def sized(file: pathlib.Path, version: str) -> Iterator[Row]:
    """What a table of sizes says of plain models, as keys of a config.json."""
    spec = importlib.util.spec_from_file_location("sizes", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["sizes"] = module
    spec.loader.exec_module(module)
    for written in module.configs:
        sizes = module.Config(**written)
        org, name = written["hf_config"].get("org"), written["hf_config"].get("name")
        config = _config(str(org), str(name), sizes)
        if config:
            yield Row(f"{org}/{name}", "litgpt", version, config)


def _config(org: str, name: str, sizes: Any) -> dict[str, Any] | None:
    architecture, kind = _class(org, name, sizes)
    if not architecture:
        return None
    config = {
        "architectures": [architecture],
        "model_type": kind,
        "hidden_size": sizes.n_embd,
        "intermediate_size": sizes.intermediate_size,
        "num_hidden_layers": sizes.n_layer,
        "num_attention_heads": sizes.n_head,
        "num_key_value_heads": sizes.n_query_groups,
        "head_dim": sizes.head_size,
        "max_position_embeddings": _length(name, sizes),
        "vocab_size": sizes.padded_vocab_size
        if sizes.padded_vocab_size - sizes.vocab_size < 1024
        else sizes.vocab_size,
        "tie_word_embeddings": bool(TIED.search(name)),
        "torch_dtype": "float16" if "Llama-2" in name or "pythia" in name else "bfloat16",
    }
    if kind in ("qwen2", "qwen3", "qwen3_moe"):
        config.update({"use_sliding_window": False, "sliding_window": None})
    if sizes.n_expert:
        _experts(config, kind, sizes)
    if kind in ("gemma2",):
        config.update(
            {"sliding_window": sizes.sliding_window_size, "query_pre_attn_scalar": sizes.attention_scores_scalar}
        )
    if kind == "mistral" and "v0.1" in name and "Mistral-7B" in name:
        config["sliding_window"] = 4096
    if kind == "phi3" and "mini-4k" in name:
        config["sliding_window"] = 2047
    if sizes.rope_adjustments and kind == "llama":
        config["rope_scaling"] = _llama3(sizes.rope_adjustments)
    return config


def _experts(config: dict[str, Any], kind: str, sizes: Any) -> None:
    if kind == "mixtral":
        config.update({"num_local_experts": sizes.n_expert, "num_experts_per_tok": sizes.n_expert_per_token})
    else:
        config.update(
            {
                "num_experts": sizes.n_expert,
                "num_experts_per_tok": sizes.n_expert_per_token,
                "moe_intermediate_size": sizes.moe_intermediate_size,
                "decoder_sparse_step": 1,
                "mlp_only_layers": [],
            }
        )


def _llama3(written: dict[str, Any]) -> dict[str, Any]:
    return {
        "rope_type": "llama3",
        "factor": written["factor"],
        "low_freq_factor": written["low_freq_factor"],
        "high_freq_factor": written["high_freq_factor"],
        "original_max_position_embeddings": written["original_max_seq_len"],
    }


def _class(org: str, name: str, sizes: Any) -> tuple[str, str]:
    """(architecture, model type), empty for one that this table does not tell enough of."""
    if org == "Qwen":
        if sizes.n_expert:
            return "Qwen3MoeForCausalLM", "qwen3_moe"
        return (QWEN3, "qwen3") if name.startswith("Qwen3") else (QWEN2, "qwen2")
    if org == "google":
        found = {
            "gemma-2-": ("Gemma2ForCausalLM", "gemma2"),
            "gemma-3": ("", ""),
            "gemma": ("GemmaForCausalLM", "gemma"),
        }
        return next((value for start, value in found.items() if name.startswith(start)), ("", ""))
    if org == "mistralai":
        return ("MixtralForCausalLM", "mixtral") if sizes.n_expert else ("MistralForCausalLM", "mistral")
    if org == "microsoft":
        if name in ("phi-1_5", "phi-2"):
            return "PhiForCausalLM", "phi"
        return ("", "") if "128k" in name or ("mini-" in name and "4k" not in name) else ("Phi3ForCausalLM", "phi3")
    if org == "EleutherAI":
        return "GPTNeoXForCausalLM", "gpt_neox"
    if org == "allenai":
        return ("Olmo2ForCausalLM", "olmo2") if "OLMo-2" in name else ("OlmoForCausalLM", "olmo")
    llamas = ("meta-llama", "codellama", "openlm-research", "togethercomputer", "TinyLlama", "nvidia", "deepseek-ai",
              "HuggingFaceTB", "BSC-LT", "garage-bAInd")  # fmt: skip
    if org in llamas or (org == "tiiuae" and name.startswith("Falcon3")):
        return LLAMA, "llama"
    return "", ""


LENGTHS = {
    r"Qwen2\.5-(7|14|32|72)B$": 131072, r"Qwen2\.5-\d+B-Instruct-1M": 1010000, r"Qwen2\.5-Math": 4096,
    r"Qwen2\.5": 32768, r"QwQ-32B$": 40960, r"QwQ-32B-Preview": 32768, r"Qwen3-.*2507": 262144,
    r"Qwen3-.*Base": 32768, r"Qwen3": 40960, r"Llama-3\.[123]": 131072, r"Llama-3.1-Nemotron": 131072,
    r"DeepSeek-R1-Distill-Llama": 131072, r"Mistral-Large": 131072,
}  # fmt: skip
"""Lengths that the table of sizes has otherwise than the published files."""


def _length(name: str, sizes: Any) -> int:
    return next((length for pattern, length in LENGTHS.items() if re.match(pattern, name)), sizes.block_size)


def slim(value: Any) -> Any:
    """A configuration without keys that decide nothing here."""
    if isinstance(value, dict):
        return {key: slim(inner) for key, inner in value.items() if not LEFT_OUT.fullmatch(key) and inner is not None}
    return [slim(inner) for inner in value] if isinstance(value, list) else value


QUANTIZATION = ("quantization_config", "quantization")
MODULES = (
    "ignore",
    "exclude_modules",
    "modules_to_not_convert",
    "quantized_layers",
    "ignored_layers",
    "layer_quant_config",
)


def folded(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration whose lists of modules have `*` for the number of a layer or an expert."""
    found = dict(config)
    for key, value in config.items():
        if key in QUANTIZATION and isinstance(value, dict):
            found[key] = folded(value)
        elif key in MODULES and isinstance(value, list):
            found[key] = list(dict.fromkeys(re.sub(r"\.\d+(?=\.|$)", ".*", str(name)) for name in value))
        elif key in MODULES and isinstance(value, dict):
            found[key] = _by_pattern(value)
        elif isinstance(value, dict) and key in ("text_config",):
            found[key] = folded(value)
    return found


def _by_pattern(value: dict[str, Any]) -> dict[str, Any]:
    counts: dict[str, Counter[str]] = {}
    for name, what in value.items():
        counts.setdefault(re.sub(r"\.\d+(?=\.|$)", ".*", name), Counter())[json.dumps(what)] += 1
    return {pattern: json.loads(count.most_common(1)[0][0]) for pattern, count in counts.items()}


def main() -> None:
    """Write the table; the first source that has a model is taken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--configs", type=pathlib.Path)
    parser.add_argument("--configs-version", default="0.12.0")
    parser.add_argument("--dims", type=pathlib.Path)
    parser.add_argument("--dims-version", default="0.5.13")
    given = parser.parse_args()
    rows: dict[str, Row] = {}
    for source in (
        recorded(),
        unpacked(given.configs, given.configs_version) if given.configs else (),
        sized(given.dims, given.dims_version) if given.dims else (),
    ):
        for row in source:
            known = rows.setdefault(row.name.lower(), row)
            if "quantization_config" in row.config and "quantization_config" not in known.config:
                rows[row.name.lower()] = row
    for name, others in SAME.items():
        for other in others if name.lower() in rows else ():
            rows.setdefault(other.lower(), rows[name.lower()]._replace(name=other))
    date = subprocess.check_output(
        ["git", "log", "-1", "--format=%as", "--", "tests/golden/models.tar.xz"], cwd=ROOT, text=True
    )
    lines = [f"# name, source, commit or version, config.json in short; collected {date.strip()}"]
    for _, row in sorted(rows.items()):
        text = json.dumps(folded(slim(row.config)), separators=(",", ":"), ensure_ascii=True)
        lines.append("\t".join((row.name, row.source, row.commit[:12], text)))
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(rows)} models, {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
