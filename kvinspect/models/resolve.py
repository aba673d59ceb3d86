"""What a model's file and the engine arguments come to, question by question: dtypes, lengths, windows."""

from __future__ import annotations

from collections.abc import Container, Sequence

from kvinspect.document.numbers import counted
from kvinspect.document.problem import DocumentError, Problem, nearest
from kvinspect.models.arguments import EngineArguments
from kvinspect.models.config import Model
from kvinspect.models.fields import Fields
from kvinspect.models.given import SOURCE
from kvinspect.models.rope import THETA, longer_by_yarn, scaled_length, starts_long
from kvinspect.models.shape import Shape
from kvinspect.releases.model_rules import ModelRules
from kvinspect.releases.release import Release

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
    kind = name.partition("_")[0]
    if kind in modes:  # one mode for all of TurboQuant's cache dtypes
        return kind
    return "FP8_PER_TENSOR" if cache_dtype.startswith("fp8") else "NONE"


def resolve_dtype(model: Model, word: str, platform: str, capability: str | None, pooling: bool) -> str:
    """The dtype of weights and activations (`_get_and_verify_dtype`). Raises DocumentError for one that is no dtype."""
    kind = model.config.model_type
    if word != "auto":
        if word == "float16" and kind in NOT_FLOAT16:
            message = f"{kind} models do not run in float16; take bfloat16 or float32"
            raise stopped("dtype", message)
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


def _written_dtype(model: Model) -> str:
    return next(model.dtypes(), "float32")


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
    found = model.quantization if model.quantization.is_there else model.text.mapping("quantization_config")
    if _quant_method(found) == "compressed-tensors" and _scheme(found):
        return "fp8"
    return "auto"


def _quant_method(quantization: Fields) -> str:
    """The method's name, that of older ModelOpt files made up from their producer."""
    inner = _modelopt_part(quantization)
    named = quantization.is_mapping("producer") and quantization.mapping("producer").is_word("name", "modelopt")
    if inner is not quantization and (named or "modelopt_quant_config" in inner) and inner.flag("quant_algo"):
        return "modelopt"
    return quantization.word("quant_method").lower().replace("compressed_tensors", "compressed-tensors")


def _modelopt_part(quantization: Fields) -> Fields:
    """What older ModelOpt files have under `quantization`, newer ones at the top."""
    return quantization.mapping("quantization") if "quantization" in quantization else quantization


def _scheme(quantization: Fields) -> bool:
    """Whether llm-compressor gave the cache a scheme; `Attention` takes it for fp8 then."""
    return quantization.is_mapping("kv_cache_scheme")


def scales_its_cache(model: Model) -> bool:
    """Whether the checkpoint's quantization makes `Attention` load scales for its KV cache (`_init_kv_cache_quant`)."""
    found = model.quantization if model.quantization.is_there else model.text.mapping("quantization_config")
    method = _quant_method(found)
    return method == "fp8" or method.startswith("modelopt") or (method == "compressed-tensors" and _scheme(found))


def _modelopt_cache(quantization: Fields) -> str:
    """`get_kv_cache_quant_algo_string`."""
    parts = (_modelopt_part(quantization), quantization)
    for part, key in ((part, key) for key in ("kv_cache_scheme", "kv_cache_quant_algo") for part in parts):
        if part.is_mapping(key):
            return _of_scheme(part.mapping(key))
        if word := part.word(key):
            return {"fp8": "fp8_e4m3", "nvfp4": "nvfp4"}.get(word.lower(), "auto")
    return "auto"


def _of_scheme(scheme: Fields) -> str:
    """The cache dtype of a scheme that is written out."""
    bits = scheme.count("num_bits", 0, least=0) if scheme.is_word("type", "float") else 0
    if bits == 8 and not scheme.flag("dynamic", True):
        return "fp8_e4m3"
    return "nvfp4" if bits == 4 else "auto"


def model_window(model: Model, arguments: EngineArguments, rules: ModelRules) -> int | None:
    """The window of the whole model, None where only some layers have one (`create_engine_config`)."""
    text = model.text
    if arguments.disable_sliding_window:
        return None
    if "layer_types" in text and not _is_of_all(text.words("layer_types"), rules):
        return None
    return window_of(text)


def _is_of_all(kinds: Sequence[str], rules: ModelRules) -> bool:
    """Whether the model's window is that of all layers, which are of these kinds."""
    if rules.window_of_equal_layers:
        return len(set(kinds)) <= 1
    return all(kind == "sliding_attention" for kind in kinds)


def window_of(text: Fields, name: str = "sliding_window") -> int | None:
    """A window in tokens; zero is none."""
    return text.maybe_tokens(name, least=0) or None


def resolve_length(model: Model, shape: Shape, arguments: EngineArguments, rules: ModelRules) -> int:
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
    if arguments.is_on("VLLM_ALLOW_LONG_MAX_MODEL_LEN"):
        return wanted
    if wanted > longest and wanted > text.tokens("model_max_length", 0, least=0):
        limit = f"{counted(int(longest), 'token')} ({key or 'its default'})"
        message = f"max_model_len {wanted} is longer than the model's {limit}"
        longer = longer_by_yarn(text, wanted)
        theta = f" ({THETA}: rope_theta of its config.json)" if THETA in longer else ""
        yarn = f"{longer}{theta} extends it with YaRN, if the model is made for that; " if longer else ""
        hint = f"{yarn}VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 turns the check off"
        raise stopped("max_model_len", message, hint)
    return wanted


def stopped(name: str, message: str, hint: str = "") -> DocumentError:
    """What the engine itself would refuse at start-up, all that it asks for being known: a finding, no wrong call."""
    return DocumentError([Problem((name,), message=message, hint=hint, source=SOURCE, kind="stopped")])
