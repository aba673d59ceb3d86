"""`kvinspect.fit`: the smallest number of each GPU that holds a model."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from kvinspect.api.ask import release_of
from kvinspect.api.plan_model import plan_model
from kvinspect.document.checked import checked
from kvinspect.hardware.gpu import Gpu
from kvinspect.hardware.gpus import parse_gpus
from kvinspect.models.config import Model, load_model
from kvinspect.planning.request_load import RequestShape
from kvinspect.question.fit import USUAL, FitAnswer, Wanted, smallest
from kvinspect.question.memory import Budget, ServedModel, memory_of
from kvinspect.question.model import ModelPlan


@checked
def fit(
    model: Model | str | pathlib.Path | Mapping[str, Any],
    *,
    gpus: Sequence[str] = USUAL,
    requests: RequestShape | None = None,
    engine: str | None = None,
    engine_args: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
) -> FitAnswer:
    """The smallest number of each GPU that holds a model with requests of a shape, best first.

    Without `requests` one request of the maximum length has to fit. A number before a GPU's name is the most that are
    tried (`8xH100`). The weights are read from the model's folder, else computed from the config.json.

    Raises DocumentError as `plan_model`, ValueError for an unknown GPU and where the arguments say the memory.
    """
    release_of(engine)
    loaded = model if isinstance(model, Model) else load_model(model)
    folder = pathlib.Path(model) if isinstance(model, (str, pathlib.Path)) else None
    shape = None if requests is None else requests.checked()
    kinds = [parse_gpus(name) for name in gpus]
    if not kinds:
        raise ValueError("gpus: expected a GPU's name or several, found none")

    def plan(gpu: Gpu, arguments: Mapping[str, Any]) -> ModelPlan:
        served = ServedModel(loaded, engine, gpu.platform, gpu.capability)
        memory = memory_of(Budget(gpus=parse_gpus(gpu.name)), arguments, folder, served)
        device: Any = {"engine": engine, "platform": gpu.platform, "device_capability": gpu.capability, "env": env}
        return plan_model(loaded, memory, engine_args=arguments, **device)

    return smallest(Wanted(plan, dict(engine_args or {}), shape), kinds)
