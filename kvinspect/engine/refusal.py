"""What stops an engine, and what stops us."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kvinspect.document.problem import Path, Problem
from kvinspect.geometry import ViewError

STAGES = ("spec", "customize_spec", "layout", "placement", "init_attn_backend", "allocate", "reshape", "align")
"""The steps of the engine's start-up at which it may refuse, in order."""


class Refused(Exception):
    """The engine would stop here: an answer of ours, not an error.

    `type` is the class of the engine's exception, `text` says in our words what is wrong, `path` leads to the entry of
    the document that causes it, as far as that is known. `kind` names what sort of refusal it is, for whoever sorts
    them.
    """

    def __init__(
        self, type: str, text: str, *, function: str = "", stage: str = "", path: Path = (), kind: str = ""
    ) -> None:
        super().__init__(text)
        self.type, self.text, self.function = type, text, function
        self.stage, self.path, self.kind = stage, path, kind
        self.where = ""
        """`file:line:column: path` of the entry, filled in by whoever has the document."""


class Unknown(Exception):
    """A release, backend or other name that the catalogue does not know, so that nothing can be said."""

    def __init__(self, path: Path, found: str, expected: str, nearest: str = "", kind: str = "unknown") -> None:
        super().__init__(f"{found} is not known; expected {expected}")
        self.path, self.found, self.expected, self.nearest, self.kind = path, found, expected, nearest, kind

    @property
    def problem(self) -> Problem:
        """The same as an error of the document, without its place."""
        found = f'"{self.found}"'
        return Problem(self.path, expected=self.expected, found=found, nearest=self.nearest, kind=self.kind)


@contextmanager
def stage(name: str, function: str = "", path: Path = ()) -> Iterator[None]:
    """Refusals inside happen at this stage of the start-up; a view that cannot be made is the engine's RuntimeError."""
    try:
        yield
    except ViewError as error:
        raise Refused("RuntimeError", str(error), function=function, stage=name, path=path) from None
    except Refused as refused:
        refused.stage = refused.stage or name
        refused.function = refused.function or function
        refused.path = refused.path or path
        raise
