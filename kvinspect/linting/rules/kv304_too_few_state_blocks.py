"""KV304: more sequences than state-space blocks while full graphs are captured."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._graphs import decided
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """The engine's refusal, at max_num_seqs where it is written, else at the number of blocks."""
    found = decided(subject)
    error = found[1].error if found else None
    if error and error.kind == "state-blocks":
        section = subject.raw.get("scheduler_config")
        is_written = isinstance(section, dict) and "max_num_seqs" in section
        yield Found(error.path if is_written else ("kv_cache_config", "num_blocks"), error.text)


RULE = Rule("KV304", "too-few-state-blocks", ERROR, "max_num_seqs exceeds the number of state blocks", check)
