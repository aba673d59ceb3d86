"""Layers that need the same number of token slots, in pages of several sizes (`UniformTypeKVCacheSpecs`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from kvinspect.specs.spec import Spec

if TYPE_CHECKING:
    from kvinspect.specs.layer_spec import LayerSpec
    from kvinspect.specs.needs import Load, Rules, UnpaddedPage


class _Fields(NamedTuple):
    block_size: int
    specs: tuple[tuple[str, LayerSpec], ...]
    kind: str = "uniform_type"


class UniformTypeSpecs(_Fields, Spec):
    """The specs of layers of one type whose pages differ in size."""

    is_attention: ClassVar[Literal[False]] = False
    holds_states: ClassVar[Literal[False]] = False
    each_its_own: ClassVar[Literal[True]] = True

    @classmethod
    def of(cls, specs: Mapping[str, LayerSpec], rules: Rules) -> UniformTypeSpecs | None:
        """Layers as one group of their own specs, None where they need different numbers of slots (`from_specs`)."""
        distinct = list(dict.fromkeys(specs.values()))
        if not all(distinct[0].same_slots(spec, rules) for spec in distinct):
            return None
        return cls(distinct[0].block_size, tuple(specs.items()))

    @cached_property
    def by_layer(self) -> Mapping[str, LayerSpec]:
        """Layer name → its spec, in the order of the document."""
        return dict(self.specs)

    @property
    def first(self) -> LayerSpec:
        """The spec of the first layer."""
        return self.specs[0][1]

    @property
    def each(self) -> tuple[LayerSpec, ...]:
        """The specs of the layers, those alike once."""
        return tuple(dict.fromkeys(spec for _, spec in self.specs))

    def of_layer(self, layer: str) -> LayerSpec | None:
        """The spec of a layer, None where it is none of the group's."""
        return self.by_layer.get(layer)

    def by_spec(self, layers: tuple[str, ...]) -> dict[LayerSpec, tuple[str, ...]]:
        """Spec → those of the group's layers that have it, in their order."""
        found: dict[LayerSpec, list[str]] = {}
        for layer, spec in self.specs:
            found.setdefault(spec, []).append(layer)
        return {spec: tuple(names) for spec, names in found.items()}

    def entry(self, fields: Callable[[LayerSpec], Mapping[str, Any]]) -> dict[str, Any]:
        """The specs as a document writes them, with the fields of each."""
        inner = {layer: spec.entry(fields) for layer, spec in self.specs}
        return {"kind": self.kind, "block_size": self.block_size, "kv_cache_specs": inner}

    def mapped(self, change: Callable[[LayerSpec, str], LayerSpec], layer: str) -> UniformTypeSpecs:
        """The group with every spec changed."""
        return UniformTypeSpecs(self.block_size, tuple((name, change(spec, name)) for name, spec in self.specs))

    def only(self, layers: Mapping[str, object]) -> UniformTypeSpecs:
        """The group with those of its layers that are asked for."""
        return self._replace(specs=tuple((layer, spec) for layer, spec in self.specs if layer in layers))

    def page(self, unpadded: UnpaddedPage) -> int:
        """Bytes of a block of all layers together."""
        return sum(spec.page(unpadded) for _, spec in self.specs)

    def request_blocks(self, load: Load) -> int:
        """The blocks of the layer that needs most."""
        return max(spec.request_blocks(load) for spec in self.each)

    def grows(self, load: Load) -> bool:
        """The same as its first layer."""
        return self.first.grows(load)

    def shards(self, load: Load) -> int:
        """The same as its first layer."""
        return self.first.shards(load)
