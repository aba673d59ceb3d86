"""Which specs are one spec: `merge` of each spec class.

A merge that fails is the engine's AssertionError or ValueError and decides how layers are grouped, so it is a Refused
here that a caller may catch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

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


def agree(specs: Sequence[Any], fields: Iterable[str]) -> None:
    """Raises Refused where specs differ in one of the fields."""
    for field in fields:
        values = {getattr(spec, field) for spec in specs}
        if len(values) > 1:
            raise unlike(f"the layers differ in {field}: {', '.join(sorted(map(str, values)))}")


def one_size(sizes: set[int | None], what: str) -> int | None:
    """The one size that some layers say. Raises Refused where they say several."""
    if len(sizes) > 1:
        found = ", ".join(sorted(map(str, sizes)))
        raise Refused("ValueError", f"layers of one group have {what} of several sizes: {found}", function="merge")
    return next(iter(sizes), None)


def require(specs: Sequence[Any], fact: str, otherwise: str) -> None:
    """Raises Refused where a fact does not hold for all specs, which are attention's."""
    if not all(spec.is_attention for spec in specs):
        raise unlike("attention layers stand beside other layers")
    if not all(getattr(spec, fact) for spec in specs):
        raise unlike(otherwise)


def unlike(text: str) -> Refused:
    """The refusal of specs that are not one."""
    return Refused("AssertionError", text, function="merge", kind="unlike-specs")
