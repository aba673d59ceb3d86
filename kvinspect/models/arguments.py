"""Engine arguments, named as vLLM's `EngineArgs`, with the values that decide about the KV cache."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from kvinspect.data import catalogue, flags
from kvinspect.document.frozen import frozen
from kvinspect.document.limits import MAX_INT, MAX_RANKS, MAX_STAGES
from kvinspect.document.numbers import human_number
from kvinspect.document.problem import DocumentError, Problem, nearest, shown
from kvinspect.models import nested
from kvinspect.models.given import SOURCE, unusable


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineArguments:
    """The arguments of vLLM that specs depend on, with vLLM's defaults; None is `auto` or `by the model`."""

    runner: str = "auto"
    dtype: str = "auto"
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    decode_context_parallel_size: int = 1
    prefill_context_parallel_size: int = 1
    kv_cache_dtype: str = "auto"
    kv_cache_dtype_skip_layers: tuple[str, ...] = ()
    block_size: int | None = None
    max_model_len: int | None = None
    max_num_batched_tokens: int | None = None
    max_num_seqs: int | None = None
    attention_backend: str | None = None
    flash_attn_version: int | None = None
    enable_prefix_caching: bool | None = None
    enable_chunked_prefill: bool | None = None
    disable_sliding_window: bool = False
    disable_hybrid_kv_cache_manager: bool | None = None
    async_scheduling: bool | None = None
    mamba_block_size: int | None = None
    mamba_cache_mode: str = "none"
    mamba_cache_dtype: str = "auto"
    mamba_ssm_cache_dtype: str = "auto"
    use_replayssm: bool = False
    use_fp4_indexer_cache: bool = False
    replayssm_buffer_len: int = 16
    num_speculative_tokens: int = 0
    speculative_method: str | None = None
    draft_model: str | None = None
    draft_attention_backend: str | None = None
    draft_kv_cache_dtype: str | None = None
    draft_tensor_parallel_size: int | None = None
    parallel_drafting: bool = False
    num_gpu_blocks_override: int | None = None
    language_model_only: bool = False
    forbidden_modalities: tuple[str, ...] = ()
    """Kinds of items of which a prompt may have none (`limit_mm_per_prompt`)."""
    model_impl: str = "auto"
    kv_sharing_fast_prefill: bool = False
    enable_expert_parallel: bool = False
    data_parallel_size: int = 1
    performance_mode: str | None = None
    kv_connector: str | None = None
    drafting: tuple[tuple[str, Any], ...] = ()
    """Every key of `speculative_config` that is given, with its value."""
    env: tuple[tuple[str, str], ...] = ()

    @property
    def drafts_by(self) -> Mapping[str, Any]:
        """What is given of a draft, by the keys of `speculative_config`."""
        single = {key: getattr(self, name) for key, name in DRAFTING.items()}
        return {key: value for key, value in single.items() if value} | dict(self.drafting)

    def variable(self, name: str) -> str | None:
        """The value of an environment variable, None where it is not set."""
        return dict(self.env).get(name)

    def is_on(self, name: str) -> bool:
        """Whether an environment variable switches something on."""
        return (self.variable(name) or "").strip().lower() in ("1", "true")

    @property
    def forced_runner(self) -> str | None:
        """The model runner that the environment names."""
        name = "VLLM_USE_V2_MODEL_RUNNER"
        return "v2" if self.is_on(name) else "v1" if self.is_off(name) else None

    def is_off(self, name: str) -> bool:
        """Whether an environment variable switches something off."""
        return (self.variable(name) or "").strip().lower() in ("0", "false")


DRAFTING = {
    "num_speculative_tokens": "num_speculative_tokens",
    "method": "speculative_method",
    "model": "draft_model",
    "attention_backend": "draft_attention_backend",
    "kv_cache_dtype": "draft_kv_cache_dtype",
    "draft_tensor_parallel_size": "draft_tensor_parallel_size",
    "parallel_drafting": "parallel_drafting",
}
"""Key of `speculative_config` → argument."""

SETTLED = ("kv_connector", "drafting", "env")
"""What no argument says by itself: the connector, the draft's configuration as a whole, and the environment."""


_DEFAULTS = {field.name: field.default for field in fields(EngineArguments) if field.name not in SETTLED}
_NUMBERS = {name: 1 for name, value in _DEFAULTS.items() if type(value) is int} | {
    "num_speculative_tokens": 0, "block_size": 1, "max_model_len": -1, "max_num_batched_tokens": 1, "max_num_seqs": 1,
    "draft_tensor_parallel_size": 1, "flash_attn_version": 2, "mamba_block_size": 1, "num_gpu_blocks_override": 1,
}  # fmt: skip
"""Arguments that are numbers → the least that makes sense."""

_FLAGS = ("enable_prefix_caching", "enable_chunked_prefill", "disable_hybrid_kv_cache_manager", "async_scheduling",
          *(name for name, value in _DEFAULTS.items() if isinstance(value, bool)))  # fmt: skip
_WORDS = (
    "attention_backend",
    "performance_mode",
    "speculative_method",
    "draft_model",
    "draft_attention_backend",
    "draft_kv_cache_dtype",
    *(n for n, v in _DEFAULTS.items() if isinstance(v, str)),
)
_CHOICES = {
    "runner": ("auto", "generate", "pooling", "draft"),
    "dtype": ("auto", "half", "float16", "bfloat16", "float", "float32"),
    "mamba_cache_mode": ("none", "align", "all"),
    "mamba_cache_dtype": ("auto", "float32", "float16", "bfloat16"),
    "mamba_ssm_cache_dtype": ("auto", "float32", "float16", "bfloat16"),
    "performance_mode": ("balanced", "interactivity", "throughput"),
}
_MOST = {name: MAX_RANKS for name in _NUMBERS if name.endswith("_parallel_size")} | {
    "pipeline_parallel_size": MAX_STAGES,
}
_ALIASES = {"float": "float32", "half": "float16"}


@cache
def every_argument() -> frozenset[str]:
    """The names of `EngineArgs`, of all releases together."""
    text = (pathlib.Path(__file__).parent / "engine_arguments.json").read_text(encoding="utf-8")
    return frozenset(json.loads(text))


@cache
def _others() -> frozenset[str]:
    """Arguments of vLLM that change nothing here, those of its server among them."""
    served = {name.replace("-", "_") for version in catalogue.versions() for name in flags.read(version).by_name}
    return every_argument() | served


def engine_arguments(given: Mapping[str, Any] | EngineArguments | None) -> EngineArguments:
    """The arguments that a mapping gives, `-` for `_` in a name let pass. `speculative_config` and `attention_config`
    may be mappings as vLLM takes them.

    Raises DocumentError with a problem for each name that vLLM does not have and each value it would not take.
    """
    if isinstance(given, EngineArguments):
        return given
    unread = list(unusable(given or {}))
    if unread:
        raise DocumentError(unread)
    written = {str(name).replace("-", "_"): value for name, value in (given or {}).items()}
    problems = [problem._replace(source=SOURCE) for problem in _nested(written)]
    named = _flattened(written)
    found: dict[str, Any] = {}
    for name, value in named.items():
        if name in _DEFAULTS:
            problem = None if value is None else _take(name, value, found)
        elif name in _others():
            problem = None
        else:
            near = nearest(name, [*_DEFAULTS, *(other for other in _others() if not other.startswith("_"))])
            problem = Problem((name,), message="vLLM has no such argument", nearest=near, kind="unknown-key")
        if problem is not None:
            problems.append(problem._replace(source=SOURCE))
    if problems:
        raise DocumentError(problems)
    return EngineArguments(**found, drafting=_drafting(written))


def _drafting(written: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    given = nested.speculative(written) or {}
    return tuple(sorted((key, frozen(value)) for key, value in given.items() if value is not None))


def argument(given: Mapping[str, Any], name: str) -> Any:
    """An argument by its Python name, None where it is not given."""
    return given.get(name, given.get(name.replace("_", "-")))


_OBJECTS = ("speculative_config", "attention_config", "compilation_config", "kv_transfer_config")


def _nested(written: Mapping[str, Any]) -> Iterator[Problem]:
    """Configurations that are no JSON object, where one is needed."""
    for name in _OBJECTS:
        value = written.get(name)
        if (
            value is not None
            and not isinstance(value, Mapping)
            and not (name == "compilation_config" and _level(value))
        ):
            yield Problem((name,), expected="a JSON object", found=shown(value))


def _level(value: Any) -> bool:
    """A level of compilation, which stands for an object."""
    return str(value).isdigit()


def _flattened(named: dict[str, Any]) -> dict[str, Any]:
    """What stands in nested configurations as arguments of their own."""
    speculative, attention = nested.speculative(named), named.get("attention_config")
    if speculative is not None:
        for key, name in DRAFTING.items():
            if speculative.get(key) is not None:
                named.setdefault(name, speculative[key])
    if isinstance(attention, Mapping):
        for name, key in (
            ("attention_backend", "backend"),
            ("flash_attn_version", "flash_attn_version"),
            ("use_fp4_indexer_cache", "use_fp4_indexer_cache"),
        ):
            if attention.get(key) is not None:
                named.setdefault(name, attention[key])
    limits = named.get("limit_mm_per_prompt")
    if isinstance(limits, Mapping):
        named.setdefault("forbidden_modalities", tuple(str(kind) for kind in limits if _is_zero(limits[kind])))
    return named


def _is_zero(limit: Any) -> bool:
    """Whether a limit, or the count of one that is written out, allows nothing."""
    return limit == 0 or (isinstance(limit, Mapping) and limit.get("count") == 0)


def _take(name: str, value: Any, found: dict[str, Any]) -> Problem | None:
    """Put a value in `found`, or say what is wrong with it."""
    read = _reader(name)
    try:
        found[name] = read(name, value)
    except ValueError as error:
        near = nearest(value, _CHOICES.get(name, ())) if isinstance(value, str) else ""
        return Problem((name,), expected=str(error), found=shown(value), nearest=near)
    return None


def _reader(name: str) -> Callable[[str, Any], Any]:
    if name in _FLAGS:
        return _flag
    if name in _NUMBERS:
        return _number
    return _word if name in _WORDS else _words


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _number(name: str, value: Any) -> int:
    if name == "max_model_len" and isinstance(value, str) and value.lower() in ("auto", "-1"):
        return -1
    number: Any = human_number(value) if isinstance(value, str) else value
    most = _MOST.get(name, MAX_INT)
    if type(number) is not int or not _NUMBERS[name] <= number <= most or (name == "max_model_len" and number == 0):
        least = "1 on, or -1 for auto" if name == "max_model_len" else f"{_NUMBERS[name]} on"
        raise ValueError(f"a whole number from {least}" + (f" up to {most}" if name in _MOST else ""))
    return int(number)


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a word")
    choices = _CHOICES.get(name)
    if choices and value.lower() not in choices:
        raise ValueError("one of " + ", ".join(choices))
    word = value.lower() if choices else value
    return _ALIASES.get(word, word) if name.endswith("dtype") else word


def _words(name: str, value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, (list, tuple)) or any(not isinstance(part, (str, int)) for part in parts):
        raise ValueError("a list of words")
    return tuple(str(part) for part in parts)
