"""All rules, found in `rules/` by themselves: adding one is a module with a `RULE` and a page in `docs/rules/`."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from kvinspect.document.problem import nearest
from kvinspect.lint import rules
from kvinspect.lint.rule import Rule


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
    near = nearest(_plain(word), [text for rule in all_rules() for text in (rule.code, rule.name)])
    raise UnknownRule(f"no rule is called {word!r}" + (f"; did you mean {near}?" if near else ""))


def _plain(word: str) -> str:
    """A word with digits where somebody writes letters into a code that look alike."""
    return "KV" + word[2:].upper().translate(str.maketrans("OIL", "011")) if word[:3].upper() == "KV1" else word


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
