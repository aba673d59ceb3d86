"""TurboQuant's caches: how many bytes a token takes, and which layers are left unquantised (`TurboQuantConfig`)."""

from __future__ import annotations

BITS = {
    "turboquant_k8v4": (8, 4),
    "turboquant_4bit_nc": (4, 4),
    "turboquant_k3v4_nc": (3, 4),
    "turboquant_3bit_nc": (3, 3),
}
"""Cache dtype → bits of a key's and a value's element."""

AT_EACH_END = 2
"""Layers at the beginning and at the end of a model that are not quantised."""


def slot_bytes(cache_dtype: str, head_size: int) -> int:
    """Bytes of one head of one token: key and value with their scales, made even.

    >>> slot_bytes("turboquant_k8v4", 128)
    196
    """
    key_bits, value_bits = BITS[cache_dtype]
    key = head_size if key_bits == 8 else -(-head_size * key_bits // 8) + 2
    value = -(-head_size * value_bits // 8) + 4
    return key + value + (key + value) % 2


def left_unquantised(layers: int) -> tuple[str, ...]:
    """The numbers of the first and last layers of a model without state-space layers.

    >>> left_unquantised(6)
    ('0', '1', '4', '5')
    """
    count = min(AT_EACH_END, layers // 2)
    return tuple(str(i) for i in range(layers) if i < count or i >= layers - count)
