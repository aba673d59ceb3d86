"""KV004: a value that the engine's loader reads as something else than it looks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvinspect.linting.rule import WARNING, Found, Rule

if TYPE_CHECKING:
    from kvinspect.linting.subjects.serve_file import Entry, ServeSubject

SWITCHES = re.compile(r"(?i)on|off|yes|no|y|n")
SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
NO_DOT = re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+")
LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")


def check(subject: ServeSubject) -> Iterator[Found]:
    """Keys that stand twice, and values that YAML or the flag parser turns into something else."""
    for problem in subject.surprises:
        yield Found(problem.path, f"{problem.message}; only the last value counts", mark=problem.mark)
    for entry in subject.entries:
        text = _surprise(entry, subject.flags.drops_false)
        if text:
            yield Found((entry.key,), f"{entry.key}: {text}")


def _surprise(entry: Entry, drops_false: bool) -> str:
    """What becomes of a value, "" where it is what it looks like."""
    return _of_text(entry) or _of_value(entry, drops_false)


def _of_text(entry: Entry) -> str:
    text, takes = entry.written or "", entry.flag and entry.flag["takes"]
    if isinstance(entry.value, bool) and SWITCHES.fullmatch(text) and takes not in (None, "nothing"):
        return f"YAML reads {text} as {str(entry.value).lower()}; quote it"
    if SEXAGESIMAL.fullmatch(text) and not isinstance(entry.value, str):
        return f"YAML reads {text} as the number {entry.value} (base 60); quote it"
    if LEADING_ZERO.fullmatch(text) and isinstance(entry.value, int) and entry.value != int(text.replace("_", "")):
        return f"YAML reads {text} as {entry.value} (base 8); remove the leading zero, or quote it"
    if NO_DOT.fullmatch(text) and isinstance(entry.value, str) and takes in ("int", "float", "size"):
        instead = "write it with one" if takes == "float" else "write the number out"
        return f"YAML reads {text} as a string, because it has no decimal point; {instead}"
    return ""


def _of_value(entry: Entry, drops_false: bool) -> str:
    if entry.value is None:
        return "null becomes the string None; remove the key"
    if entry.value == [] and isinstance(entry.value, list):
        return "the flag parser drops an empty list; remove the key"
    if entry.value is False and drops_false and not entry.key.startswith(("no-", "no_")):
        can_negate = entry.flag and entry.flag.get("negates")
        instead = f"write no-{entry.key.replace('_', '-')}: true" if can_negate else "remove it"
        return f"the flag parser drops false, so the default applies; {instead}"
    if entry.value is True and entry.flag and entry.flag["takes"] != "nothing" and not entry.flag.get("optional"):
        return "true passes the flag without a value, but it requires one"
    return ""


RULE = Rule(
    "KV004", "yaml-surprise", WARNING, "a value that YAML 1.1 reads differently than it looks", check, "command"
)
