"""Facts of a deployment, and the rules of a catalogue that depend on them.

A rule is `{"if": {fact: value}, "value": …}`; the first whose facts all hold gives the value. A fact's value may be a
list (any of them), `">1"` or `"<=16"` (a number), or `set`/`unset`. A fact that nobody knows is *open*: the rule
may hold or not, and both answers have to be said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Facts = Mapping[str, Any]
Rule = Mapping[str, Any]


class _Open:
    """The value of a fact that the document leaves open."""

    def __repr__(self) -> str:
        return "OPEN"


OPEN = _Open()


def holds(wanted: Any, fact: Any) -> bool | None:
    """Whether a fact has a wanted value, None where the fact is open."""
    if fact is OPEN:
        return None
    if isinstance(wanted, list):
        return fact in wanted
    if isinstance(wanted, str) and wanted.startswith((">", "<=")):
        return isinstance(fact, int) and _compares(wanted, fact)
    return bool(fact == wanted)


def _compares(wanted: str, fact: int) -> bool:
    return fact > int(wanted[1:]) if wanted.startswith(">") else fact <= int(wanted[2:])


def outcomes(rules: Sequence[Rule], facts: Facts) -> Iterator[tuple[Any, dict[str, Any]]]:
    """(value, open facts that it takes) of every rule that may be the first to hold, the certain one last."""
    for rule in rules:
        verdicts = {key: holds(wanted, facts.get(key, OPEN)) for key, wanted in rule.get("if", {}).items()}
        if False in verdicts.values():
            continue
        needed = {key: rule["if"][key] for key, verdict in verdicts.items() if verdict is None}
        yield rule.get("value", rule), needed
        if not needed:
            return


def choose(rules: Any, facts: Facts) -> Any:
    """The value of the first rule that certainly holds, or the value itself where it depends on nothing."""
    if not (isinstance(rules, dict) and "rules" in rules):
        return rules
    return next((value for value, needed in outcomes(rules["rules"], facts) if not needed), None)
