"""What becomes of the requested CUDA graph mode, for the rules about it."""

from __future__ import annotations

from kvinspect.cudagraph.decide import Decision
from kvinspect.cudagraph.resolve import Resolution
from kvinspect.cudagraph.running import running
from kvinspect.cudagraph.support import AttentionCGSupport
from kvinspect.linting.subjects.document import DocumentSubject


def decided(subject: DocumentSubject) -> tuple[Decision, Resolution] | None:
    """The decision and what runs, None where the engine does not come as far."""
    decision, cache = subject.decision, subject.cache
    return (decision, running(decision, cache, subject.release.graphs)) if decision and cache else None


def written(subject: DocumentSubject) -> bool:
    """Whether the document asks for a mode itself."""
    section = subject.raw.get("compilation_config")
    return isinstance(section, dict) and "cudagraph_mode" in section


def loses_to_speculation(decision: Decision) -> bool:
    """Whether speculative decoding is what costs the full graphs of decodes."""
    request, level = decision.request, decision.info.min_cg_support
    short = AttentionCGSupport.NEVER < level < AttentionCGSupport.UNIFORM_BATCH
    return request.query_len > 1 and request.mode.full_decode and short


def culprits(decision: Decision) -> tuple[str, ...]:
    """The layers of the first group that has the least support."""
    narrowed = [group for group in decision.groups if group.narrowed]
    return narrowed[-1].layer_names if narrowed else ()
