"""The words of a document: vLLM's own names for kinds, dtypes, modes and platforms, and the types of single values."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from kvinspect.document.limits import MAX_INT, MAX_WORD

DTYPE_BYTES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
"""Bytes of an element of each torch dtype that a cache may have."""

SPEC_CLASSES = {
    "full_attention": "FullAttentionSpec",
    "tq_full_attention": "TQFullAttentionSpec",
    "rswa": "RSWASpec",
    "sink_full_attention": "SinkFullAttentionSpec",
    "mla_attention": "MLAAttentionSpec",
    "hidden_state_cache": "HiddenStateCacheSpec",
    "sliding_window": "SlidingWindowSpec",
    "sliding_window_mla": "SlidingWindowMLASpec",
    "chunked_local_attention": "ChunkedLocalAttentionSpec",
    "cross_attention": "CrossAttentionSpec",
    "encoder_only_attention": "EncoderOnlyAttentionSpec",
    "circular_buffer": "CircularBufferSpec",
    "kpool_tail": "KpoolTailSpec",
    "hisparse_hot": "HiSparseHotSpec",
    "hisparse_resident": "HiSparseResidentSpec",
    "mamba": "MambaSpec",
    "uniform_type": "UniformTypeKVCacheSpecs",
}
"""Kind of a KV cache spec → vLLM's class for it."""

WITHOUT_BACKEND = ("mamba", "hisparse_hot", "hisparse_resident")
"""Kinds whose layers need no attention backend of their own."""

KIND_OF_WORD = {word: kind for kind, cls in SPEC_CLASSES.items() for word in (kind, cls)}
"""What may stand under `kind` or `type` → kind."""


class Rule:
    """A constraint on an annotation that pydantic reads, without pydantic being imported to write it down.

    `core` are keys of pydantic's core schema of the annotated type (`gt`, `pattern`, `min_length`, …), `before` a
    function that a value goes through first.
    """

    def __init__(self, description: str = "", before: Any = None, **core: Any) -> None:
        self.description, self.before, self.core = description, before, core

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        schema = {**handler(source), **self.core}
        if self.before is None:
            return schema
        function = {"type": "no-info", "function": self.before}
        return {"type": "function-before", "function": function, "schema": schema}

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> Any:
        schema = handler(core_schema)
        return {**schema, "description": self.description} if self.description else schema


def dtype_word(value: Any) -> Any:
    """Torch's own spellings of a dtype as one word."""
    word = value.removeprefix("torch.") if isinstance(value, str) else value
    aliases = {"half": "float16", "float": "float32", "double": "float64"}
    return aliases.get(word, word) if isinstance(word, str) else word


def enum_word(value: Any) -> Any:
    """`KVQuantMode.NONE` and `none` as NONE."""
    return value.rpartition(".")[2].upper() if isinstance(value, str) else value


def number_as_text(value: Any) -> Any:
    """YAML reads 9.0 as a number, and a compute capability or a release is a word."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return str(value) if isinstance(value, float) else f"{value}.0"


def compilation_mode(value: Any) -> Any:
    """The modes by number, which vLLM takes as well."""
    modes = ("NONE", "STOCK_TORCH_COMPILE", "DYNAMO_TRACE_ONCE", "VLLM_COMPILE")
    return modes[value] if type(value) is int and 0 <= value < len(modes) else value


Word = Annotated[str, Rule(strict=True, max_length=MAX_WORD)]
Flag = Annotated[bool, Rule(strict=True)]
Positive = Annotated[int, Rule(strict=True, gt=0, le=MAX_INT)]
NotNegative = Annotated[int, Rule(strict=True, ge=0, le=MAX_INT)]
DType = Annotated[
    Literal[
        "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
        "float8_e5m2fnuz", "int64", "int32", "int16", "int8", "uint8", "bool",
    ],
    Rule(before=dtype_word),
]  # fmt: skip
EnumWord = Annotated[str, Rule(before=enum_word, strict=True)]
QuantMode = EnumWord | NotNegative
Version = Annotated[str, Rule(before=number_as_text, strict=True, max_length=40)]
Capability = Annotated[str, Rule(before=number_as_text, strict=True, pattern=r"^[0-9]{1,2}\.[0-9]$")]
Platform = Literal["cuda", "rocm", "xpu", "cpu"]
Layout = Literal["NHD", "HND", "LBHNC", "LBNHC", "LHBNC", "BLHNC", "BLNHC", "BHLNC"]
SupportLevel = Literal["NEVER", "UNIFORM_SINGLE_TOKEN_DECODE", "UNIFORM_BATCH", "ALWAYS"]
CUDAGraphMode = Literal["NONE", "PIECEWISE", "FULL", "FULL_DECODE_ONLY", "FULL_AND_PIECEWISE"]
CompilationMode = Annotated[
    Literal["NONE", "STOCK_TORCH_COMPILE", "DYNAMO_TRACE_ONCE", "VLLM_COMPILE"], Rule(before=compilation_mode)
]
MambaCacheMode = Literal["none", "align", "all"]
