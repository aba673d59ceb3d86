"""Attention backends: what the catalogue or the document says that they answer, evaluated.

The answers are those of vLLM's `AttentionBackend` classes: `get_supported_kernel_block_sizes`; up to 0.28
`get_kv_cache_shape`, `get_kv_cache_block_dim`, `get_kv_cache_stride_order` and `get_required_kv_cache_layout`; from
0.29 on `supported_kv_cache_layouts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from kvinspect.backends.conditions import Facts, Rule, choose, outcomes
from kvinspect.backends.expressions import check, evaluate
from kvinspect.data import catalogue
from kvinspect.document.frozen import Frozen, frozen
from kvinspect.document.model import BackendEntry
from kvinspect.document.numbers import counted
from kvinspect.document.problem import Path
from kvinspect.document.refusal import Refused

PROBE = 1234567
"""The number of blocks with which the engine asks for a shape to find the dim that holds it."""

OUT_OF_TREE = "out_of_tree"
"""The module of every backend that a document defines."""


class Backend(NamedTuple):
    """A backend under the facts of one deployment."""

    name: str
    class_name: str
    module: str
    shapes: tuple[Rule, ...]
    stride_orders: Mapping[str, Sequence[int] | None]
    kernel_block_sizes: tuple[int | str, ...]
    required_layout: str | None = None
    is_ssm: bool = False
    value_size_of_class: bool = False
    """The V head size of its shape is an attribute of the class, which whoever came last has set for all layers."""
    entry: Mapping[str, Any] = Frozen()
    layouts: tuple[str, ...] | None = None
    """The physical layouts that its kernels read, most preferred first, None where any will do (0.29 on)."""
    facts: Mapping[str, Any] = Frozen()
    """The deployment."""

    def __hash__(self) -> int:
        return hash((self.name, self.class_name, self.module, self.kernel_block_sizes, self.layouts))

    def shape(
        self, num_blocks: int, block_size: int, num_kv_heads: int, head_size: int, **more: Any
    ) -> tuple[int, ...]:
        """The KV cache shape, in elements. `more` is `cache_dtype` and `head_size_v`.

        Raises Refused where the backend's own function raises.
        """
        rule = self._shape_rule(more.get("cache_dtype", "auto"))
        if "refuses" in rule:
            raise Refused(**rule["refuses"], function="get_kv_cache_shape")
        self._check(rule.get("requires", {}), block_size, num_kv_heads)
        sizes = {"num_blocks": num_blocks, "block_size": block_size, "num_kv_heads": num_kv_heads}
        sizes |= {"head_size": head_size, "head_size_v": more.get("head_size_v") or 128}
        return tuple(evaluate(dim, sizes) for dim in rule["shape"])

    def _shape_rule(self, cache_dtype: str) -> Rule:
        if len(self.shapes) == 1 and not self.shapes[0].get("if"):
            return self.shapes[0]
        found = next(outcomes(self.shapes, {"cache_dtype": cache_dtype}), None)
        if found is None:
            raise Refused("NotImplementedError", f"{self.name} has no KV cache shape", function="get_kv_cache_shape")
        rule: Rule = found[0]
        return rule

    def _check(self, requires: Mapping[str, int], block_size: int, num_kv_heads: int) -> None:
        multiple = requires.get("block_size_multiple", 1)
        if block_size % multiple:
            text = f"{self.name} takes multiples of {multiple} as block size, not {block_size}"
            raise Refused("ValueError", text, function="get_kv_cache_shape")
        heads = requires.get("num_kv_heads", num_kv_heads)
        if num_kv_heads != heads:
            text = f"{self.name} takes {heads} KV head, not {num_kv_heads}"
            raise Refused("AssertionError", text, function="get_kv_cache_shape")

    def block_dim(self, block_size: int, num_kv_heads: int, head_size: int, **more: Any) -> int:
        """The dim of the shape that counts blocks, found as the engine finds it.

        Raises Refused (ValueError) where no dim is the number of blocks alone.
        """
        shape = self.shape(PROBE, block_size, num_kv_heads, head_size, **more)
        if PROBE not in shape:
            text = f"no dim of {self.name}'s KV cache shape is the number of blocks"
            raise Refused("ValueError", text, function="get_kv_cache_block_dim")
        return shape.index(PROBE)

    def written_shape(self, cache_dtype: str) -> tuple[str | int, ...]:
        """The entries of the shape as they are written: numbers, names such as `num_blocks`, and sums of them."""
        return tuple(self._shape_rule(cache_dtype).get("shape", ()))

    def stride_order(self, layout: str, ndim: int) -> tuple[int, ...]:
        """The dims in memory order. Raises Refused where the backend's order is none of `ndim` dims."""
        if layout not in self.stride_orders:
            text = f"{self.name} has no stride order for {layout}"
            raise Refused("KeyError", text, function="get_kv_cache_stride_order")
        order = self.stride_orders[layout]
        if order is None:
            return tuple(range(ndim))
        self._check_dims(order, ndim, "its KV cache shape")
        missing = next((dim for dim in range(ndim) if dim not in order), None)
        if missing is not None:
            text = f"{self.name}'s stride order {list(order)} leaves out dim {missing}"
            raise Refused("ValueError", text, function="_reshape_attention_kv_cache")
        return tuple(order)

    def order_with_layers(self, layout: str, ndim: int) -> tuple[int, ...]:
        """The dims of `[layers, …]` in memory order. Raises Refused where the backend's order has other dims."""
        order = self.entry.get("kv_cache_stride_order_with_layers", {}).get(layout)
        if order is None:
            return tuple(range(ndim))
        self._check_dims(order, ndim, "its KV cache shape with layers")
        return tuple(order)

    def _check_dims(self, order: Sequence[int], ndim: int, what: str) -> None:
        """Raises Refused where a stride order has other dims than the shape that it is for."""
        if len(order) != ndim:
            text = f"{self.name}'s stride order has {counted(len(order), 'dim')}, {what} {ndim}"
            raise Refused("AssertionError", text, function="get_kv_cache_stride_order")

    def sizes_for(self, spec: Any) -> tuple[int | str, ...]:
        """The kernel block sizes for layers of a spec, on which they may hang from 0.33 on."""
        rules = self.entry.get("supported_kernel_block_sizes")
        if not isinstance(rules, dict) or not hasattr(spec, "kv_quant_mode"):
            return self.kernel_block_sizes
        spec_facts = {key: getattr(spec, key) for key in ("kv_quant_mode", "head_size", "head_size_v")}
        return tuple(choose(rules, {**self.facts, **spec_facts}))


def fits(size: int, sizes: Sequence[int | str]) -> bool:
    """Whether a block size is one of those: 64 is that size alone, `16n` any multiple of 16."""
    return any(size % int(taken[:-1]) == 0 if isinstance(taken, str) else size == taken for taken in sizes)


class Backends:
    """The backends of a release and of a document, by name or class name, under the facts of one deployment."""

    def __init__(self, known: Mapping[str, Any], own: Mapping[str, BackendEntry], facts: Facts) -> None:
        self.catalogue, self.own, self.facts = known, own, facts
        self._made: dict[str, Backend] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Names and class names: the document's, the release's own, then those that are only names there."""
        return (*self.own, *_names(self.catalogue["release"]))

    def named(self, name: str, path: Path) -> Backend:
        """The backend that a document names at `path`, which is known. Raises Refused where the release lacks it."""
        if name not in self._made:
            self._made[name] = self._make(name, path)
        return self._made[name]

    def _make(self, name: str, path: Path) -> Backend:
        if name in self.own:
            return out_of_tree(name, self.own[name])
        entries = self.catalogue["backends"]
        official = name if name in entries else self._by_class()[name]
        entry = entries[official]
        if "unavailable" in entry:
            text = f"{official}: {entry['unavailable']['text']}"
            raise Refused(entry["unavailable"]["type"], text, stage="customize_spec", path=path)
        return _official(self.catalogue["release"], official, tuple(self.facts.items()))

    def _by_class(self) -> dict[str, str]:
        entries = self.catalogue["backends"].items()
        return {entry["class"]: name for name, entry in entries if entry["class"]}


@cache
def _names(release: str) -> tuple[str, ...]:
    entries: Mapping[str, Mapping[str, Any]] = catalogue.read(release)["backends"]
    there = [name for name, entry in entries.items() if "unavailable" not in entry]
    classes = [entry["class"] for entry in entries.values() if entry["class"]]
    return tuple(dict.fromkeys([*there, *classes, *entries]))


@lru_cache(maxsize=4096)
def _official(release: str, name: str, facts: tuple[tuple[str, Any], ...]) -> Backend:
    """A backend of a release under facts, the same object for every document."""
    return from_catalogue(name, catalogue.read(release)["backends"][name], dict(facts))


def from_catalogue(name: str, entry: Mapping[str, Any], facts: Facts) -> Backend:
    """A backend of the release's own, its sizes parsed. Raises ValueError for a catalogue in which one is no size."""
    entry, facts = frozen(entry), frozen(facts)
    rules = [Frozen({**rule, "if": _known(rule.get("if", {}), facts)}) for rule in entry.get("kv_cache_shape", [])]
    shapes = tuple(rule for rule in rules if rule["if"] is not None)
    check(dim for rule in shapes for dim in rule.get("shape", ()))
    return Backend(
        name=name,
        class_name=entry["class"],
        module=entry["module"],
        shapes=shapes,
        stride_orders=entry.get("kv_cache_stride_order", Frozen()),
        kernel_block_sizes=tuple(choose(entry.get("supported_kernel_block_sizes", ["1n"]), facts)),
        required_layout=choose(entry.get("required_kv_cache_layout"), facts),
        is_ssm=entry.get("is_ssm", False),
        value_size_of_class=entry.get("head_size_v_of_class", False),
        entry=entry,
        layouts=_layouts(choose(entry.get("supported_kv_cache_layouts"), facts)),
        facts=facts,
    )


def _layouts(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _known(condition: Rule, facts: Facts) -> Rule | None:
    """The condition that is left when the deployment is known: the cache dtype, or None where it cannot hold."""
    left = {key: value for key, value in condition.items() if key == "cache_dtype"}
    rest = {key: value for key, value in condition.items() if key != "cache_dtype"}
    sure = choose({"rules": [{"if": rest, "value": True}, {"value": False}]}, facts)
    return Frozen(left) if sure else None


def out_of_tree(name: str, entry: BackendEntry) -> Backend:
    """A backend that the document defines."""
    order, sizes = entry.kv_cache_stride_order, entry.supported_kernel_block_sizes
    orders: dict[str, Sequence[int] | None] = {}
    for layout in ("NHD", "HND"):
        if not isinstance(order, dict) or layout in order:
            orders[layout] = order.get(layout) if isinstance(order, dict) else order
    return Backend(
        name=name,
        class_name=name,
        module=OUT_OF_TREE,
        shapes=() if entry.kv_cache_shape is None else (Frozen(shape=tuple(entry.kv_cache_shape)),),
        stride_orders=frozen(orders),
        kernel_block_sizes=("1n",) if sizes is None else tuple(sizes),
        entry=Frozen(cudagraph_support=entry.cudagraph_support),
        layouts=_layouts(entry.supported_kv_cache_layouts),
    )
