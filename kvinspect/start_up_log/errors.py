"""The lines of a start-up log that say why an engine does not start: their forms in 0.19 to 0.33, and what they mean.

The known errors stand before the form that takes any error, which says no more than the engine does.
"""

from __future__ import annotations

COUNT = r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,5}|[0-9]{1,18})(?!,?[0-9])"
"""A count, whose commas stand where the engine puts them, not cut short."""
DECIMAL = r"[0-9]{1,12}(?:\.[0-9]{1,12})?"
"""A decimal number."""

STOPPED, ANY_ERROR = "stopped", "error"
"""Kinds of lines: of an error whose meaning is known, and of any other."""

_NO = "The engine does not start: "

_KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        " exceeds available Mamba cache blocks",
        rf"max_num_seqs \((?P<seqs>{COUNT})\) exceeds available Mamba cache blocks \((?P<blocks>{COUNT})\)",
        "each of {seqs} sequences needs a state block, and there are {blocks}; lower --max-num-seqs to {blocks} or "
        "give the cache more memory.",
    ),
    (
        "No valid attention backend found",
        r"No valid attention backend found for (?P<platform>\w{1,40})(?:.{0,2000}?Reasons: (?P<reasons>.{1,2000}))?",
        "no attention backend of {platform} supports the layers; the log line lists what each backend lacks.",
    ),
    (
        "failed to convert the KV cache specs to one unified type",
        r"failed to convert the KV cache specs to one unified type",
        "the hybrid KV cache manager is off, and the layers do not become one type.",
    ),
    (
        "Cannot unify by adjusting block_size",
        r"(?:page size of the layer is not divisible by the maximum page size\. )?Cannot unify by adjusting block_size",
        "the pages of its layers cannot be made equal: the largest is no multiple of another.",
    ),
    (
        "No common block size for ",
        rf"No common block size for (?P<tokens>{COUNT})",
        "the backends that share a block of {tokens} tokens have no block size in common.",
    ),
    (
        " is less than desired GPU memory utilization",
        rf"Free memory on device (?P<device>[\w:]{{1,40}}) \((?P<available>{DECIMAL})/(?P<of_gib>{DECIMAL}) GiB\) on "
        rf"startup is less than desired GPU memory utilization \((?P<fraction>{DECIMAL}), (?P<gib>{DECIMAL}) GiB\)",
        "{gib} GiB of the device ({fraction} of its memory) are requested, and {available} GiB are free; another "
        "process holds the rest.",
    ),
    (
        " is not divisible by remote block size ",
        rf"Local block size (?P<local>{COUNT}) is not divisible by remote block size (?P<remote>{COUNT})",
        "the KV connector joins blocks of {local} tokens with blocks of {remote}, and neither is a multiple of the "
        "other.",
    ),
)  # fmt: skip

ERRORS: tuple[tuple[str, str, str, str], ...] = (
    (
        "too_small",
        " GiB KV cache is needed",
        rf"^\s{{0,20}}\((?P<gib>{DECIMAL}) GiB KV cache is needed, which is larger than the available KV cache memory "
        rf"\((?P<available>{DECIMAL}) GiB\)",
        _NO + "one request of the greatest length needs {gib} GiB, and there are {available}.",
    ),
    *((STOPPED, words, pattern, _NO + why) for words, pattern, why in _KNOWN),
    (
        ANY_ERROR,
        "Error: ",
        r"\b(?P<error>[A-Z]\w{0,60})Error: (?P<why>\S.{0,300})",
        "An error while the engine starts: {error}Error.",
    ),
)
"""Kind, words, pattern and meaning, as those of the other lines."""

SERVING = (
    "serving",
    "Application startup complete",
    "Application startup complete",
    "The server takes requests.",
)
"""What tells that the start was over."""
