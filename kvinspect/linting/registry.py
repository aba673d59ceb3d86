"""All rules, found in `rules/` by themselves: adding one is a module with a `RULE` and a page in `docs/rules/`."""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from importlib import import_module

from kvinspect.document.problem import nearest
from kvinspect.linting import rules
from kvinspect.linting.rule import Rule


class UnknownRule(ValueError):
    """A word that selects no rule."""


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    names = sorted(module.name for module in pkgutil.iter_modules(rules.__path__) if module.name.startswith("kv"))
    return tuple(import_module(f"{rules.__name__}.{name}").RULE for name in names)


@cache
def rule_named(word: str) -> Rule:
    """The rule of a code or a name. Raises UnknownRule."""
    for rule in all_rules():
        if word.upper() == rule.code or word.lower() == rule.name:
            return rule
    near = _nearest(word)
    raise UnknownRule(f"no rule is called {word!r}" + (f"; did you mean {near}?" if near else ""))


_CODE = re.compile(r"KV(\w{0,3})", re.IGNORECASE)


def _nearest(word: str) -> str:
    """The code, beginning of codes or name that was most likely meant, "" where none comes near.

    Of a code the hundred is what it is about, so that a rule of the same hundred is nearest, and where there is no such
    hundred the nearest one: KV199 is near KV113, KV999 near KV901 and KV7 near KV6.
    """
    code = _CODE.fullmatch(word)
    digits = code[1].upper().translate(str.maketrans("OIL", "011")) if code else ""
    if not digits.isascii() or not digits.isdigit():
        return nearest(word, [text for rule in all_rules() for text in (rule.code, rule.name)])
    codes = [rule.code for rule in all_rules()]
    hundreds = sorted({code[:3] for code in codes})
    hundred = min(hundreds, key=lambda known: abs(int(known[2]) - int(digits[0])))
    if len(digits) < 3 or hundred[2] != digits[0]:
        return hundred
    return min((code for code in codes if code.startswith(hundred)), key=lambda known: _distance(known[2:], digits))


def _distance(known: str, digits: str) -> tuple[int, int]:
    """How far a code is from the one that was written: by the digits that differ, then by their number."""
    return sum(one != other for one, other in zip(known, digits, strict=True)), abs(int(known) - int(digits))


@cache
def selected(select: tuple[str, ...], ignore: tuple[str, ...]) -> frozenset[str]:
    """The codes that are on: those that `select` names (all where it names none), less those that `ignore` names.

    A word is a code, a name, or the beginning of codes (`KV1`). Raises UnknownRule.
    """
    chosen = {code for word in select for code in _codes(word)} or {rule.code for rule in all_rules()}
    return frozenset(chosen - {code for word in ignore for code in _codes(word)})


def _codes(word: str) -> set[str]:
    found = {rule.code for rule in all_rules() if word.upper() and rule.code.startswith(word.upper())}
    return found or {rule_named(word).code}
