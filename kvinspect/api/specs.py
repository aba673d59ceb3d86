"""`kvinspect.load_model` and `kvinspect.specs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvinspect.document.checked import checked
from kvinspect.document.problem import DocumentError, Problem, nearest
from kvinspect.engine.refusal import Refused, Unknown
from kvinspect.engine.situation import DEFAULT_CAPABILITY
from kvinspect.models.answer import SpecsAnswer
from kvinspect.models.arguments import EngineArguments, argument, engine_arguments
from kvinspect.models.config import Model, Origin, load_model
from kvinspect.models.given import SOURCE
from kvinspect.models.stages import stage_of
from kvinspect.releases import lookup

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
    if isinstance(engine_args, Mapping):
        loaded = loaded.overridden(argument(engine_args, "hf_overrides"))
    arguments = engine_arguments(engine_args)
    if not 0 <= stage < arguments.pipeline_parallel_size:
        raise ValueError(f"stage is a number below pipeline_parallel_size ({arguments.pipeline_parallel_size})")
    try:
        called, version, _ = lookup.chosen(engine, None)
        release = lookup.release(version)
        capability = _capability(platform, device_capability)
        return stage_of(loaded, release, called, (platform, capability), arguments, stage)
    except Unknown as unknown:
        raise DocumentError([unknown.problem._replace(source=SOURCE)]) from None
    except Refused as refused:
        problem = Problem((), message=f"the engine stops: {refused.refusal.text}", source=loaded.name, kind="refused")
        raise DocumentError([problem]) from None


def _capability(platform: str, given: str | float | None) -> str | None:
    """The compute capability as `major.minor`. Raises DocumentError for a platform or capability that is none."""
    if platform not in DEFAULT_CAPABILITY:
        near = nearest(str(platform), DEFAULT_CAPABILITY)
        expected = "one of " + ", ".join(DEFAULT_CAPABILITY)
        raise DocumentError(
            [Problem(("platform",), expected=expected, found=f'"{platform}"', nearest=near, source=SOURCE)]
        )
    if given is None:
        return DEFAULT_CAPABILITY[platform]
    text = f"{given:.1f}" if isinstance(given, (int, float)) and not isinstance(given, bool) else str(given)
    major, _, minor = text.partition(".")
    if not (major.isdigit() and len(major) <= 2 and minor.isdigit() and len(minor) == 1):
        expected = "a compute capability such as 9.0"
        raise DocumentError([Problem(("device_capability",), expected=expected, found=f'"{given}"', source=SOURCE)])
    return text
