"""What a family says of its layers: names, heads, windows and states, before a release makes specs of them.

Heads are those of the whole model; sizes are in elements, windows and chunks in tokens. `number` is the place of a
layer in the stack, by which pipeline stages are cut; None where every stage has the layer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Attention(NamedTuple):
    """Attention over keys and values of heads (`Attention` and the classes made of it)."""

    name: str
    number: int | None
    num_heads: int
    num_kv_heads: int
    head_size: int
    head_size_v: int | None = None
    sliding_window: int | None = None
    """Of this layer; without one the model's window counts, where the whole model has one."""
    attention_chunk_size: int | None = None
    attn_type: str = "decoder"
    has_sink: bool = False
    kv_sharing_target: str | None = None
    """The layer whose cache this one uses."""
    backend: str | None = None
    """The backend that the family takes whatever the user says."""
    repeats_kv_heads: bool = True
    """Whether KV heads are repeated on ranks that outnumber them; a few models divide and stop at none."""
    kind: str | None = None
    """The spec's kind where it does not follow from the above, and its further fields."""
    fields: Mapping[str, Any] = {}


class Latent(NamedTuple):
    """Multi-head latent attention (`MLAAttention`): one vector a token, whatever the heads."""

    name: str
    number: int | None
    num_heads: int
    head_size: int
    """Elements of the latent vector and of the rotary part together."""
    sparse: bool = False
    sliding_window: int | None = None
    facts: Mapping[str, Any] = {}
    """What else a backend asks for: `qk_nope_head_dim`, `index_topk`."""
    picks: bool = False
    """Whether the layer's own indexer picks its tokens."""
    backend: str | None = None
    kind: str | None = None
    fields: Mapping[str, Any] = {}


class State(NamedTuple):
    """A state-space, convolution or linear-attention layer: states of a request, as one rank holds them."""

    name: str
    number: int | None
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    mamba_type: str
    backend: str | None = None
    """The backend's name where it is not the kind's."""
    checkpoint: int | None = None
    """Tokens that the states which a prefill leaves on its way are aligned to; above 1 they lie on whole blocks."""
    checkpoint_alignment: int | None = None
    """The same where blocks do not keep to it: the layer's kernel leaves them at any multiple."""
    weighed: tuple[tuple[int, ...], ...] | None = None
    """The shapes by which pages are aligned, where the model's class answers others than its layers."""


class Given(NamedTuple):
    """A cache whose spec the family writes down itself, such as an indexer's keys.

    `fields` are those of the spec of its `kind`; `block_size` is the engine's where they name none.
    """

    name: str
    number: int | None
    backend: str
    kind: str
    fields: Mapping[str, Any]


class Bare(NamedTuple):
    """A layer with a backend but without a cache of its own."""

    name: str
    number: int | None
    backend: str


Layer = Attention | Latent | State | Given | Bare
