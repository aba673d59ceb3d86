"""What a model's file and the engine arguments come to, question by question: dtypes, lengths, windows."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from kvinspect.document.problem import DocumentError, Problem, nearest
from kvinspect.engine.releases import Release
from kvinspect.models.arguments import SOURCE, EngineArguments
from kvinspect.models.config import Fields, Model
from kvinspect.models.rope import scaled_length, starts_long
from kvinspect.models.rules import Rules
from kvinspect.models.shape import Shape

DEFAULT_LENGTH = 2048
"""Tokens of a context where the model's file does not say."""

CACHE_TORCH_DTYPES = {
    "half": "float16", "float": "float32", "fp8": "uint8", "fp8_e4m3": "uint8", "fp8_e5m2": "uint8", "int8": "int8",
    "int4_per_token_head": "uint8", "int8_per_token_head": "int8", "fp8_per_token_head": "uint8",
    "fp8_inc": "float8_e4m3fn", "fp8_ds_mla": "uint8", "nvfp4": "uint8",
}  # fmt: skip
"""`--kv-cache-dtype` → dtype of an element (`STR_DTYPE_TO_TORCH_DTYPE`); what is missing is a dtype itself, or packed
into bytes."""


def torch_dtype(cache_dtype: str, dtype: str) -> str:
    """The dtype of a cache's elements. `dtype` is the model's.

    >>> torch_dtype("auto", "bfloat16"), torch_dtype("fp8", "bfloat16")
    ('bfloat16', 'uint8')
    """
    if cache_dtype == "auto":
        return dtype
    return "uint8" if cache_dtype.startswith("turboquant") else CACHE_TORCH_DTYPES.get(cache_dtype, cache_dtype)


def quant_mode(cache_dtype: str, modes: Container[str]) -> str:
    """The quantisation mode of a cache dtype among those that a release has (`get_kv_quant_mode`)."""
    name = cache_dtype.upper()
    if name in modes and name != "NONE":
        return name
    if cache_dtype.startswith("nvfp4"):
        return "NVFP4"
    if cache_dtype.startswith("turboquant_"):
        return "TURBOQUANT"
    return "FP8_PER_TENSOR" if cache_dtype.startswith("fp8") else "NONE"


def resolve_dtype(model: Model, word: str, platform: str, capability: str | None, pooling: bool) -> str:
    """The dtype of weights and activations (`_get_and_verify_dtype`). Raises DocumentError for one that is no dtype."""
    kind = model.config.model_type
    if word != "auto":
        if word == "float16" and kind in NOT_FLOAT16:
            message = f"{kind} models do not run in float16; take bfloat16 or float32"
            raise refusal("dtype", message)
        return word
    major, minor = (int(part) for part in capability.split(".")) if capability else (99, 0)
    new = platform != "cuda" or (major, minor) >= (8, 0)
    able = ["bfloat16", "float16", "float32"] if new else ["float16", "float32"]
    able = [dtype for dtype in able if not (dtype == "float16" and kind in NOT_FLOAT16)]
    preferred = "float16" if pooling and "float16" in able else able[0]
    written = _written_dtype(model)
    return written if written in able and written != "float32" else preferred


NOT_FLOAT16 = ("gemma2", "gemma3", "gemma3_text", "glm4")
"""Model types whose activations are too large for float16."""

_DTYPE_WORDS = {"half": "float16", "float": "float32", "double": "float64", "fp16": "float16", "bf16": "bfloat16"}


def _written_dtype(model: Model) -> str:
    found = next(model.dtypes(), "float32")
    if not isinstance(found, str):
        model.config.fail("torch_dtype", "the name of a dtype", found)
    word = found.removeprefix("torch.")
    return _DTYPE_WORDS.get(word, word)


def resolve_cache_dtype(model: Model, word: str, release: Release) -> str:
    """`--kv-cache-dtype`, or what the checkpoint was quantised for (`resolve_kv_cache_dtype_string`).

    Raises DocumentError for a word that the release does not know.
    """
    known = [*release.catalogue["cache_dtypes"]]
    if word != "auto":
        if word not in known:
            expected = "one of " + ", ".join(known)
            problem = Problem(
                ("kv_cache_dtype",), expected=expected, found=f'"{word}"', nearest=nearest(word, known), source=SOURCE
            )
            raise DocumentError([problem])
        return word
    method = _quant_method(model.quantization)
    if method.startswith("modelopt"):
        return _modelopt_cache(model.quantization)
    inner = model.text.get("quantization_config")
    found = model.quantization or (inner if isinstance(inner, Mapping) else {})
    if _quant_method(found) == "compressed-tensors" and _scheme(found):
        return "fp8"
    return "auto"


def _quant_method(quantization: Mapping[str, Any]) -> str:
    """The method's name, that of older ModelOpt files made up from their producer."""
    method = quantization.get("quant_method")
    producer, inner = quantization.get("producer"), quantization.get("quantization")
    named = isinstance(producer, Mapping) and producer.get("name") == "modelopt"
    if isinstance(inner, Mapping) and (named or "modelopt_quant_config" in inner) and inner.get("quant_algo"):
        return "modelopt"
    word = method.lower() if isinstance(method, str) else ""
    return word.replace("compressed_tensors", "compressed-tensors")


def _scheme(quantization: Mapping[str, Any]) -> bool:
    """Whether llm-compressor gave the cache a scheme; `Attention` takes it for fp8 then."""
    return isinstance(quantization.get("kv_cache_scheme"), Mapping)


def _modelopt_cache(quantization: Mapping[str, Any]) -> str:
    """`get_kv_cache_quant_algo_string`."""
    inner = quantization.get("quantization", quantization)
    inner = inner if isinstance(inner, Mapping) else {}
    keys: list[tuple[Mapping[str, Any], str]] = [(inner, "kv_cache_scheme"), (quantization, "kv_cache_scheme")]
    keys += [(inner, "kv_cache_quant_algo"), (quantization, "kv_cache_quant_algo")]
    found = next((part[key] for part, key in keys if part.get(key)), None)
    if isinstance(found, Mapping):
        whole = found.get("type") == "float"
        if whole and found.get("num_bits") == 8 and found.get("dynamic") is False:
            found = "fp8"
        else:
            found = "nvfp4" if whole and found.get("num_bits") == 4 else "auto"
    return {"fp8": "fp8_e4m3", "nvfp4": "nvfp4"}.get(found.lower(), "auto") if isinstance(found, str) else "auto"


def model_window(model: Model, arguments: EngineArguments, rules: Rules) -> int | None:
    """The window of the whole model, None where only some layers have one (`create_engine_config`)."""
    text = model.text
    if arguments.disable_sliding_window:
        return None
    kinds = text.get("layer_types")
    if isinstance(kinds, (list, tuple)) and not rules.model_window_counts([str(kind) for kind in kinds]):
        return None
    return window_of(text)


def window_of(text: Fields, name: str = "sliding_window") -> int | None:
    """A window in tokens; zero is none."""
    return text.maybe_count(name, least=0) or None


def resolve_length(model: Model, shape: Shape, arguments: EngineArguments, rules: Rules) -> int:
    """The longest context, in tokens (`_get_and_verify_max_len`). Raises DocumentError for one that is too long."""
    text = model.text
    longest, key = shape.max_len, shape.max_len_key
    window = window_of(text)
    if arguments.disable_sliding_window and window is not None and window < longest:
        longest, key = window, "sliding_window"
    wanted = arguments.max_model_len
    if longest == float("inf"):
        if wanted is not None:
            return wanted if wanted > 0 else DEFAULT_LENGTH
        longest = DEFAULT_LENGTH
    longest = scaled_length(text, longest, rules.yarn_scales)
    if wanted is None or wanted == -1:
        return int(starts_long(text) or longest)
    if wanted > longest and wanted > text.count("model_max_length", 0, least=0):
        message = f"max_model_len {wanted} is longer than the model's {int(longest)} tokens ({key or 'its default'})"
        hint = "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 would let it pass"
        raise refusal("max_model_len", message, hint)
    return wanted


def refusal(name: str, message: str, hint: str = "") -> DocumentError:
    """An error for an argument with which the engine would not start."""
    return DocumentError([Problem((name,), message=message, hint=hint, source=SOURCE, kind="refused")])
