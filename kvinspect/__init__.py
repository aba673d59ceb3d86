"""How vLLM lays out, shares and sizes its KV cache, told before a GPU is touched."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvinspect.api import (
        AlignAnswer,
        AttentionCGSupport,
        AttentionCGSupportInfo,
        CGSupportAnswer,
        CUDAGraphMode,
        DeviceAnswer,
        DeviceError,
        Document,
        DocumentError,
        InternalError,
        MMPrefixAnswer,
        align,
        cg_support,
        cg_support_matrix,
        cg_support_table,
        load,
        mm_prefix,
    )

__version__ = "0.1.0"
__all__ = [
    "AlignAnswer",
    "AttentionCGSupport",
    "AttentionCGSupportInfo",
    "CGSupportAnswer",
    "CUDAGraphMode",
    "DeviceAnswer",
    "DeviceError",
    "Document",
    "DocumentError",
    "InternalError",
    "MMPrefixAnswer",
    "align",
    "cg_support",
    "cg_support_matrix",
    "cg_support_table",
    "load",
    "mm_prefix",
]


def __getattr__(name: str) -> Any:
    """The names of `kvinspect.api`, imported when the first of them is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kvinspect import api

    return getattr(api, name)
