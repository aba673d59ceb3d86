"""KV cache specs as a release knows them: the document's entries with the release's defaults filled in.

The classes stand for those of `vllm/v1/kv_cache_interface.py` (0.25 on); `kind` tells the subclasses apart. Sizes are
in elements but where a name says bytes; how large a page is, is a rule of the release (`pages.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from kvinspect.document.document import Group
from kvinspect.document.model import SpecEntry
from kvinspect.document.problem import Path
from kvinspect.document.spec_fields import FIELDS, MARKS
from kvinspect.document.words import DTYPE_BYTES, KIND_OF_WORD, SPEC_CLASSES
from kvinspect.engine.refusal import Refused

LATENT = ("mla_attention", "hidden_state_cache", "sliding_window_mla")
"""Kinds that cache one latent vector a token."""

FULL = ("full_attention", "tq_full_attention", "rswa", "sink_full_attention", "mla_attention", "hidden_state_cache")
"""Kinds whose class derives from FullAttentionSpec."""

REPORTED = {"tq_full_attention": "full_attention", "rswa": "full_attention", "hidden_state_cache": "mla_attention"}
"""Kinds that `get_kv_cache_spec_kind` gives the name of their base class."""


class AttentionSpec(NamedTuple):
    """The spec of an attention layer."""

    kind: str
    block_size: int
    num_kv_heads: int
    head_size: int
    head_size_v: int
    dtype: str
    kv_quant_mode: str = "NONE"
    page_size_padded: int | None = None
    indexes_kv_by_block_stride: bool = False
    num_head_slots: int | None = None
    state_content_bytes: int | None = None
    sliding_window: int | None = None
    extra_retained_tokens: int = 0
    attention_chunk_size: int | None = None
    non_causal: bool = False
    sink_len: int | None = None
    rswa_window: int | None = None
    tq_slot_size: int = 0
    cache_dtype_str: str | None = None
    alignment: int | None = None
    compress_ratio: int | Fraction = 1
    """Tokens of one stored state; called `tokens_per_state` from 0.29 on, where it may be a fraction."""
    model_version: str | None = None
    non_causal_multi_token_decode: bool = False
    dcp_sharded: bool = True
    """Whether decode context parallelism shards the cache (0.33)."""
    block_stride_alignment: int | str | None = None
    """Bytes that the stride of blocks is a multiple of, or `64n`: whole kernel blocks of up to 64 tokens (0.33)."""
    view_block_size: int | None = None
    """The document's `storage_block_size`: tokens of a kernel block in the view, if not the kernels' (0.30)."""
    marks: tuple[tuple[str, Any], ...] = ()
    """Fields that move no byte and only tell specs apart."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return DTYPE_BYTES[self.dtype]

    @property
    def storage_block_size(self) -> int:
        """States that a block stores: fewer than its tokens where the cache is compressed."""
        return self.states_of(self.block_size)

    def states_of(self, tokens: int) -> int:
        """States that so many tokens of a block store."""
        return int(tokens // self.compress_ratio) if self.compress_ratio > 0 else 1

    @property
    def num_heads(self) -> int:
        """Head slots of a page: one a KV head where the backend packs nothing else (0.28 on)."""
        return self.num_head_slots or self.num_kv_heads

    @property
    def num_states(self) -> int:
        """States of a page."""
        return self.storage_block_size

    @property
    def per_token_head(self) -> bool:
        """Whether each token and head has a scale of its own beside its data."""
        return self.kv_quant_mode.endswith("_PER_TOKEN_HEAD")


class MambaSpec(NamedTuple):
    """The spec of a state-space or linear-attention layer: one page holds the states of one request."""

    block_size: int
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    page_size_padded: int | None = None
    mamba_type: str = "MAMBA2"
    mamba_cache_mode: str = "none"
    num_speculative_blocks: int = 0
    num_heads: int = 1
    tokens_per_state: int = -1
    block_stride_alignment: int | str | None = None
    marks: tuple[tuple[str, Any], ...] = ()
    kind: str = "mamba"

    def states_of(self, tokens: int) -> int:
        """1: a block holds the state of one request, unless the spec says otherwise (0.29 on)."""
        return tokens // self.tokens_per_state if self.tokens_per_state > 0 else 1

    @property
    def num_states(self) -> int:
        """States of a page."""
        return self.states_of(self.block_size)

    @property
    def storage_block_size(self) -> int:
        """As of every spec."""
        return self.block_size

    @property
    def states_bytes(self) -> int:
        """Bytes of all states together."""
        sizes = zip(self.shapes, self.dtypes, strict=False)
        return sum(prod(shape) * DTYPE_BYTES[dtype] for shape, dtype in sizes)


LayerSpec = AttentionSpec | MambaSpec


class _UniformTypeSpecs(NamedTuple):
    block_size: int
    specs: tuple[tuple[str, LayerSpec], ...]
    kind: str = "uniform_type"


class UniformTypeSpecs(_UniformTypeSpecs):
    """The specs of layers of one type whose pages differ in size."""

    @cached_property
    def by_layer(self) -> Mapping[str, LayerSpec]:
        """Layer name → its spec, in the order of the document."""
        return dict(self.specs)


GroupSpec = LayerSpec | UniformTypeSpecs


def reported_kind(spec: LayerSpec) -> str:
    """The kind as vLLM's `get_kv_cache_spec_kind` names it."""
    return REPORTED.get(spec.kind, spec.kind)


def group_spec(group: Group, catalogue: Mapping[str, Any]) -> GroupSpec:
    """The spec of a KV cache group in a release. Raises Refused where the release's classes do not take it."""
    path = (*group.path, "kv_cache_spec")
    entry = group.spec
    if kind_of(entry) != "uniform_type":
        return layer_spec(entry, catalogue, path)
    inner = [
        (layer, layer_spec(spec, catalogue, (*path, "kv_cache_specs", layer)))
        for layer, spec in group.layer_specs.items()
    ]
    return UniformTypeSpecs(entry.block_size or inner[0][1].block_size, tuple(inner))


def kind_of(entry: SpecEntry) -> str:
    """The kind of a written spec."""
    return KIND_OF_WORD[entry.kind or entry.type or ""]


def layer_spec(entry: SpecEntry, catalogue: Mapping[str, Any], path: Path) -> LayerSpec:
    """The spec of one layer in a release. Raises Refused where the release's class does not take it."""
    kind = kind_of(entry)
    given = {name: value for field in FIELDS[kind] for name in field if (value := getattr(entry, name)) is not None}
    if kind in LATENT:
        given.setdefault("num_kv_heads", 1)
    _check_fields(kind, given, catalogue, path)
    if kind == "mamba":
        return _mamba(given, catalogue, path)
    given = _renamed(given)
    if "kv_quant_mode" in given:
        given["kv_quant_mode"] = _enum(given["kv_quant_mode"], catalogue["kv_quant_modes"], (*path, "kv_quant_mode"))
    # From 0.28 on the V size is a field of every attention spec, and a latent cache has no V apart.
    without_v = 0 if kind in LATENT and "state_content_bytes" in _fields(kind, catalogue) else given["head_size"]
    return AttentionSpec(kind=kind, **{"head_size_v": without_v, **given})


RENAMED = {"tokens_per_state": "compress_ratio", "storage_block_size": "view_block_size"}
"""What newer releases call a field → what it is called here."""


def _renamed(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of an attention spec as they are called here, those that move no byte put together."""
    if isinstance(given.get("tokens_per_state"), str):
        given["tokens_per_state"] = Fraction(given["tokens_per_state"])
    marks = _marks(given)
    return {RENAMED.get(key, key): value for key, value in given.items() if key not in MARKS} | marks


def _marks(given: Mapping[str, Any]) -> dict[str, Any]:
    said = {key: value for key, value in given.items() if key in MARKS and value not in (None, False, 0, "sparse")}
    found = tuple(sorted((key, value) for key, value in said.items() if key != "is_draft"))
    return {"marks": found} if found else {}


def field_of(spec: LayerSpec, name: str) -> Any:
    """The value of a field that a release's class calls `name`; None for one that says nothing of the cache."""
    if name in MARKS:
        return dict(spec.marks).get(name)
    return getattr(spec, name if isinstance(spec, MambaSpec) else RENAMED.get(name, name), None)


def _mamba(given: dict[str, Any], catalogue: Mapping[str, Any], path: Path) -> MambaSpec:
    types = {name: name for name, entry in catalogue["backends"].items() if entry.get("is_ssm")} | {"CUSTOM": "CUSTOM"}
    if "mamba_type" in given:
        given["mamba_type"] = _enum(given["mamba_type"], types, (*path, "mamba_type"))
    given["shapes"] = tuple(tuple(shape) for shape in given["shapes"])
    given["dtypes"] = tuple(given["dtypes"])
    given.pop("dcp_sharded", None)  # a state is whole on every rank, whatever is said
    marks = _marks(given)
    return MambaSpec(**{key: value for key, value in given.items() if key not in MARKS} | marks)


def _fields(kind: str, catalogue: Mapping[str, Any]) -> list[str]:
    classes = catalogue["spec_classes"]
    known = classes.get(SPEC_CLASSES[kind], {"required": [], "optional": []})
    return [*known["required"], *known["optional"]]


def _check_fields(kind: str, given: dict[str, Any], catalogue: Mapping[str, Any], path: Path) -> None:
    name, release = SPEC_CLASSES[kind], catalogue["release"]
    if name not in catalogue["spec_classes"]:
        raise Refused("AttributeError", f"vLLM {release} has no {name}", stage="spec", path=path)
    for field in given:
        if field not in _fields(kind, catalogue):
            text = f"{name} of vLLM {release} has no field {field}"
            raise Refused("TypeError", text, stage="spec", path=(*path, field))


def _enum(value: str | int, members: Mapping[str, Any], path: Path) -> str:
    """The name of an enum's member, given by name, alias or number."""
    wanted = members.get(value, value) if isinstance(value, str) else value
    for name, number in members.items():
        if wanted in (name, number):
            return name
    error = "KeyError" if isinstance(value, str) else "ValueError"
    raise Refused(error, f"{value} is none of {', '.join(members)}", stage="spec", path=path)
