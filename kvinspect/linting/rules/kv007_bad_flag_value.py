"""KV007: a value that a flag of `vllm serve` does not take."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kvinspect.document.numbers import counted
from kvinspect.document.problem import nearest, shown
from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules.kv004_yaml_surprise import NO_DOT

if TYPE_CHECKING:
    from kvinspect.linting.subjects.serve_file import Entry, ServeSubject


def check(subject: ServeSubject) -> Iterator[Found]:
    """Words that are not among a flag's choices, numbers that are none, JSON that is none, lists for a single value."""
    for entry in subject.entries:
        text = _wrong(entry)
        if text:
            yield Found((entry.key,), f"{entry.key}: {text}")


def _wrong(entry: Entry) -> str:
    flag, value = entry.flag, entry.value
    if flag is None or "." in entry.key or value in (None, "", "None"):
        return ""
    if isinstance(value, list):
        return _list(flag, value)
    if isinstance(value, (bool, dict)):
        return ""
    if flag["takes"] == "nothing":
        return _not_taken(entry)
    # A word that a YAML reader makes of a number is KV004.
    read = "" if NO_DOT.fullmatch(entry.written or "") else _read(flag, value)
    return _not_chosen(flag, value) or read or _outside(flag, value)


def _not_taken(entry: Entry) -> str:
    """A word behind a flag that is on by itself: the parser refuses it, or reads it as the model."""
    name = entry.key.replace("_", "-")
    negated = entry.flag and entry.flag.get("negates") and not name.startswith("no-")
    off = str(entry.value).lower() in ("false", "0", "no", "off")
    instead = f"--no-{name} switches it off" if off and negated else "leave it out" if off else "write the flag alone"
    return f"takes no value, found {shown(entry.value)}; {instead}"


def _not_chosen(flag: Mapping[str, Any], value: object) -> str:
    choices = flag.get("choices") or flag.get("words")
    if not choices or str(value) in choices:
        return ""
    near = nearest(str(value), choices)
    hint = f"; did you mean {near}?" if near else ""
    return f"expected one of {', '.join(choices)}, found {shown(value)}{hint}"


def _outside(flag: Mapping[str, Any], value: object) -> str:
    """A number that the parser takes, and the engine's configuration does not."""
    bounds = [(key, flag[key]) for key in _WITHIN if key in flag]
    try:
        number = float(str(value)) if bounds else 0.0
    except ValueError:
        return ""
    # Not a number is within no bounds.
    if all(_WITHIN[key][1](number, bound) for key, bound in bounds):
        return ""
    words = " and ".join(f"{_WITHIN[key][0]} {bound:g}" for key, bound in bounds)
    return f"expected a number {words}, found {shown(value)}"


def _list(flag: Mapping[str, Any], value: list[object]) -> str:
    """A list becomes a word an entry."""
    if flag["takes"] in ("list", "nothing") or not value:
        return ""
    if len(value) > 1:
        return f"a list becomes {counted(len(value), 'word')}, but the flag accepts one"
    return _read(flag, value[0])


def _read(flag: Mapping[str, Any], value: object) -> str:
    """What is wrong with the word that a value becomes, "" where the flag's own reader takes it."""
    word = str(value)
    takes = "auto" if flag.get("auto") and word.lower() == "auto" else flag["takes"]
    if takes in ("json", "value"):
        return _json(word, value) if takes == "json" or _BRACED.fullmatch(word) else ""
    if takes not in _NUMBERS:
        return ""
    expected, read = _NUMBERS[takes]
    try:
        read(word)
    except ValueError:
        return f"expected {expected}, found {shown(value)}"
    return ""


def _json(word: str, value: object) -> str:
    """JSON, in which the engine also reads numbers such as 80m."""
    try:
        json.loads(_SHORT_NUMBER.sub("0", word))
    except ValueError as error:
        found = "" if word.lstrip().startswith(("{", "[")) else f", found {shown(value)}"
        return f"expected JSON{found}; {error}"
    return ""


def _size(word: str) -> None:
    if not _SHORT.fullmatch(word.strip()):
        int(word)


_SHORT = re.compile(r"\d+(?:\.\d+)?[kmgt]|\d+[KMGT]")
_SHORT_NUMBER = re.compile(r"(?<=[:,\[\s])\d+(?:\.\d+)?[kKmMgGtT](?=[\s,\]}])")
_BRACED = re.compile(r"\s*\{.*\}\s*", re.DOTALL)
_WITHIN: Mapping[str, tuple[str, Callable[[float, float], bool]]] = {
    "gt": ("above", operator.gt),
    "ge": ("from", operator.ge),
    "lt": ("below", operator.lt),
    "le": ("up to", operator.le),
}
_NUMBERS: dict[str, tuple[str, Callable[[str], object]]] = {
    "int": ("an integer", int),
    "float": ("a number", float),
    "size": ("an integer, or one with k, m, g, t, K, M, G, T", _size),
}

RULE = Rule("KV007", "bad-flag-value", ERROR, "a value that the flag does not accept", check, "serve")
