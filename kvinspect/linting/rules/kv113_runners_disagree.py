"""KV113: the two model runners of the release disagree about start-up or soundness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvinspect.backends.model_runner import choose, unfit
from kvinspect.document.problem import Path
from kvinspect.document.refusal import Refusal
from kvinspect.engine.across_layers import asked_for
from kvinspect.engine.align import REFUSED
from kvinspect.engine.per_tensor import reshaper
from kvinspect.engine.wording.soundness import collision
from kvinspect.linting.rule import WARNING, Found, Rule
from kvinspect.linting.rules._shared import GROUPS
from kvinspect.linting.subjects.document import DocumentSubject
from kvinspect.releases.lookup import other_runner
from kvinspect.specs.attention import AttentionSpec

FLAG = {"v1": "VLLM_USE_V2_MODEL_RUNNER=0", "v2": "VLLM_USE_V2_MODEL_RUNNER=1"}


class Outcome(NamedTuple):
    """What becomes of a document with one runner: `sound`, `unsound` or `refused`, in words, and where."""

    word: str
    text: str
    path: Path = ("kv_cache_config",)


def check(subject: DocumentSubject) -> Iterator[Found]:
    """The disagreement about the cache, and what the document asks for that its runner does not take."""
    release = subject.release
    other = other_runner(release)
    if other is None or not subject.has_cache:
        return
    mine = outcome(subject)
    its = mine if _alike(subject) else outcome(DocumentSubject(subject.question.under(other)))
    if mine and its and mine.word != its.word:
        choice = choose(subject.document, release.version)
        said = f"model runner {release.runner} of vLLM {release.version} {mine.text}; {other.runner} {its.text}"
        rest = f"judged with {release.runner}, because {choice.why}; {FLAG[other.runner]} selects {other.runner}"
        yield Found(mine.path if mine.word != "sound" else its.path, f"{said}; {rest}")
    taken = set(unfit(subject.document, release.version, other.runner))
    for feature, path in unfit(subject.document, release.version, release.runner).items():
        if feature not in taken:
            text = f"model runner {release.runner} of vLLM {release.version} does not support {feature}"
            yield Found(path, f"{text}, but {other.runner} does ({FLAG[other.runner]})")


def _alike(subject: DocumentSubject) -> bool:
    """Whether the cache has nothing that the runners treat differently, so that the other need not be asked."""
    if subject.soundness is None or subject.cache is None or asked_for(subject.document):
        return False
    sizes, shaper = subject.cache.kernel_blocks, reshaper(subject.cache.given, subject.cache.built)
    return len(sizes) == len(subject.cache.groups) and all(
        _plain(group.spec) and shaper.block_dim_or_none(group) == 0
        for group in subject.attention
        if group.spec.is_attention
    )


def _plain(spec: AttentionSpec) -> bool:
    """Blocks of whole tokens, and one cache dtype for both runners."""
    sets_dtype = spec.cache_dtype_str is not None or spec.quantised_without_mode or not spec.managed
    return spec.compress_ratio == 1 and not sets_dtype


def outcome(subject: DocumentSubject) -> Outcome | None:
    """What becomes of a document, None where it cannot be told."""
    early = subject.refusal
    if early:
        return _refused(early, early.path)
    if subject.soundness is None:
        return None
    if subject.soundness.refusal:
        moved = (layer for layer, said in subject.soundness.decisions.items() if said == REFUSED)
        layer = next(moved, None)
        return _refused(subject.soundness.refusal, subject.entry(layer) if layer else subject.soundness.refusal.path)
    verdicts = {kind[0].sound for kind in subject.kinds}
    for kind in subject.kinds:
        found = kind[0].self_conflict or kind[0].conflict
        if found:
            return Outcome(
                "unsound", f"starts with an unsound cache ({collision(found)})", subject.entry(found.layers[0])
            )
    return None if None in verdicts else Outcome("sound", "starts with a sound cache")


def _refused(refusal: Refusal, path: Path) -> Outcome:
    text = f"stops at start-up ({refusal.stage}) with {refusal.type}: {refusal.text}"
    return Outcome("refused", text, path or GROUPS)


RULE = Rule(
    "KV113",
    "runners-disagree",
    WARNING,
    "the release's two model runners disagree about start-up or soundness",
    check,
    releases="0.25 to 0.28",
)
