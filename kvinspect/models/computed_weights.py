"""How many bytes of weights a rank holds, computed from a config.json where no file says."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from kvinspect.models.arguments import EngineArguments
from kvinspect.models.parallel import stage_layers
from kvinspect.models.parameters import EXPERTS, WHOLE, Config, Module, layers_of, modules, number, text_of

SOURCE = "computed from the config.json"
BYTES = {"float32": 4.0, "float16": 2.0, "bfloat16": 2.0}
PACKED = {
    "awq": 0.5 + 2.5 / 128, "gptq": 0.5 + 2.5 / 128, "auto-round": 0.5 + 2.5 / 128, "fp8": 1.0, "fbgemm_fp8": 1.0,
    "mxfp4": 0.5 + 1 / 32, "gpt_oss_mxfp4": 0.5 + 1 / 32, "nvfp4": 0.5 + 1 / 16, "mxfp8": 1 + 1 / 32,
    "bitsandbytes": 0.5 + 1 / 16, "int8": 1.0, "int4": 0.5 + 2 / 128, "experts_int8": 1.0,
}  # fmt: skip
"""Quantization → bytes of a parameter with its scales."""


class Share(NamedTuple):
    """Ranks among which modules are divided."""

    tensor: int = 1
    experts: int = 1


class Quantization(NamedTuple):
    """Bytes of a parameter that is quantized, and what is not."""

    size: float
    exact: frozenset[str]
    patterns: tuple[re.Pattern[str], ...]
    by_module: tuple[tuple[re.Pattern[str], float], ...] = ()
    experts_only: bool = False
    head: bool = False
    experts: float | None = None
    """Bytes of a parameter of an expert, where they have a type of their own."""

    def bytes_of(self, module: Module, plain: float) -> float:
        """Bytes of a parameter of a module."""
        if not module.linear or module.path.startswith("visual.") or module.path.endswith("mlp.gate"):
            return plain
        if module.path == "lm_head" and not self.head:
            return plain
        if self.experts is not None and module.share == EXPERTS:
            return self.experts
        if self.experts_only and module.share != EXPERTS:
            return plain
        for pattern, size in self.by_module:
            if any(pattern.match(name) for name in _names(module.path)):
                return size
        if self.by_module:
            return plain
        names = _names(module.path)
        left = any(name in self.exact or any(p.match(name) for p in self.patterns) for name in names)
        return plain if left else self.size


OTHER_NAMES = (
    ("mlp.", "mixer."), ("mlp.", "feed_forward."), ("mlp.", "block_sparse_moe."), ("self_attn", "mixer"),
    ("gate_up_proj", "up_proj"), ("gate_up_proj", "gate_proj"), ("shared_experts", "shared_expert"),
)  # fmt: skip
"""Parts of a module's path, and what other checkpoints call them."""


@cache
def _names(path: str) -> tuple[str, ...]:
    """How checkpoints call a module: with its model's prefix, and its parts by themselves."""
    paths = {path, *(path.replace(usual, other) for usual, other in OTHER_NAMES)}
    inner = {name.removeprefix("model.") for name in paths}
    prefixes = ("model.", "", "model.language_model.", "language_model.model.", "backbone.", "language_model.")
    return tuple(prefix + name for prefix in prefixes for name in inner)


def quantization_of(config: Config, text: Config, word: str | None) -> Quantization | None:
    """What is quantized, by the file and `--quantization`; None where nothing is."""
    written = config.get("quantization_config") or text.get("quantization_config") or config.get("compression_config")
    written = written if isinstance(written, Mapping) else {}
    inner = written.get("quantization")
    written = inner if isinstance(inner, Mapping) else written
    method = str(written.get("quant_method") or ("modelopt" if "quant_algo" in written else "") or word or "").lower()
    if not method:
        return None
    left = _left_out(written)
    exact = frozenset(name for name in left if not set(name) & set("*?[") and not name.startswith("re:"))
    patterns = tuple(_pattern(name) for name in left if name not in exact)
    size, experts_only = _size(method, written)
    experts = PACKED["mxfp4"] if text.get("expert_dtype") == "fp4" else None
    head = "lm_head" not in left and bool(left)
    return Quantization(size, exact, patterns, _by_module(written), experts_only, head, experts)


def _left_out(written: Config) -> list[str]:
    """Names and patterns of modules that stay as they are."""
    found: list[str] = []
    for key in ("ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers"):
        value = written.get(key)
        found += [str(name) for name in value] if isinstance(value, list) else []
    return found


def _pattern(name: str) -> re.Pattern[str]:
    if name.startswith("re:"):
        try:
            return re.compile(name[3:200])
        except re.error:
            return re.compile(r"(?!)")
    return re.compile(fnmatch.translate(name[:200] if name.endswith("*") else name[:200] + "*"))


def _size(method: str, written: Config) -> tuple[float, bool]:
    """(bytes of a parameter, whether only experts are quantized)."""
    bits = number(written, "bits", "w_bit") or 4
    algo = str(written.get("quant_algo") or "").lower()
    if method in ("gptq", "awq", "auto-round", "gptq_marlin", "awq_marlin", "auto_round"):
        return bits / 8 + 2.5 / (number(written, "group_size") or 128), False
    if method.startswith("compressed"):
        return _of_groups(written), False
    for name in ("nvfp4", "mxfp8", "mxfp4", "fp8", "int4", "w4a16", "int8"):
        if name in algo or name in method:
            return PACKED.get(name, PACKED["int4"]), method in ("mxfp4", "gpt_oss_mxfp4")
    return PACKED.get(method, 2.0), False


def _of_groups(written: Config) -> float:
    groups = written.get("config_groups")
    for group in groups.values() if isinstance(groups, Mapping) else ():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if isinstance(weights, Mapping):
            bits, size = number(weights, "num_bits", default=8), number(weights, "group_size")
            scale = 1 if weights.get("type") == "float" and bits == 4 else 2
            return bits / 8 + (scale / size if size else 0)
    return 1.0


def _by_module(written: Config) -> tuple[tuple[re.Pattern[str], float], ...]:
    """The bytes under mixed precision of each module that is named."""
    named = written.get("quantized_layers")
    if not isinstance(named, Mapping):
        return ()
    found = []
    for name, what in list(named.items())[:2000]:
        algo = str(what.get("quant_algo") if isinstance(what, Mapping) else what).lower()
        found.append((_pattern(str(name)), _size(algo, {"quant_algo": algo})[0]))
    return tuple(found)


def computed_bytes(
    config: Config, arguments: EngineArguments, dtype: str = "bfloat16", word: str | None = None
) -> tuple[int, ...]:
    """Bytes of weights on a rank of each pipeline stage."""
    text = text_of(config)
    quantization = quantization_of(config, text, word)
    ranks = arguments.tensor_parallel_size
    share = Share(ranks, ranks * arguments.data_parallel_size)
    groups = number(text, "num_key_value_heads", "multi_query_group_num") or ranks
    stages, layers = arguments.pipeline_parallel_size, layers_of(text)
    found = [0.0] * stages
    stage_by_layer = {layer: stage for stage in range(stages) for layer in stage_layers(layers, stage, stages)}
    for module in modules(config):
        if arguments.language_model_only and module.path.startswith("visual."):
            continue
        plain = BYTES.get(dtype, 2.0)
        each = quantization.bytes_of(module, plain) if quantization else plain
        stage = stage_by_layer.get(module.layer or 0, 0) if module.layer is not None else _stage(module, stages)
        found[stage] += module.size * each / _parts(module, share, groups)
    return tuple(round(size) for size in found)


def _stage(module: Module, stages: int) -> int:
    return stages - 1 if module.path == "lm_head" else 0


def _parts(module: Module, share: Share, groups: int) -> int:
    if module.share == WHOLE:
        return 1
    if module.share == EXPERTS:
        return share.experts
    return min(share.tensor, groups) if module.kv else share.tensor
