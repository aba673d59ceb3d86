"""KV303: speculative decoding needs UNIFORM_BATCH, and a backend supports less."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.document.numbers import counted
from kvinspect.linting.rule import WARNING, Found, Rule
from kvinspect.linting.rules._graphs import culprits, decided, loses_to_speculation
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Full graphs of decodes that speculation costs, asked for or vLLM's default."""
    found = decided(subject)
    if found is None or not loses_to_speculation(found[0]):
        return
    decision, running = found
    mode = running.mode.name if running.mode else "no graphs"
    tokens = counted(decision.request.query_len, "token")
    text = (
        f"a decode step has {tokens} per request, and {decision.info.min_cg_attn_backend} supports full graphs for "
        f"one: {decision.request.mode.name} becomes {mode}; run kvinspect cg-support for changes that restore it"
    )
    yield Found(("speculative_config", "num_speculative_tokens"), text, culprits(decision))


RULE = Rule(
    "KV303", "spec-decode-downgrade", WARNING, "speculative decoding disables full CUDA graphs for decode", check
)
