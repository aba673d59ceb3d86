"""Layers that need the same number of slots, by page size: groups whose pages differ are packed from them."""

from __future__ import annotations

from typing import NamedTuple

from kvinspect.specs.kinds import LayerSpec
from kvinspect.specs.uniform_type import UniformTypeSpecs


class Bucket(NamedTuple):
    """Layers that need the same number of slots, by the bytes of their pages."""

    specs: UniformTypeSpecs
    by_page: dict[int, list[str]]

    @property
    def balanced(self) -> bool:
        """Whether each page comes as often, so that the layers repeat a pattern of one layer a page."""
        return len({len(layers) for layers in self.by_page.values()}) == 1

    @property
    def repeats(self) -> int:
        """How often the commonest page comes."""
        return max(len(layers) for layers in self.by_page.values())

    @property
    def first(self) -> LayerSpec:
        """The spec of the first layer."""
        return self.specs.first

    def widest(self, groups: int) -> int:
        """Bytes of a block of the largest of a number of groups."""
        return sum(-(-len(layers) // groups) * page for page, layers in self.by_page.items())
