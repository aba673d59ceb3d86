"""What several rules ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvinspect.document.fold import fold_names
from kvinspect.document.problem import Path
from kvinspect.document.refusal import Refusal
from kvinspect.engine.align_answer import TensorAnswer
from kvinspect.linting.rule import Found
from kvinspect.linting.subjects.document import DocumentSubject

GROUPS: Path = ("kv_cache_config", "kv_cache_groups")
MODE: Path = ("compilation_config", "cudagraph_mode")


def layers_with(
    subject: DocumentSubject, decision: str, layer_decision: str
) -> Iterator[tuple[Path, list[str], TensorAnswer]]:
    """(entry, layers, an allocation) for layers with a decision of their own on allocations with a decision."""
    for kind in subject.kinds:
        if kind[0].decision != decision or subject.soundness is None:
            continue
        said = subject.soundness.decisions
        layers = [layer for tensor in kind for layer in tensor.shared_by if said.get(layer) == layer_decision]
        for path, members in subject.by_entry(layers).items():
            yield path, members, kind[0]


def folded(layers: Sequence[str]) -> str:
    """Layers for a sentence."""
    return ", ".join(fold_names(layers))


def refused(subject: DocumentSubject, kind: str) -> Refusal | None:
    """The refusal before the alignment, if it is of a kind."""
    refusal = subject.refusal
    return refusal if refusal and refusal.kind == kind else None


def place_of(subject: DocumentSubject, refusal: Refusal) -> Path:
    """The entry of a refusal, the cache as a whole where none is known."""
    return refusal.path or ("kv_cache_config",)


def at_refusal(subject: DocumentSubject, kind: str, remedy: str) -> Iterator[Found]:
    """The refusal of a kind as a finding."""
    refusal = refused(subject, kind)
    if refusal:
        yield Found(place_of(subject, refusal), f"{refusal.text}; {remedy}")


def attends_both_ways(subject: DocumentSubject) -> bool:
    """Whether a request of the document has a span of tokens that attend in both directions."""
    multimodal = subject.document.model.multimodal
    if multimodal is None:
        return False
    spans = subject.release.mm_spans
    return any(not span.skipped for request in multimodal.requests for span in spans(request, multimodal))
