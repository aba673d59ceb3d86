"""What differs from the engine on purpose, in one place, each with its reason."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple


class Difference(NamedTuple):
    """One place of an answer that is not as the engine's."""

    path: str
    engine: Any
    ours: Any


class Intended(NamedTuple):
    """A difference that is meant."""

    reason: str
    applies: Callable[[str, dict, Difference], bool]
    """(command, document, difference) → whether it is this one."""


def _other_notation(command, document, difference):
    multiple = re.fullmatch(r"MultipleOf\((\d+)\)", str(difference.engine))
    return multiple is not None and difference.ours == f"{multiple[1]}n"


def _weights_that_kernels_refuse(command, document, difference):
    return command == "specs" and "divisible by weight quantization" in str(difference.engine)


def _own_code(command, document, difference):
    return command == "specs" and "contains custom code which must be executed" in str(difference.engine)


def _encoders_without_place(command, document, difference):
    if difference.path != "groups" or not any("note" in row for row in difference.engine):
        return False
    theirs, ours = (
        [
            (row["backend"], row["support"], row["narrowed"])
            for row in rows
            if "note" not in row and not row.get("encoder")
        ]
        for rows in (difference.engine, difference.ours)
    )
    return theirs == ours


def _of_itself(command, document, difference):
    if command != "align" or not difference.path.endswith(("sound", "conflict")):
        return False
    if isinstance(difference.ours, dict):
        first, second = difference.ours["layers"]
        return difference.engine is None and first == second
    return difference.engine is True and difference.ours is False


LIST = (
    Intended("recorded answers compare two layers only; a view that overlaps itself is unsound as well", _of_itself),
    Intended("a multiple is written 128n, as documents write it, and not as vLLM's MultipleOf(128)", _other_notation),
    Intended(
        "before 0.27 no encoder group narrows the support; the bridge lists what each would do, and says so in a row",
        _encoders_without_place,
    ),
    Intended("whether kernels take the shapes of a model's weights is not asked", _weights_that_kernels_refuse),
    Intended("whether a model's own code may run is not asked", _own_code),
)


def reason_of(command, document, rows):
    """Why all rows of a document differ on purpose, None where one does not."""
    found = [_first(command, document, row) for row in rows]
    return None if None in found else found[0].reason


def _first(command, document, row):
    return next((one for one in LIST if one.applies(command, document, Difference(*row))), None)
