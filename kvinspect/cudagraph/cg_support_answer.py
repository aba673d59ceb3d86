"""The answer of `cg-support` for a document, as values that print themselves as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kvinspect.cudagraph.advice import Advice
from kvinspect.cudagraph.capture import Captured
from kvinspect.cudagraph.decide import Decision, GroupLevel
from kvinspect.cudagraph.mode import CUDAGraphMode
from kvinspect.cudagraph.resolve import Resolution
from kvinspect.cudagraph.support import AttentionCGSupport
from kvinspect.document.refusal import Refusal
from kvinspect.engine.align_answer import SCHEMA_VERSION, AnswerHeader, refusal_dict


def group_dict(group: GroupLevel) -> dict[str, Any]:
    """An attention group as JSON."""
    return {
        "kv_cache_group_id": group.kv_cache_group_id,
        "encoder": group.kv_cache_group_id is None,
        "backend": group.backend,
        "backend_class": group.backend_class,
        "layer_names": list(group.layer_names),
        "support": group.level.support.name,
        "narrowed": group.narrowed,
        "why": group.level.why,
        "cases": [case.to_dict() for case in group.level.cases],
    }


def resolution_dict(resolution: Resolution) -> dict[str, Any]:
    """A resolution as JSON."""
    return {
        "resolved_mode": resolution.mode.name if resolution.mode else None,
        "error": refusal_dict(resolution.error) if resolution.error else None,
        "steps": [step.to_dict() for step in resolution.steps],
    }


class OpenCase(NamedTuple):
    """What comes out where an open fact has a value, all others as assumed."""

    value: Any
    min_cg_support: AttentionCGSupport
    min_cg_attn_backend: str | None
    resolution: Resolution

    def to_dict(self) -> dict[str, Any]:
        """The case as JSON."""
        least = {"min_cg_support": self.min_cg_support.name, "min_cg_attn_backend": self.min_cg_attn_backend}
        return {"value": self.value, **least, **resolution_dict(self.resolution)}


class Open(NamedTuple):
    """A fact that the document leaves open and that a backend's answer depends on."""

    fact: str
    assumed: Any
    cases: tuple[OpenCase, ...]

    @property
    def matters(self) -> bool:
        """Whether the mode depends on it."""
        return len({case.resolution.mode for case in self.cases}) > 1

    def to_dict(self) -> dict[str, Any]:
        """The fact as JSON."""
        return {"fact": self.fact, "assumed": self.assumed, "cases": [case.to_dict() for case in self.cases]}


class CGSupportAnswer(NamedTuple):
    """The answer of `cg-support`: the decision, or the refusal before it."""

    setting: AnswerHeader
    requested_mode: CUDAGraphMode
    decision: Decision | None = None
    refusal: Refusal | None = None
    at_start_up: Resolution | None = None
    """The resolution of what the configuration makes of the request first, where it makes something else of it."""
    captured: Captured | None = None
    open: tuple[Open, ...] = ()
    advice: tuple[Advice, ...] = ()
    workers: tuple[CGSupportAnswer, ...] = ()
    """Of the other workers that decide otherwise, one of those alike: each stage of a pipeline decides by itself."""

    def beside(self, others: Iterable[CGSupportAnswer]) -> CGSupportAnswer:
        """The answer of the first worker, with those of the others."""
        unlike = {one._decided: one for one in reversed(tuple(others)) if one._decided != self._decided}
        return self._replace(workers=tuple(reversed(unlike.values())))

    @property
    def _decided(self) -> tuple[object, ...]:
        """What comes out, and the support that it comes of."""
        groups = self.decision.groups if self.decision else ()
        levels = frozenset((group.backend, group.level.support) for group in groups)
        return (self.running.mode, self.running.error, self.captured, levels)

    @property
    def layer_names(self) -> tuple[str, ...]:
        """The layers that it is about, () where the engine refuses before it has any."""
        return tuple(layer for group in self.decision.groups for layer in group.layer_names) if self.decision else ()

    @property
    def resolution(self) -> Resolution:
        """What becomes of the requested mode."""
        return self.decision.resolution if self.decision else Resolution(None, (), self.refusal)

    @property
    def running(self) -> Resolution:
        """What becomes of what the configuration hands over, which is what runs."""
        return self.at_start_up or self.resolution

    @property
    def clean(self) -> bool:
        """Whether the engine refuses nothing, on any worker."""
        return self.running.error is None and all(one.clean for one in self.workers)

    @property
    def as_requested(self) -> bool:
        """Whether the requested mode is the one that runs, on every worker."""
        return self.running.mode is self.requested_mode and all(one.as_requested for one in self.workers)

    def to_dict(self) -> dict[str, Any]:
        """The answer as `--format json` prints it."""
        decision = self.decision
        return {
            "schema_version": SCHEMA_VERSION,
            **self.setting.to_dict(),
            "groups": [group_dict(group) for group in decision.groups] if decision else [],
            "min_cg_support": decision.info.min_cg_support.name if decision else None,
            "min_cg_attn_backend": decision.info.min_cg_attn_backend if decision else None,
            "requested_mode": self.requested_mode.name,
            **resolution_dict(self.resolution),
            **({"stage": self.refusal.stage} if self.refusal else {}),
            "uniform_decode_query_len": decision.request.query_len if decision else None,
            "at_start_up": resolution_dict(self.at_start_up) if self.at_start_up else None,
            "capture_sizes": self.captured.to_dict() if self.captured else None,
            "open": [fact.to_dict() for fact in self.open],
            "advice": [advice.to_dict() for advice in self.advice],
            **({"workers": [one.to_dict() for one in self.workers]} if self.workers else {}),
        }


class MatrixCell(NamedTuple):
    """What becomes of a mode under a least support."""

    requested: CUDAGraphMode
    support: AttentionCGSupport
    resolution: Resolution


class ModeMatrix(NamedTuple):
    """Every mode under every least support, everything else as in `under`."""

    release: str
    under: Mapping[str, Any]
    cells: tuple[MatrixCell, ...]

    def to_dict(self) -> dict[str, Any]:
        """The matrix as `--format json` prints it."""
        cells = [
            {"requested_mode": c.requested.name, "min_cg_support": c.support.name, **resolution_dict(c.resolution)}
            for c in self.cells
        ]
        return {"schema_version": SCHEMA_VERSION, "release": self.release, "under": dict(self.under), "matrix": cells}
