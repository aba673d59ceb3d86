"""What differs from the engine on purpose, in one place, each with its reason."""

from typing import NamedTuple


class Intended(NamedTuple):
    """A difference that is meant."""

    reason: str
    applies: object
    """(command, document, the engine's answer, rows of (path, engine, kvinspect)) → bool."""


LIST = ()


def reason_of(command, document, golden, rows):
    """Why the rows of a document differ on purpose, None where they do not."""
    return next((entry.reason for entry in LIST if entry.applies(command, document, golden, rows)), None)
