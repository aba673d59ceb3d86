"""`kvinspect.plan_model`: from a model's config.json and engine arguments to the plan."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kvinspect.api.of_model import ModelArguments
from kvinspect.document.checked import checked
from kvinspect.document.not_modelled import NotModelled
from kvinspect.document.problem import DocumentError
from kvinspect.models.config import Model, load_model
from kvinspect.models.memory import Memory
from kvinspect.planning.request_load import RequestShape
from kvinspect.planning.sweep import Point, SweepAnswer, impossible, point_of
from kvinspect.planning.sweep_axes import Axis, points
from kvinspect.question.model import ModelPlan

Progress = Callable[[int, int], None]


@checked
def plan_model(
    model: Model | str | pathlib.Path | Mapping[str, Any],
    memory: Memory | int,
    *,
    engine: str | None = None,
    platform: str = "cuda",
    device_capability: str | None = None,
    engine_args: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    requests: RequestShape | None = None,
) -> ModelPlan:
    """The plan of a model under engine arguments named as vLLM's, with `memory` bytes for the cache of each worker.

    `env` is vLLM's environment variables; those of this process are not read. Batches are those that `vllm serve` takes
    where the arguments do not say; Python's `LLM` takes larger ones. `requests` asks whether requests of a shape fit at
    once, which is the `load` of the answer.

    Raises DocumentError where the config.json or an argument cannot be used, or the architecture is not known.
    """
    given = ModelArguments(engine, engine_args or {}, memory, platform, device_capability, env)
    found = given.about(model, lambda asked: asked.plan)
    return found if requests is None else found.with_requests(requests)


def sweep(
    model: Model | str | pathlib.Path | Mapping[str, Any],
    axes: Sequence[Axis],
    memory: Callable[[Mapping[str, Any]], Memory],
    *,
    engine: str | None = None,
    platform: str = "cuda",
    device_capability: str | None = None,
    engine_args: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> SweepAnswer:
    """The plans of a model at every combination of the axes' values; `memory` says what each set of arguments has.

    Raises DocumentError as `plan_model` where not one point can be planned, ValueError for too many points.
    """
    wanted = points(axes)
    loaded = model if isinstance(model, Model) else load_model(model)
    device: Any = {"engine": engine, "platform": platform, "device_capability": device_capability, "env": env}
    found: list[Point] = []
    errors: list[ValueError] = []
    left_out: dict[NotModelled, None] = {}
    setting = None
    for done, values in enumerate(wanted):
        arguments = {**(engine_args or {}), **values}
        try:
            has = memory(arguments)
            answer = plan_model(loaded, has, engine_args=arguments, **device)
            setting = answer.plan.setting
            left_out.update(dict.fromkeys(answer.plan.not_modelled))
            found.append(point_of(values, answer.plan, has.size, has.how))
        except ValueError as error:
            errors.append(error)
            found.append(impossible(values, error))
        if progress:
            progress(done + 1, len(wanted))
    if setting is None:
        raise _all_of(errors)
    return SweepAnswer(setting, tuple(axes), tuple(found), tuple(left_out))


def _all_of(errors: Sequence[ValueError]) -> ValueError:
    """The errors of all points as one, what several of them say said once."""
    problems = [problem for error in errors if isinstance(error, DocumentError) for problem in error.errors]
    return DocumentError(dict.fromkeys(problems)) if problems else errors[0]
