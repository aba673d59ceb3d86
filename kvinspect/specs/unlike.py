"""Where specs that are to be merged differ: the refusals that `merge` of every spec class raises in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kvinspect.document.refusal import Refused


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
        raise unlike("attention layers are mixed with other layers")
    if not all(getattr(spec, fact) for spec in specs):
        raise unlike(otherwise)


def unlike(text: str) -> Refused:
    """The refusal of specs that are not one."""
    return Refused("AssertionError", text, function="merge", kind="unlike-specs")
