"""What stops an engine, and what stops us."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kvinspect.document.problem import Path, Problem
from kvinspect.geometry import ViewError

STAGES = ("spec", "customize_spec", "layout", "placement", "init_attn_backend", "allocate", "reshape", "align")
"""The steps of the engine's start-up at which it may refuse, in order."""


class Refusal(NamedTuple):
    """Where and why the engine stops at start-up: an answer, not an error."""

    type: str
    """The class of the engine's exception."""
    text: str
    """What is wrong, in our words."""
    function: str = ""
    """The vLLM function that raises."""
    stage: str = ""
    """One of STAGES, or a stage of the planner."""
    path: Path = ()
    """The entry of the document that causes it, as far as that is known."""
    kind: str = ""
    """What sort of refusal it is: lint's rules select by it."""
    where: str = ""
    """`file:line:column: path` of the entry."""

    def within(self, stage: str, function: str = "", path: Path = ()) -> Refusal:
        """The refusal with what an outer step of the engine adds where an inner one has said nothing."""
        return self._replace(stage=self.stage or stage, function=self.function or function, path=self.path or path)

    def placed(self, where: Callable[[Path], str]) -> Refusal:
        """The refusal with the place of its entry in the document."""
        return self._replace(where=where(self.path) if self.path else "")


class Refused(Exception):
    """Carries a refusal from the step that finds it to the one that answers with it."""

    def __init__(
        self, type: str, text: str, *, function: str = "", stage: str = "", path: Path = (), kind: str = ""
    ) -> None:
        super().__init__(text)
        self.refusal = Refusal(type, text, function, stage, path, kind)

    @classmethod
    def carrying(cls, refusal: Refusal) -> Refused:
        """The carrier of a refusal that was found before."""
        made = cls(refusal.type, refusal.text)
        made.refusal = refusal
        return made


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
        refused.refusal = refused.refusal.within(name, function, path)
        raise
