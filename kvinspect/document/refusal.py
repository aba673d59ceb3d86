"""What stops an engine, as a value and as the exception that carries it, and what stops us."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kvinspect.document.problem import Path, Problem


class Refusal(NamedTuple):
    """Where and why the engine stops at start-up: an answer, not an error."""

    type: str
    """The class of the engine's exception."""
    text: str
    """What is wrong, in our words."""
    function: str = ""
    """The vLLM function that raises."""
    stage: str = ""
    """The step of the start-up (`engine/start_up_steps.py`), or a stage of the planner."""
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
