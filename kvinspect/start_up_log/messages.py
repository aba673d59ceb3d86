"""The lines of a start-up log that tell of the KV cache: their forms in 0.19 to 0.33, and what each of them means.

A pattern takes a line's words and no more of them than make it certain, for people cut lines short. Numbers are in
groups, whose names say how they are read. What may stand between two words is bounded, so that a pattern takes time by
the length of a line, whatever the line holds.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kvinspect.start_up_log.errors import COUNT as _N
from kvinspect.start_up_log.errors import DECIMAL as _D
from kvinspect.start_up_log.errors import ERRORS, SERVING

COUNTS = (
    "tokens",
    "length",
    "blocks",
    "layers",
    "from",
    "to",
    "estimate",
    "graphs",
    "seqs",
    "local",
    "remote",
    "heads",
    "ranks",
    "gpus",
)
"""Groups that hold a whole number, with or without commas."""

DECIMALS = ("gib", "of_gib", "available", "percent", "times", "seconds", "fraction", "equivalent", "capability")
"""Groups that hold a decimal number, kept to the digit."""


class Message(NamedTuple):
    """A kind of line: words that all of them have, a pattern, and a sentence in which its groups are filled in."""

    kind: str
    words: str
    """Long enough that a log holds them seldom: only lines with them are held against the pattern."""
    pattern: re.Pattern[str]
    meaning: str


_WORD = r"[\w.+-]{1,40}"
_MODE, _NAME = r"(?:CUDAGraphMode\.)?", r"[A-Z_]{1,40}"
_GRAPHS = rf"{_NAME}=[0-9]{{1,9}} \(largest=[0-9]{{1,9}}\)"
_BACKEND = "[A-Z][A-Z0-9_]{1,60}"
_REQUESTED = "Attention runs on {backend}: the requested backend."
_EAGER = "No CUDA graphs and no compilation: --enforce-eager."

_FORMS: tuple[tuple[str, str, str, str], ...] = (
    (
        "release",
        "Initializing a V1 LLM engine (v",
        rf"Initializing a V1 LLM engine \(v(?P<release>{_WORD})\)",
        "The release: vLLM {release}.",
    ),
    (
        "release",
        " server version ",
        rf"vLLM (?:API )?server version (?P<release>{_WORD})",
        "The release: vLLM {release}.",
    ),
    (
        "backend",
        "Using AttentionBackendEnum.",
        rf"Using AttentionBackendEnum\.(?P<backend>{_BACKEND}) backend",
        _REQUESTED,
    ),
    (
        "backend",
        " backend (selected via ",
        rf"Using (?P<backend>{_BACKEND}) backend \(selected via ",
        _REQUESTED,
    ),
    (
        "backend",
        " backend out of potential backends",
        rf"Using (?P<backend>{_BACKEND}) (?:attention )?backend out of potential backends",
        "Attention runs on {backend}: no backend was requested for these layers, and it is the platform's "
        "highest-priority backend that supports them.",
    ),
    (
        "backend",
        " backend",
        rf"Using (?P<backend>{_BACKEND}) (?:attention )?backend(?! \(selected via | out of potential backends)",
        "Attention runs on {backend}: the requested backend, or the platform's highest-priority backend that supports "
        "the model's head size and dtypes.",
    ),
    (
        "layout",
        " KV cache layout for ",
        r"Using (?P<layout>[A-Z]{3,5}) KV cache layout for (?P<backend>\w{1,60}) backend",
        "{backend} requires the layout {layout}, whichever was requested.",
    ),
    (
        "cache_dtype",
        " data type to store kv",
        r"Using (?P<dtype>\w{1,40}) data type to store kv ?cache",
        "The cache is kept as {dtype}, --kv-cache-dtype, so a token takes fewer bytes.",
    ),
    (
        "attention_block",
        "Setting attention block size to ",
        rf"Setting attention block size to (?P<tokens>{_N}) tokens",
        "Blocks of attention layers hold {tokens} tokens: the fewest, in whole kernel blocks, whose page is as large "
        "as that of another layer on the same bytes, a state mostly.",
    ),
    (
        "mamba_padding",
        "Padding mamba page size by ",
        rf"Padding mamba page size by (?P<percent>{_D})%",
        "A state's page is {percent} % larger than the state, so that it is as large as a page of attention; these "
        "bytes hold nothing.",
    ),
    (
        "padding_layers",
        " padding layers, may waste at most ",
        rf"Add (?P<layers>{_N}) padding layers, may waste at most (?P<percent>{_D})%",
        "Groups have equally many layers, and one kind of layer does not fill its last group: {layers} places stay "
        "empty, {percent} % as many as it has layers.",
    ),
    (
        "hybrid_manager_off",
        "Turning off hybrid kv cache manager because",
        r"Turning off hybrid kv cache manager because `?(?P<flag>--[\w-]{1,60})`? is set",
        "The KV connector that {flag} names does not support several kinds of KV cache groups, so vLLM turns the "
        "hybrid KV cache manager off.",
    ),
    (
        "hybrid_manager_off",
        "Hybrid KV cache manager is disabled",
        r"Hybrid KV cache manager is disabled for this hybrid model",
        "Sliding-window and chunked layers keep every token, as full attention does.",
    ),
    (
        "available",
        "Available KV cache memory: ",
        rf"Available KV cache memory: (?P<gib>-?{_D}) GiB",
        "{gib} GiB, rounded, are left for the cache of this worker: what may be used of the device, less weights, "
        "activations and, from 0.21 on, CUDA graphs.",
    ),
    (
        "reserved",
        " GiB memory for KV Cache as specified",
        rf"reserved (?P<gib>{_D}) GiB memory for KV Cache as specified by kv_cache_memory_bytes",
        "{gib} GiB are for the KV cache, as --kv-cache-memory-bytes sets it; nothing was measured.",
    ),
    (
        "reserved",
        "Explicitly set (",
        rf"Explicitly set \((?P<gib>{_D})/(?P<of_gib>{_D})\) GiB for KV cache",
        "{gib} of the host's {of_gib} GiB are for the cache, by VLLM_CPU_KVCACHE_SPACE or --kv-cache-memory-bytes.",
    ),
    (
        "reduced",
        "KV cache memory reduced to ",
        rf"KV cache memory reduced to (?P<gib>{_D}) GiB",
        "{gib} GiB are left after what multimodal inputs keep on the device.",
    ),
    (
        "auto_fit",
        "Auto-fit max_model_len: ",
        rf"Auto-fit max_model_len: reduced from (?P<from>{_N}) to (?P<to>{_N})",
        "--max-model-len auto: one request of {from} tokens would not fit, one of {to} does.",
    ),
    (
        "override",
        "Overriding num_gpu_blocks=",
        rf"Overriding num_gpu_blocks=(?P<from>{_N}) with num_gpu_blocks_override=(?P<to>{_N})",
        "{to} blocks in place of the {from} that fit, by --num-gpu-blocks-override.",
    ),
    (
        "blocks",
        "after num_gpu_blocks is: ",
        rf"after num_gpu_blocks is: (?P<blocks>{_N})",
        "The block manager gives out {blocks} blocks, one of them the null block.",
    ),
    ("size", " KV cache size: ", rf"\b\w{{1,40}}(?: \+ host)? KV cache size: (?P<tokens>{_N}) tokens", ""),
    (
        "concurrency",
        "Maximum concurrency for ",
        rf"Maximum concurrency for (?P<length>{_N}) tokens per request: (?P<times>{_D})x",
        "{times} requests of the greatest length, {length} tokens, fit at a time: blocks, by the blocks of one request "
        "over all groups.",
    ),
    (
        "eager",
        "Enforce eager set",
        "Enforce eager set",
        _EAGER,
    ),
    (
        "eager",
        "Cudagraph is disabled under eager mode",
        "Cudagraph is disabled under eager mode",
        _EAGER,
    ),
    (
        "graphs_narrowed",
        " setting cudagraph_mode=",
        rf"\b{_MODE}(?P<asked>{_NAME}) is not\s{{1,9}}+supported\s{{0,9}}+with(?: spec-decode for attention backend)? "
        rf"(?P<backend>\w{{1,80}})(?>[^;\n]{{0,80}}?\(support: ?)(?:AttentionCGSupport\.)?(?P<support>{_NAME})"
        rf"[^)\n]{{0,80}}+\)(?>.{{0,200}}?setting cudagraph_mode=){_MODE}(?P<mode>{_NAME})",
        "{asked} becomes {mode}: {backend} supports no more than {support}.",
    ),
    (
        "graphs_overridden",
        "Overriding cudagraph_mode ",
        rf"Overriding cudagraph_mode (?:from {_MODE}(?P<asked>{_NAME}) )?to {_MODE}(?P<mode>{_NAME})",
        "The CUDA graph mode becomes {mode}, before any backend is asked.",
    ),
    (
        "graphs_overridden",
        " is not compatible with compilation mode",
        rf"Cudagraph mode {_MODE}(?P<asked>{_NAME}) is not compatible with compilation mode [\w.<>: ]{{1,60}}?\. ?"
        rf"Overriding to (?P<mode>{_NAME})",
        "{asked} becomes {mode}: without compiled pieces there are no piecewise graphs.",
    ),
    (
        "graphs_profiled",
        "Profiling CUDA graph memory: ",
        rf"Profiling CUDA graph memory: (?P<profiled>{_GRAPHS}(?:, {_GRAPHS}){{0,9}})",
        "Graphs that will be captured, by kind, and the largest batch of each: {profiled}.",
    ),
    (
        "graphs_estimated",
        "Estimated CUDA graph memory: ",
        rf"Estimated CUDA graph memory: (?P<gib>{_D}) GiB total",
        "{gib} GiB are set aside for CUDA graphs before the cache is measured.",
    ),
    (
        "graphs_counted",
        "current --gpu-memory-utilization=",
        rf"current --gpu-memory-utilization=(?P<fraction>{_D}) is equivalent to "
        rf"--gpu-memory-utilization=(?P<equivalent>{_D}) without",
        "Including the memory of CUDA graphs has the effect of lowering --gpu-memory-utilization from {fraction} to "
        "{equivalent}.",
    ),
    (
        "graphs_captured",
        "Graph capturing finished in ",
        rf"Graph capturing finished in (?P<seconds>{_D}) secs, took (?P<gib>{_D}) GiB",
        "CUDA graphs were captured: {seconds} seconds, {gib} GiB.",
    ),
)
MESSAGES = tuple(
    Message(kind, words, re.compile(pattern), meaning) for kind, words, pattern, meaning in (*_FORMS, SERVING, *ERRORS)
)
"""Every form; a line may have several, as the size and the concurrency of newer releases."""
