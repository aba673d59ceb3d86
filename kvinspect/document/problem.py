"""What is wrong with an input, where, and what it should have been."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from kvinspect.document.limits import MAX_PROBLEMS

Path = tuple[str | int, ...]
"""Keys and indices from the root of a document to a value."""


class Mark(NamedTuple):
    """A place in a text, line and column counted from 1, columns in characters."""

    line: int
    column: int


class Problem(NamedTuple):
    """One error of an input.

    `kind` names what sort of error it is, for whoever sorts them (`lint` maps kinds to rules); `found` and `expected`
    are phrases, `hint` a sentence, `nearest` the right spelling that comes closest.
    """

    path: Path
    expected: str = ""
    found: str = ""
    message: str = ""
    nearest: str = ""
    hint: str = ""
    kind: str = "invalid"
    source: str = ""
    mark: Mark | None = None
    line_text: str = ""
    at_key: bool = False

    @property
    def text(self) -> str:
        """The error in one sentence, without its place."""
        parts = [self.message] if self.message else []
        if self.expected:
            found = f", found {self.found}" if self.found else ""
            parts.append(f"expected {self.expected}{found}")
        if self.nearest:
            parts.append(f"did you mean {self.nearest}?")
        if self.hint:
            parts.append(self.hint)
        return "; ".join(parts)

    @property
    def where(self) -> str:
        """`file:line:column: path`, as far as it is known."""
        place = f":{self.mark.line}:{self.mark.column}" if self.mark else ""
        dotted = path_text(self.path)
        return f"{self.source}{place}" + (f": {dotted}" if dotted else "")

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"

    def placed(self, source: str, mark: Mark | None, line_text: str) -> Problem:
        """The same problem with its place in a text."""
        return self._replace(source=source, mark=mark, line_text=line_text)


class DocumentError(ValueError):
    """An input that cannot be used as it is; `errors` holds every problem that was found, in the order of the text."""

    def __init__(self, errors: Iterable[Problem]) -> None:
        self.errors: tuple[Problem, ...] = _at_most(tuple(errors))
        text = "\n".join(str(error) for error in self.errors)
        # A mapping's keys may hold what no stream can write.
        super().__init__(text.encode("utf-8", "backslashreplace").decode())


def _at_most(errors: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """The first problems, and in place of the others one that says that there are more."""
    if len(errors) <= MAX_PROBLEMS:
        return errors
    more = Problem((), message="has more problems, which are not shown", source=errors[0].source, kind="more")
    return (*errors[:MAX_PROBLEMS], more)


def path_text(path: Path) -> str:
    """A path as a person writes it.

    >>> path_text(("kv_cache_config", "kv_cache_groups", 1, "backend"))
    'kv_cache_config.kv_cache_groups[1].backend'
    """
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is spelt most like `word`, "" where none comes near; case does not count.

    >>> nearest("TRITON_ATN", ["TRITON_ATTN", "TRITON_MLA"])
    'TRITON_ATTN'
    """
    by_folded = {known_word.lower(): known_word for known_word in known}
    found = difflib.get_close_matches(word.lower()[:100], by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else ""


def shown(value: object) -> str:
    """A value as a message quotes it: as JSON writes it, shortened."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return shortened(text, 60)


def shortened(text: str, most: int = 200) -> str:
    """A text of a file or a call as a message has room for it."""
    return text if len(text) <= most else f"{text[: most - 4]} …"
