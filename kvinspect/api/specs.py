"""`kvinspect.load_model` and `kvinspect.specs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvinspect.document.checked import checked
from kvinspect.models.arguments import EngineArguments
from kvinspect.models.config import Model, Origin, load_model
from kvinspect.models.specs_answer import SpecsAnswer
from kvinspect.question.model import Served, spoken
from kvinspect.question.question import Rules

__all__ = ["load_model", "specs"]


@checked
def specs(
    model: Model | Origin,
    *,
    engine: str | None = None,
    platform: str = "cuda",
    device_capability: str | float | None = None,
    engine_args: Mapping[str, Any] | EngineArguments | None = None,
    stage: int = 0,
) -> SpecsAnswer:
    """The KV cache specs of a model, as a release's own model classes would give them, layer by layer.

    `engine` is a release (`0.27`), `engine_args` vLLM's arguments by name, `stage` the pipeline stage that is asked
    about. Without `device_capability` the platform's usual device is taken.

    Raises DocumentError where the model or the arguments cannot be used, name something that nobody knows, or would
    stop the engine before it has layers.
    """
    loaded = model if isinstance(model, Model) else load_model(model)
    with spoken(loaded):
        served = Served.of(loaded, engine_args, lambda: Rules.of(engine), platform, device_capability)
        number = served.arguments.pipeline_parallel_size
        if not 0 <= stage < number:
            raise ValueError(f"stage is a number below pipeline_parallel_size ({number})")
        return served.stage(stage)
