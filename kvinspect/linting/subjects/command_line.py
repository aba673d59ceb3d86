"""A `vllm serve` command line as a source: its flags as a serve file has keys, and where each stands in the text."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kvinspect.data import flags
from kvinspect.data.catalogue import versions
from kvinspect.data.flags import Flags
from kvinspect.document.problem import Mark, Path
from kvinspect.document.source import Source
from kvinspect.models.command import MODEL, Flag, Plain, split_words
from kvinspect.output.safe import safe
from kvinspect.question.command import written_out

NAME = "<command line>"

SECRETS = ("api-key", "hf-token")
"""Flags whose values are in no answer."""

PROGRAM = ("vllm", "serve")


class CommandLine(NamedTuple):
    """A command line under the flags of one release."""

    source: Source
    words: tuple[str, ...]
    """Those that the release takes: flags that only other releases have are left out."""


class _Places(NamedTuple):
    """Where the flags and the model stand in the text."""

    marks: Mapping[str, Mark]

    def written(self, path: Path) -> str | None:
        """None: no YAML reader stands between a word and its flag."""
        return None

    def locate(self, path: Path, at_key: bool) -> Mark | None:
        """The mark of a flag or of the model, else of the line."""
        return self.marks.get(str(path[0]) if path else MODEL, Mark(1, 1))


def command_line(words: Sequence[str], known: Flags) -> CommandLine:
    """The words behind `vllm serve`. Raises ValueError for a flag that no release has, or that lacks its value."""
    others = [flags.read(version) for version in reversed(versions())]
    found = [*split_words(written_out(words), known, others)]
    text, marks = _line(words, {number for one in found for number in _hidden(one)})
    value, places = {}, {}
    for one in found:
        key, number = (MODEL, one.at) if isinstance(one, Plain) else (one.name, one.words[0])
        value[key] = one.text if isinstance(one, Plain) else _value(one)
        places[key] = marks[number]
    foreign = {number for one in found if isinstance(one, Flag) and not one.known for number in one.words}
    kept = tuple(word for i, word in enumerate(words) if i not in foreign)
    return CommandLine(Source(NAME, value, text, _Places(places)), kept)


def _value(flag: Flag) -> Any:
    """What a flag says as a key would: true for one without a value, and never an empty list, which YAML alone has."""
    if flag.said in (None, True, False):
        return True
    return flag.said or ""


def _hidden(one: Plain | Flag) -> Sequence[int]:
    """The words that hold a secret."""
    return one.words if isinstance(one, Flag) and one.name in SECRETS else ()


def _line(words: Sequence[str], hidden: set[int]) -> tuple[str, list[Mark]]:
    """The words as one line that a shell would take, and the mark of each."""
    text, marks = shlex.join(PROGRAM), []
    for i, word in enumerate(words):
        marks.append(Mark(1, len(text) + 2))
        text += f" {shlex.quote(safe(_without_secret(word) if i in hidden else word))}"
    return text, marks


def _without_secret(word: str) -> str:
    """The flag itself stays, with what stands for its value."""
    head, equals, _ = word.partition("=")
    return f"{head}{equals and '=***'}" if word.startswith("--") else "***"


def words_of(model: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The words behind `vllm serve` that say the same as engine arguments of the Python API."""
    return (
        model,
        *(word for name, value in arguments.items() for word in _words(f"--{name}".replace("_", "-"), value)),
    )


def _words(flag: str, value: Any) -> Iterator[str]:
    if value is False:
        yield f"--no-{flag[2:]}"
    elif value is True:
        yield flag
    elif value is not None:
        # In one word, so that a value may begin with a dash.
        yield f"{flag}={json.dumps(value) if isinstance(value, (Mapping, list, tuple)) else value}"
