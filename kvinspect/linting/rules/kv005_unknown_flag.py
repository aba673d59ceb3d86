"""KV005: a key of a `vllm serve --config` file that the release has no flag for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvinspect.data import flags
from kvinspect.data.catalogue import versions
from kvinspect.document.problem import nearest
from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.models.flag_names import replaced

if TYPE_CHECKING:
    from kvinspect.linting.subjects.serve_file import ServeSubject


def check(subject: ServeSubject) -> Iterator[Found]:
    """Keys that are no flag, and keys inside a flag that it has no field for, with the nearest one or who has it."""
    from kvinspect.models.json_keys import unknown_keys

    for entry in subject.entries:
        if entry.flag is None:
            text = f"vLLM {subject.release.version} has no flag --{entry.key.replace('_', '-')}"
            yield Found((entry.key,), text + _hint(entry.key, subject), at_key=True)
    written = {entry.key: entry.value for entry in subject.entries}
    release = subject.release
    for problem in unknown_keys(written, release.version, release.models.draft_keys_take_dashes):
        near = f"; did you mean {problem.nearest}?" if problem.nearest else ""
        yield Found(problem.path, f"{problem.path[-1]} {problem.message}{near}", at_key=True)


def _hint(key: str, subject: ServeSubject) -> str:
    """Who has it and what replaces it, else the nearest name."""
    replacement = replaced(key, subject.flags)
    if replacement:
        return replacement
    others = [version for version in versions() if flags.read(version).find(key)]
    if others:
        return f"; {', '.join(others)} has it" if len(others) == 1 else f"; {', '.join(others)} have it"
    near = nearest(key.replace("_", "-"), subject.flags.by_name)
    return f"; did you mean {near}?" if near else ""


RULE = Rule("KV005", "unknown-flag", ERROR, "a key for which the release has no flag", check, "serve")
