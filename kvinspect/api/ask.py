"""How a call of the Python API becomes a question: what it names, and the release whose rules apply."""

from __future__ import annotations

from kvinspect.question.documents import Origin, load
from kvinspect.question.question import Question, Rules, placed
from kvinspect.releases.release import Release

__all__ = ["Origin", "ask", "release_of"]


def ask(origin: Origin, key: str, command: str, engine: str | None) -> Question:
    """The question of a document that has the key that a command needs."""
    return Question.needing(key, command, load(origin), engine)


def release_of(engine: str | None) -> tuple[str, Release]:
    """(what a release is called, the release) without a document. Raises DocumentError for an unknown one."""
    with placed(None):
        rules = Rules.of(engine)
        return rules.called, rules.release
