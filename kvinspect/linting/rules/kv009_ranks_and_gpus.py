"""KV009: parallel sizes that are not the number of GPUs that a container gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvinspect.document.numbers import counted
from kvinspect.linting.rule import ERROR, NOTE, Found, Rule

if TYPE_CHECKING:
    from kvinspect.linting.subjects.place import PlaceSubject

ALONE = ("--gpus", "--device", "deploy.")
"""How the GPUs of one container on one machine are said; a pod may be one of several that share the ranks."""

SEVERAL = ("nnodes", "node-rank", "headless", "data-parallel-size", "data-parallel-rank", "device-ids")
"""Flags with which ranks are elsewhere, or more engines use the GPUs."""


def check(subject: PlaceSubject) -> Iterator[Found]:
    """More ranks than GPUs, which the engine refuses, and GPUs that no rank uses."""
    gpus, arguments = subject.fragment.gpus, subject.arguments
    if gpus is None or not gpus.by.startswith(ALONE) or not gpus.value.isdecimal():
        return
    if any(arguments.find(name) for name in SEVERAL) or _on_ray(subject):
        return
    ranks, key = 1, ""
    for name in ("tensor-parallel-size", "pipeline-parallel-size"):
        said = arguments.find(name)
        if said is not None:
            if said.opaque or not str(said.value).isdecimal():
                return
            ranks, key = ranks * int(str(said.value)), key or name
    number = int(gpus.value)
    if ranks > number:
        yield Found((key,), f"{counted(ranks, 'rank')} need as many GPUs, and the container gets {number} ({gpus.by})")
    elif ranks < number:
        text = (
            f"the container gets {counted(number, 'GPU')}, and {counted(ranks, 'rank')} of the engine will use {ranks}"
        )
        yield Found((), text, mark=gpus.mark, severity=NOTE)


def _on_ray(subject: PlaceSubject) -> bool:
    said = subject.arguments.find("distributed-executor-backend")
    return said is not None and said.value != "mp"


RULE = Rule("KV009", "ranks-and-gpus", ERROR, "parallel sizes against the GPUs that a container gets", check, "place")
