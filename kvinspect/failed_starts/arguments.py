"""The engine arguments that a log prints: the arguments that are no defaults, or the engine's configuration."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kvinspect.document.frozen import Frozen

_ENUM = re.compile(r"<\w{1,60}\.(\w{1,60}): [^<>\n]{0,200}>")
_DTYPE = re.compile(r"\btorch\.([a-z]\w{1,30})")
_CONFIG = re.compile(
    r"\b(model|dtype|max_seq_len|tensor_parallel_size|pipeline_parallel_size|data_parallel_size|"
    r"decode_context_parallel_size|kv_cache_dtype|enforce_eager|quantization)=('[^'\n]{1,300}'|[\w.]{1,60})"
)
_NAMES = {"max_seq_len": "max_model_len", "model_tag": "model"}
"""What a log calls otherwise than the flag is called."""


class Arguments(NamedTuple):
    """Engine arguments of a log, those that it prints as no literal by name alone."""

    values: Mapping[str, Any] = Frozen({})
    unread: tuple[str, ...] = ()

    @property
    def model(self) -> str | None:
        """The model that is named."""
        found = self.values.get("model")
        return found if isinstance(found, str) else None


def of_dictionary(text: str) -> Arguments:
    """The arguments of `{'model': …}`, a Python dictionary as `non-default args` prints it, cut short or not."""
    values: dict[str, Any] = {}
    unread: list[str] = []
    for entry in _entries(_DTYPE.sub(r"'\1'", _ENUM.sub(r"'\1'", text)).lstrip()[1:]):
        try:
            ((name, value),) = ast.literal_eval("{" + entry + "}").items()
        except (ValueError, SyntaxError, AttributeError, RecursionError, MemoryError):
            unread.append(entry.partition(":")[0].strip(" '")[:60])
        else:
            values[_NAMES.get(str(name), str(name))] = value
    return Arguments(Frozen(values), tuple(filter(None, unread)))


def of_config(text: str) -> Arguments:
    """The arguments of the engine's configuration, `model='…', max_seq_len=…`, those that a plan depends on."""
    said = ((_NAMES.get(name, name), _plain(value)) for name, value in reversed(_CONFIG.findall(text)))
    return Arguments(Frozen({name: value for name, value in said if value is not None}))


def _plain(value: str) -> Any:
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value.removeprefix("torch.")


def _entries(text: str) -> Iterator[str]:
    """The entries of a dictionary behind its brace: what stands between commas that are in no bracket or string."""
    depth, quote, start, skip = 0, "", 0, False
    for at, letter in enumerate(text):
        if skip:
            skip = False
        elif quote:
            skip, quote = letter == "\\", "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{<":
            depth += 1
        elif letter in ")]}>":
            depth -= 1
        if depth < 0 or (letter == "," and depth == 0 and not quote):
            yield text[start:at]
            start = at + 1
        if depth < 0:
            return
