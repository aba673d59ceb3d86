"""KV201: the backends of a group share no kernel block size that divides the manager's."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._shared import refused
from kvinspect.linting.rules.kv202_unsupported_block_size import takers
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """The engine's refusal, where each backend by itself takes the block size."""
    refusal = refused(subject, "no-common-block-size")
    if refusal and not any(takers(subject)):
        group = int(refusal.path[2])
        sizes = ", ".join(f"{name}: {', '.join(map(str, known))}" for name, known in _sizes(subject, group))
        yield Found(refusal.path, f"{refusal.text} ({sizes}); use a block size that a size of each backend divides")


def _sizes(subject: DocumentSubject, group: int) -> Iterator[tuple[str, tuple[int | str, ...]]]:
    members = subject.split[group]
    for name in dict.fromkeys(member.backend.name for member in members):
        member = next(member for member in members if member.backend.name == name)
        yield name, member.backend.sizes_for(member.spec)


RULE = Rule("KV201", "no-common-block-size", ERROR, "a group's backends share no kernel block size", check)
