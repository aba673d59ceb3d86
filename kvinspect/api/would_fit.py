"""What would fit where the plan of a model is refused or tight, for programs."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from kvinspect.api.plan_model import plan_model
from kvinspect.bundled.lookup import bundled
from kvinspect.models.config import Model, load_model
from kvinspect.models.memory import Memory
from kvinspect.planning.request_load import RequestShape
from kvinspect.question.change import Change, WouldFit
from kvinspect.question.would_fit import Asked
from kvinspect.question.would_fit import would_fit as changes_that_fit


def would_fit(
    model: Model | str | pathlib.Path | Mapping[str, Any],
    memory: Callable[[Model, Mapping[str, Any]], Memory],
    *,
    engine: str | None = None,
    platform: str = "cuda",
    device_capability: str | None = None,
    engine_args: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    requests: RequestShape | None = None,
) -> tuple[WouldFit, ...]:
    """The single changes with which a model fits that does not, or is tight, for want of memory; () where it fits.

    `memory` says what a model has under engine arguments, as `kvinspect.question.memory.memory_of` estimates it.
    Raises DocumentError as `plan_model`.
    """
    loaded = model if isinstance(model, Model) else load_model(model)
    device: Any = {"engine": engine, "platform": platform, "device_capability": device_capability, "env": env}

    def again(change: Change) -> Any:
        """The plan with a change, memory estimated anew."""
        arguments = {**(engine_args or {}), **change.arguments}
        other = bundled(change.model) if change.model else None
        about = load_model(other.config) if other else loaded
        return plan_model(about, memory(about, arguments), engine_args=arguments, requests=requests, **device)

    found = again(Change(""))
    if not found.lacks_memory:
        return ()
    return changes_that_fit(Asked(found, engine_args or {}, again, model=loaded.name))
