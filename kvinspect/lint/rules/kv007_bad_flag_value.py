"""KV007: a value that a flag of `vllm serve` does not take."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kvinspect.document.problem import nearest, shown
from kvinspect.lint.rule import ERROR, Found, Rule
from kvinspect.lint.serve import Entry, ServeSubject


def check(subject: ServeSubject) -> Iterator[Found]:
    """Words that are not among a flag's choices, numbers that are none, JSON that is none."""
    for entry in subject.entries:
        text = _wrong(entry)
        if text:
            yield Found((entry.key,), f"{entry.key}: {text}")


def _wrong(entry: Entry) -> str:
    flag, value = entry.flag, entry.value
    if flag is None or value is None or isinstance(value, (bool, list, dict)) or "." in entry.key:
        return ""
    choices = flag.get("choices")
    if choices and str(value) not in choices:
        near = nearest(str(value), choices)
        hint = f"; did you mean {near}?" if near else ""
        return f"expected one of {', '.join(choices)}, found {shown(value)}{hint}"
    return _NUMBERS[flag["takes"]](value) if flag["takes"] in _NUMBERS else ""


def _int(value: object) -> str:
    try:
        int(str(value))
    except ValueError:
        return f"expected an integer, found {shown(value)}"
    return ""


def _float(value: object) -> str:
    try:
        float(str(value))
    except ValueError:
        return f"expected a number, found {shown(value)}"
    return ""


def _json(value: object) -> str:
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return ""
    try:
        json.loads(value)
    except ValueError as error:
        return f"expected JSON; {error}"
    return ""


_NUMBERS = {"int": _int, "float": _float, "json": _json, "value": _json}

RULE = Rule("KV007", "bad-flag-value", ERROR, "a value that the flag does not take", check, "serve")
