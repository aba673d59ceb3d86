"""KV111: a configuration that trips a fault of the release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kvinspect.backends.backend import Backend
from kvinspect.backends.conditions import choose as choose_by
from kvinspect.backends.deployed import Deployed
from kvinspect.backends.model_runner import choose
from kvinspect.data.catalogue import versions
from kvinspect.document.numbers import counted
from kvinspect.document.problem import Path
from kvinspect.engine.unknown import unknown_names
from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._shared import GROUPS, attends_both_ways
from kvinspect.linting.subjects.document import DocumentSubject
from kvinspect.releases.lookup import release
from kvinspect.releases.release import Release


class Fault(NamedTuple):
    """A place where a document trips a fault, and what happens then."""

    path: Path
    text: str


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Each fault that the document trips in this release, with the releases in which it does not."""
    for fault_of in FAULTS:
        fault = fault_of(subject)
        if fault:
            yield Found(fault.path, f"{fault.text}; {_free(subject, fault_of)}")


def _free(subject: DocumentSubject, fault_of: Callable[[DocumentSubject], Fault | None]) -> str:
    others = [version for version in versions() if version != subject.release.version]
    free = [
        version
        for version in others
        if _is_free(subject, fault_of, release(version, choose(subject.document, version).runner))
    ]
    return f"unaffected releases: {', '.join(free)}" if free else "every supported release is affected"


def _is_free(subject: DocumentSubject, fault_of: Callable[[DocumentSubject], Fault | None], other: Release) -> bool:
    backends = Deployed.of(subject.document, other.catalogue).backends
    if next(unknown_names(subject.document, other, backends), None) is not None:
        return False
    again = DocumentSubject(subject.question.under(other))
    if fault_of(again) or again.refusal:
        return False
    return all(kind[0].sound for kind in again.kinds)


def _sharing_into_uniform(subject: DocumentSubject) -> Fault | None:
    refusal = subject.refusal
    if refusal is None or refusal.kind != "sharing-into-uniform":
        return None
    return Fault(refusal.path, "a KV-sharing layer whose target is in a uniform_type group raises a KeyError")


def _split_padded_page(subject: DocumentSubject) -> Fault | None:
    """A padded page cut into kernel blocks: the page's stride is given to each kernel block."""
    refusal, cache = subject.refusal, subject.cache
    if refusal is None or refusal.stage != "reshape" or refusal.type != "RuntimeError" or cache is None:
        return None
    for group, size in zip(cache.groups, cache.kernel_blocks, strict=False):
        spec = group.first_spec
        if spec.is_attention and spec.page_size_padded and size < spec.storage_block_size:
            text = (
                f"a padded page that is split into kernel blocks of {counted(size, 'token')} runs past its allocation"
            )
            return Fault((*GROUPS, group.id, "kv_cache_spec"), text)
    return None


def _int4_window(subject: DocumentSubject) -> Fault | None:
    if subject.refusal is None:
        return None
    for group in subject.attention:
        spec = group.spec
        if not spec.packs_int4 and spec.kv_quant_mode == "INT4_PER_TOKEN_HEAD":
            path = (*GROUPS, group.kv_cache_group_id, "kv_cache_spec")
            return Fault(path, "the page size of a sliding window ignores the packing of int4_per_token_head")
    return None


def _encoder_group_in_front(subject: DocumentSubject) -> Fault | None:
    groups = subject.cache.groups if subject.cache else ()
    managed = [group.first_spec.managed for group in groups]
    encoder = next((i for i, there in enumerate(managed) if not there), None)
    if encoder is None or not any(managed[encoder:]):
        return None
    last = next(group for group in reversed(subject.cache.groups) if group.layer_names) if subject.cache else None
    viewed = subject.soundness is not None and last is not None and last.layer_names[0] in subject.soundness.views
    text = "after an encoder-only group, each group gets the kernel block size of the next group, and the last gets no "
    return Fault((*GROUPS, encoder), text + ("size" if viewed else "view"))


def _alias_with_another_backend(subject: DocumentSubject) -> Fault | None:
    if subject.cache is None:
        return None
    for alias, target in subject.document.shared.items():
        backends = subject.cache.grouped.backends
        mine, other = backends[alias].backend, backends[target].backend
        if mine.class_name != other.class_name and mine.shapes:
            text = f"{alias} runs on {mine.name} and gets the view of {target} in the shape of {other.name}, unchecked"
            return Fault(("shared_kv_cache_layers", alias), text)
    return None


def _states_under_kv_first(subject: DocumentSubject) -> Fault | None:
    """State-space pages under a K/V-first view, which one release neither restrides nor builds page by page."""
    cache = subject.cache
    if cache is None or cache.release.hybrid_step or cache.release.page_aligned_step:
        return None
    home = {layer: group for group in cache.groups for layer in group.layer_names}
    for kind in subject.kinds:
        if not (kind[0].conflict and 1 in kind[0].block_dims):
            continue
        specs = [home[layer].spec_of(layer) for layer in kind[0].shared_by if layer in home]
        mixed = any(s.holds_states for s in specs) and any(s.is_attention for s in specs)
        if mixed:
            text = (
                "state-space pages under a K/V-first view: block i of the state-space layers overlaps other blocks of "
                "the attention layers"
            )
            return Fault(subject.entry(kind[0].conflict.layers[0]), text)
    return None


def _claimed_mm_prefix(subject: DocumentSubject) -> Fault | None:
    """Backends that the selector takes for image tokens, and whose metadata and kernels never see the ranges."""
    if not attends_both_ways(subject):
        return None
    for group in subject.attention:
        if group.backend.entry.get("reads_mm_prefix") is False:
            text = (
                f"{group.backend.name} reports bidirectional attention but ignores the ranges, so image tokens attend"
            )
            other = next(_reading(subject, group.backend), "another backend")
            return Fault(subject.entry(group.layer_names[0]), f"{text} causally, without a warning; use {other}")
    return None


def _reading(subject: DocumentSubject, instead_of: Backend) -> Iterator[str]:
    """The backends that the same platform tries for image tokens, and that do read the ranges."""
    known = subject.release.catalogue
    facts = {
        "platform": instead_of.entry.get("platform"),
        "use_mla": False,
        "use_mm_prefix": True,
        "use_kv_connector": False,
    }
    for name in choose_by(known["selection"], facts):
        entry = known["backends"][name]
        if entry["supports_mm_prefix"] is True and entry.get("reads_mm_prefix") is not False:
            yield name


FAULTS = (
    _sharing_into_uniform,
    _split_padded_page,
    _int4_window,
    _encoder_group_in_front,
    _alias_with_another_backend,
    _states_under_kv_first,
    _claimed_mm_prefix,
)
RULE = Rule("KV111", "known-engine-fault", ERROR, "the configuration triggers a known fault of the release", check)
