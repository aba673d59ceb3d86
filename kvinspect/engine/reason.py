"""One step of the start-up: what came of it and why."""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """One step: what came of it and why, and the function of the release whose rule it is."""

    step: str
    text: str
    rule: str
