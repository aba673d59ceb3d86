"""The names of a view's axes, from the sizes that a backend's shape is made of.

An axis is named only where its size says so: one that grows with the blocks alone counts blocks. What follows from no
size, as a number that stands in a shape for itself, stays unnamed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kvinspect.backends.expressions import evaluate

BLOCK = "block"
"""Kernel blocks."""
KV = "kv"
"""Keys, then values."""
TOKEN = "token"
STATE = "state"
"""Stored states, each of which stands for several tokens, or for a request."""
HEAD = "head"
KV_HEAD = "kv_head"
"""The heads of the keys, then those of the values."""
DIM = "dim"
"""Elements of a key, of a value, or of a latent vector."""
KV_DIM = "kv_dim"
"""Elements of a key, then those of its value."""
CONTENT = "content"
"""What is kept of a token and a head, with scales or packed."""
BYTE = "byte"

Axes = tuple[str | None, ...]
"""The names of a view's axes, None for one of which nothing tells what it is."""

SHOWN = {BLOCK: "blocks", TOKEN: "tokens", STATE: "states", HEAD: "heads", KV_HEAD: "kv heads", KV_DIM: "kv dim"}
"""Axis → how people see it before its size, where that is another word; "?" stands for an axis without a name."""

_PROBES = (
    {"num_blocks": 10007, "block_size": 1008, "num_kv_heads": 211, "head_size": 3200, "head_size_v": 1664},
    {"num_blocks": 20011, "block_size": 2032, "num_kv_heads": 401, "head_size": 6912, "head_size_v": 4480},
)
"""Sizes under which two expressions have the same values only where they are the same."""

_TOLD = {
    "num_blocks": BLOCK,
    "block_size": TOKEN,
    "num_kv_heads": HEAD,
    "2*num_kv_heads": KV_HEAD,
    "head_size": DIM,
    "2*head_size": KV_DIM,
    "head_size+head_size_v": KV_DIM,
}
_OF_A_HEAD = frozenset({"head_size", "head_size_v"})


def axes_of(shape: Sequence[str | int]) -> Axes:
    """The names of the axes of a written shape.

    >>> axes_of((2, "num_blocks", "block_size", "num_kv_heads", "head_size"))
    ('kv', 'block', 'token', 'head', 'dim')
    >>> axes_of(("num_blocks", "block_size", 656))
    ('block', 'token', None)
    """
    return _axes_of(tuple(shape))


@lru_cache(maxsize=1024)
def _axes_of(shape: tuple[str | int, ...]) -> Axes:
    found = tuple(_axis(entry) for entry in shape)
    # A shape tells keys from values by one dim of 2, heads that are two by an expression; two of them say nothing.
    return tuple(name if name is None or found.count(name) == 1 else None for name in found)


def _axis(entry: str | int) -> str | None:
    values = _values(entry)
    if values == (2, 2):
        return KV
    told = next((name for written, name in _TOLD.items() if _values(written) == values), None)
    if told is not None:
        return told
    made_of = _made_of(entry)
    return CONTENT if made_of and made_of <= _OF_A_HEAD else None


def _values(entry: str | int) -> tuple[int, ...]:
    return tuple(evaluate(entry, sizes) for sizes in _PROBES)


def _made_of(entry: str | int) -> frozenset[str]:
    """The sizes on which an entry hangs."""
    first, second = _PROBES
    plain = evaluate(entry, first)
    return frozenset(name for name in first if evaluate(entry, {**first, name: second[name]}) != plain)


def storing_states(axes: Axes) -> Axes:
    """The axes of a view whose blocks hold states in place of tokens."""
    return tuple(STATE if name == TOKEN else name for name in axes)


def sizes(axes: Axes, shape: Sequence[int]) -> str:
    """The sizes of a view with the names of its axes.

    >>> sizes(("block", "kv", "token", None), (512, 2, 16, 656))
    'blocks 512 · kv 2 · tokens 16 · ? 656'
    """
    names = axes if len(axes) == len(shape) else (None,) * len(shape)
    return " · ".join(f"{_shown(name)} {size}" for name, size in zip(names, shape, strict=True))


def _shown(name: str | None) -> str:
    return "?" if name is None else SHOWN.get(name, name)
