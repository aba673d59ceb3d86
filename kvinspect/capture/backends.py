"""The attention backends of a running engine: their names, what they answer, and the groups that run on them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from kvinspect.capture.spec_entries import if_there, plain, spec_entry

REGISTRY = "vllm.v1.attention.backends.registry"
ASKED = {"num_blocks": 1009, "head_size": 128 * 17, "block_size": 16 * 7, "num_kv_heads": 13}
"""Sizes for which a foreign backend is asked for its shape, so that every entry tells what it is made of."""


def name_of(backend: Any) -> str:
    """A backend as a document names it: vLLM's word for its class, else the class's name.

    A class that is made at run time out of another (chunked local attention, cross attention) is that other one.
    """
    static = next((cls for cls in backend.__mro__ if _is_static(cls)), backend)
    path = f"{static.__module__}.{static.__qualname__}"
    registry = sys.modules.get(REGISTRY)
    for words in ("AttentionBackendEnum", "MambaAttentionBackendEnum"):
        for word in getattr(registry, words, ()):
            if word.value == path:
                return str(word.name)
    return str(static.__name__)


def _is_static(cls: type) -> bool:
    """Whether a class can be found where it says it is."""
    return getattr(sys.modules.get(cls.__module__), cls.__qualname__, None) is cls


def attention_groups(groups: Iterable[Any], layers: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The runner's attention groups, those of one KV cache group after the other."""
    return [
        {"backend": name_of(group.backend), **_heads(group, layers), "layer_names": list(group.layer_names)}
        for group in groups
    ]


def _heads(group: Any, layers: Mapping[str, Any]) -> dict[str, Any]:
    heads = getattr(layers.get(group.layer_names[0]), "num_heads", None) if group.layer_names else None
    counted = {"num_heads_q": heads} if type(heads) is int else {}
    return {"kv_cache_group_id": group.kv_cache_group_id, **counted}


def encoder_groups(groups: Iterable[Any]) -> list[dict[str, Any]]:
    """Attention groups that stand outside the KV cache."""
    return [
        {
            "backend": name_of(group.backend),
            "layer_names": list(group.layer_names),
            "kv_cache_spec": spec_entry(group.kv_cache_spec),
        }
        for group in groups
    ]


def cudagraph_support(group: Any, vllm_config: Any) -> str:
    """What a group's backend supports, as its metadata builder answers for the group's spec."""
    builder = group.backend.get_builder_cls()
    return str(builder.get_cudagraph_support(vllm_config, group.kv_cache_spec).name)


def foreign_backends(groups: Iterable[Any], vllm_config: Any) -> dict[str, Any]:
    """Backends that are not vLLM's own, as a document describes them."""
    found = {}
    for group in groups:
        if not group.backend.__module__.startswith("vllm."):
            support = {"cudagraph_support": cudagraph_support(group, vllm_config)}
            found[name_of(group.backend)] = support | {k: v for k, v in _answers(group.backend).items() if v}
    return found


def _answers(backend: Any) -> dict[str, Any]:
    """What a backend says of its cache: its shape up to 0.28, the layouts that it reads from 0.29 on."""
    sizes = (ASKED[size] for size in _ORDER)
    layouts = getattr(backend, "supported_kv_cache_layouts", None)
    return {
        "kv_cache_shape": if_there(lambda: [entry_of(dim) for dim in backend.get_kv_cache_shape(*sizes)]),
        "kv_cache_stride_order": if_there(lambda: list(backend.get_kv_cache_stride_order())),
        "supported_kv_cache_layouts": if_there(lambda: plain(list(layouts()))) if layouts else None,
        "supported_kernel_block_sizes": if_there(lambda: plain(list(backend.get_supported_kernel_block_sizes()))),
    }


_ORDER = ("num_blocks", "block_size", "num_kv_heads", "head_size")


def entry_of(dim: int) -> int | str:
    """An entry of a shape by what it is a product of.

    >>> entry_of(2), entry_of(1009), entry_of(2 * 2176), entry_of(112 * 13)
    (2, 'num_blocks', '2*head_size', 'block_size*num_kv_heads')
    """
    factors = []
    for size, value in ASKED.items():
        if dim and dim % value == 0:
            factors.append(size)
            dim //= value
    if not factors:
        return dim
    return "*".join([str(dim)] * (dim != 1) + factors)
