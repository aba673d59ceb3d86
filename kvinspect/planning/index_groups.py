"""Latent layers with an index beside state-space layers (GLM-5.3-Flash), which 0.30 groups by a rule of its own.

Follows `_get_kv_cache_groups_glm5_next`; how pipeline stages change the number of groups is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused
from kvinspect.provenance import vllm
from kvinspect.specs.kinds import Specs
from kvinspect.specs.uniform_type import UniformTypeSpecs

if TYPE_CHECKING:
    from kvinspect.planning.release import NamedGroups, PlannerRelease

FUNCTION = "_get_kv_cache_groups_glm5_next"


@vllm("get_kv_cache_groups", until="0.29")
@vllm("get_kv_cache_groups", since="0.33")
def no_rule(specs: Specs, release: PlannerRelease) -> NamedGroups | None:
    """Before 0.30 and after it there is no such rule."""
    return None


@vllm("_get_kv_cache_groups_glm5_next", since="0.30", until="0.30")
def states_on_latents(specs: Specs, release: PlannerRelease) -> NamedGroups | None:
    """0.30: one group of all latents, and the states dealt out to groups that fit on them; None for other models.

    Raises Refused where pages are padded or differ, or a state does not fit on a latent page.
    """
    states = {layer: spec for layer, spec in specs.items() if spec.holds_states}
    tails = {layer: spec for layer, spec in specs.items() if spec.pool_tail}
    latents = {layer: spec for layer, spec in specs.items() if layer not in states and layer not in tails}
    if not states or not all(spec.plain_latents for spec in latents.values()):
        return None
    index = {release.page(spec) for spec in latents.values() if spec.compress_ratio > 1}
    if not index:
        return None
    plain = [layer for layer, spec in latents.items() if spec.compress_ratio == 1]
    page = _one_page(latents, index, plain, release)
    together = UniformTypeSpecs.of(latents, release)
    state = next(iter(states.values()))
    if together is None:
        raise _refused("the latent layers need different numbers of slots")
    _require(len(set(states.values())) == 1, "the states differ")
    if state.content_bytes > page:
        text = f"a state of {counted(state.content_bytes, 'byte')} does not fit on a latent page of {page}"
        raise Refused("ValueError", text, function=FUNCTION)
    count = -(-len(states) // len(plain))
    padded = release.rebuilt(state, page_size_padded=page)
    dealt = [(list(states)[i::count], padded) for i in range(count)]
    return [(list(latents), together), *_tails(tails, index.pop(), release), *dealt]


def _tails(tails: Specs, index_page: int, release: PlannerRelease) -> NamedGroups:
    """One group of the raw tails, which lie on the pages of the index; no group where there are none."""
    if not tails:
        return []
    padded = {layer: release.rebuilt(spec, page_size_padded=index_page) for layer, spec in tails.items()}
    together = UniformTypeSpecs.of(padded, release)
    if together is None:
        raise _refused("the tails of the index need different numbers of slots")
    return [(list(tails), together)]


def _one_page(latents: Specs, index: set[int], plain: list[str], release: PlannerRelease) -> int:
    """Bytes of the pages without compression, which have to be alike and not padded."""
    _require(all(spec.page_size_padded is None for spec in latents.values()), "pages of latents are padded")
    pages = {release.page(latents[layer]) for layer in plain}
    _require(len(index) == 1 and len(pages) == 1, "pages of latents come in several sizes")
    return pages.pop()


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise _refused(otherwise)


def _refused(text: str) -> Refused:
    return Refused("AssertionError", text, function=FUNCTION)
