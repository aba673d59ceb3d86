"""Hostile flag lines: what `plan` of a good model, and the commands without a file, must survive."""

import json

import model_files

from kvinspect.data import flags
from kvinspect.data.catalogue import versions

MODELS = ("qwen3-8b", "gemma-3-27b")
DEEP = 100_000
NUMBERS = [
    "0", "-1", "-0", "1", "2", "3", "7", "1e3", "1e309", "-1e309", "nan", "inf", "1_000", "０", "٣", "1k", "1K", "1.5k", "1M", "999T", "0x10",
    "1" * 400, "9" * 5_000, str(2**31), str(2**63 - 1), str(2**63), str(2**64), "4096", "32768", "1:30", " 8 ", "", "-", "--", "+4", "0.5", "2.0",
]  # fmt: skip
WORDS = [
    "auto", "fp8", "fp8_e5m2", "nvfp4", "turboquant_k8v4", "bfloat16", "float64", "CUSTOM", "TORCH_SDPA", "FLASH_ATTN", "flashinfer", "NOPE", "true",
    "None", "null", "x" * 5_000, "\u202e", "é", "\U0001f600", "\ud7ff", "a\nb", "\x1b[2J", "::error::x", "##[x]y", "{0..9}", "a=b", "=", "%s", "{}", "/dev/zero",
    ".", "/", "../../..", "align", "all", "mtp", "eagle3", "ngram",
]  # fmt: skip
JSONS = [
    "{", "[", "{}", "[]", "[[]]", "[" * DEEP, '{"a":' * DEEP, "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP, '{"a": NaN}',
    '{"a": 1e999}', '{"a": ' + "9" * 5_000 + "}", '{"": {}}', '{"a": 1, "a": 2}', '{"method": "mtp"}', '{"method": 3}', '{"method": []}',
    '{"method": "mtp", "num_speculative_tokens": -1}', '{"method": "mtp", "num_speculative_tokens": 1e30}', '{"num_speculative_tokens": 1' + "0" * 30 + "}",
    '{"method": "ngram", "num_speculative_tokens": 4}', '{"method": "eagle3", "model": {}, "num_speculative_tokens": 2}', '{"model": "\\ud800"}',
    '{"cudagraph_mode": "FULL"}', '{"cudagraph_mode": []}', '{"mode": 9}', '{"backend": "CUSTOM"}', '{"backend": null}', '{"text_config": []}',
    '{"text_config": {"num_hidden_layers": 1000000000000}}', '{"num_hidden_layers": 0}', '{"architectures": [null]}', '{"model_type": {}}',
    '{"layer_types": ["x"]}', '{"image": 1k}', '{"image": {"count": -5}}', '{"kv_connector": 1}', '{"max_position_embeddings": -1}', '{"rope_scaling": 7}',
    json.dumps({f"k{i}": i for i in range(5_000)}), json.dumps(["x" * 200] * 500), '"text"', "3", "null", "true",
]  # fmt: skip
KEYS = [
    "a", "a.b", "a.a", "", ".", "..", "0", "method", "num_speculative_tokens", "num_hidden_layers", "text_config.num_hidden_layers", "backend",
    "cudagraph_mode", "text_config", "text_config.x.y", "a" * 2_000, ".".join("a" * 60), ".".join("a" * 5_000), "é", "__class__", "layer_types",
    "pass_config.x", "pass_config",
]  # fmt: skip
OURS = [
    "--engine", "--platform", "--device-capability", "--available-kv-cache-memory", "--gpu-memory", "--weights", "--sweep", "-f", "--format",
    "--num-speculative-tokens", "--config", "--log", "--color", "-O", "-O=", "-tp", "-pp", "-dp", "-q", "--all-layers", "--explain",
]  # fmt: skip
PLANNED = [
    "attention-backend", "attention-config", "block-size", "calculate-kv-scales", "compilation-config", "cp-kv-cache-interleave-size", "cpu-offload-gb",
    "data-parallel-size", "decode-context-parallel-size", "disable-hybrid-kv-cache-manager", "disable-sliding-window", "dtype", "enable-prefix-caching",
    "enforce-eager", "gpu-memory-utilization", "hf-overrides", "kv-cache-dtype", "kv-cache-dtype-skip-layers", "kv-cache-memory-bytes", "kv-sharing-fast-prefill",
    "kv-transfer-config", "language-model-only", "limit-mm-per-prompt", "mamba-block-size", "mamba-cache-dtype", "mamba-cache-mode", "mamba-ssm-cache-dtype",
    "max-model-len", "max-num-batched-tokens", "max-num-seqs", "model", "num-gpu-blocks-override", "optimization-level", "pipeline-parallel-size",
    "prefill-context-parallel-size", "quantization", "runner", "speculative-config", "tensor-parallel-size", "trust-remote-code",
]  # fmt: skip
"""Flags that a plan depends on."""

SWEEPS = [
    "max_model_len=8k..1M", "max_model_len=1..1", "max_model_len=0..10..0", "block_size=16..1..-1", "max_num_seqs=1..1000000..1", "x=1", "=", "a=b=c",
    "gpu_memory_utilization=0.5..0.9..0.1", "max_model_len=", "max_model_len=,,,", "max_model_len=1..2..3..4", "max_model_len=nan..inf",
    "max_model_len=" + ",".join(map(str, range(3_000))), "tensor_parallel_size=1,2,4", "block_size=16," * 40, "kv_cache_dtype=fp8,x", "hf_overrides={},[]",
    "max_model_len=1..9" + "0" * 50, "block_size=16..64", "compilation_config=[,{",
]  # fmt: skip
ENGINES = ("0.25", "0.27", "0.28", "0.29", "0.30", "0.33")
REFERENCES = [("cg-support",), ("cg-support", "--matrix"), ("rule",), ("doctor",), ("schema",)]


GPUS = [
    "H100", "2xH100", "L4,H100", "8×mi300x", "0xH100", "-1xH100", "999999xH100", "9999999xH100", "xH100", "H100x", "H100:2", "H100 x2", "NVIDIA H100 80GB HBM3",
    "A100-40GB", "A100-9999GB", "A100-", ",", ",,L4,", "", " ", "local", "gaudi3", "H100;id", "$(id)", "`id`", "../../etc/passwd", "/dev/zero", "\u202eH100",
    "é", "\x1b[31m", "::error::x", "##vso[x]", "H" * 5_000, "1x" * 2_000, ",".join(["L4"] * 3), "L4," * 200 + "x", "²xH100", "1e3xH100", "x", "×", "*",
]  # fmt: skip
STARTS = [
    "vllm serve", "python -m vllm.entrypoints.openai.api_server --model", "docker run --gpus all vllm/vllm-openai:v0.28.0 --model", "VLLM_X=1 vllm serve",
    "docker run --gpus 99999999999999999999 vllm/vllm-openai:v999 --model", "sudo -u x env A=$(id) nohup vllm serve", "bash -c 'vllm serve", "cat <<EOF | vllm serve",
    "vllm serve \\\n", "`id` vllm serve", "$(vllm serve", "podman run", "vllm", "torchrun vllm serve", "CUDA_VISIBLE_DEVICES=0,,x vllm serve", "# c\nvllm serve",
]  # fmt: skip
ENDS = [
    "",
    "",
    "",
    " | tee x",
    " > log",
    " && rm -rf /",
    " &",
    " \\",
    " '",
    ' "',
    " #c",
    "\n--x 1",
    "\u00a0--x",
    " $(id)",
    " `id`",
    " $X",
    "; vllm serve m",
]
REQUESTS = ["--requests", "--prompt", "--output", "--shared-prefix"]
"""What a person asks of GPUs by name: the words of `--gpu`, what a pasted command begins and ends with, requests."""


def seeds(root):
    """The names of all flags of every release, and the models' folders."""
    names = sorted({name for version in versions() for name in flags.read(version).by_name})
    return names, [str(root / "examples" / "models" / model) for model in MODELS]


def line(number, good, chance):
    """(no files, the words of a call) of a hostile line."""
    names, models = good
    if chance.random() < 0.15:
        words = [*chance.choice(REFERENCES), *_words(names, chance)]
        return {}, tuple(words)
    if chance.random() < 0.3:
        return {}, tuple(_of_gpus(names, models, chance))
    words = ["plan", chance.choice(models), "--engine", chance.choice(ENGINES)]
    words += (
        [] if chance.random() < 0.1 else ["--available-kv-cache-memory", chance.choice(("40GiB", "1MiB", "12.5GB"))]
    )
    return {}, tuple(words + _words(names, chance))


def _of_gpus(names, models, chance):
    """`plan` or `fit` on GPUs by name, of a model or of a command that was pasted."""
    flags = _words(names, chance) if chance.random() < 0.5 else []
    model = chance.choice(models)
    if chance.random() < 0.5:
        flags, model = [], f"{chance.choice(STARTS)} {model} {' '.join(flags)[:20_000]}{chance.choice(ENDS)}"
    asked = [word for name in REQUESTS if chance.random() < 0.3 for word in (name, chance.choice(NUMBERS))]
    return [chance.choice(("plan", "fit")), model.replace("\0", ""), *flags, "--gpu", chance.choice(GPUS), *asked]


def _words(names, chance):
    made = [word for _ in range(chance.choice((1, 1, 2, 3, 6))) for word in _flag(names, chance)]
    if chance.random() < 0.1:
        made += made * chance.choice((1, 3, 50))
    return made


def _flag(names, chance):
    """A flag and its value, or what only looks like one."""
    if chance.random() < 0.25:
        return list(chance.choice(model_files.FLAGS))
    if chance.random() < 0.25:
        name = chance.choice([*OURS, f"--backend={chance.choice(WORDS)}"])
        value = chance.choice(SWEEPS) if name == "--sweep" else _value(chance)
        return [name, value]
    name = chance.choice(PLANNED if chance.random() < 0.6 else names)
    name = name.replace("-", "_") if chance.random() < 0.1 else name
    dashes = chance.choice(("--", "--", "--", "--", "--no-", "-", ""))
    how = chance.random()
    if how < 0.25:
        keys = [f"{dashes}{name}.{chance.choice(KEYS)}" for _ in range(chance.choice((1, 2, 3)))]
        return [word for key in keys for word in (key, _value(chance))]
    if how < 0.4:
        return [f"{dashes}{name}={_value(chance)}"]
    return [f"{dashes}{name}"] if how < 0.5 else [f"{dashes}{name}", _value(chance)]


def _value(chance):
    return chance.choice(chance.choice((NUMBERS, WORDS, JSONS)))
