"""Which specs are one spec: `merge` of each spec class.

A merge that fails is the engine's AssertionError or ValueError and decides how layers are grouped, so it is a Refused
here that a caller may catch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kvinspect.document.refusal import Refused

if TYPE_CHECKING:
    from kvinspect.specs.kinds import LayerSpec
    from kvinspect.specs.needs import MergeRules


def merged(specs: Iterable[LayerSpec], rules: MergeRules) -> LayerSpec:
    """The one spec of layers, as the class of the first merges them. Raises Refused where they are not alike."""
    distinct = list(dict.fromkeys(specs))
    return distinct[0].merged(distinct, rules)


def merges(specs: Sequence[LayerSpec], rules: MergeRules) -> bool:
    """Whether layers of these specs go together (`is_kv_cache_spec_uniform`).

    Raises Refused where the engine's own check stumbles: windows or chunks of several sizes are a ValueError there.
    """
    try:
        merged(specs, rules)
    except Refused as refused:
        if refused.refusal.type != "AssertionError":
            raise
        return False
    return True
