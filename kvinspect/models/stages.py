"""A pipeline stage of a model, with its layers."""

from __future__ import annotations

from kvinspect.models.arguments import EngineArguments
from kvinspect.models.config import Model
from kvinspect.models.layer_specs import make_specs
from kvinspect.models.registry import architecture
from kvinspect.models.setting import settle
from kvinspect.models.specs_answer import SpecsAnswer
from kvinspect.releases.release import Release


def stage_of(
    model: Model,
    release: Release,
    called: str,
    device: tuple[str, str | None],
    arguments: EngineArguments,
    stage: int = 0,
) -> SpecsAnswer:
    """The specs of one stage; `device` is platform and capability.

    Raises DocumentError, Unknown or Refused where the model cannot be used or the engine stops.
    """
    known = architecture(model, release.version, arguments.runner, arguments.model_impl)
    setting = settle(model, release, *device, arguments, known)
    return SpecsAnswer(model.name, called, make_specs(model, setting, stage))
