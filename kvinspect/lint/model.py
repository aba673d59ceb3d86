"""A model's config.json, alone or under the arguments of a `vllm serve --config` file, as rules see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kvinspect.document.load import load
from kvinspect.document.problem import DocumentError, Path, Problem
from kvinspect.document.source import Source
from kvinspect.engine.refusal import Refused, Unknown
from kvinspect.engine.releases import Release
from kvinspect.engine.situation import DEFAULT_CAPABILITY
from kvinspect.lint.planned import planned
from kvinspect.lint.subject import Planned
from kvinspect.models.answer import SpecsAnswer, as_served
from kvinspect.models.arguments import argument, engine_arguments
from kvinspect.models.config import Model
from kvinspect.models.memory import parse_size
from kvinspect.models.stages import planning_document, stage_of

PLENTY = 1 << 50
"""Bytes for the cache where nobody says: nothing is refused for want of memory then."""

FLAGS: Mapping[str, tuple[str, ...]] = {
    "backend": ("attention-backend",),
    "block_size": ("block-size",),
    "cache_dtype": ("kv-cache-dtype",),
    "compilation_config": ("compilation-config", "enforce-eager"),
    "max_model_len": ("max-model-len",),
    "available_memory": ("kv-cache-memory-bytes",),
    "scheduler_config": ("max-num-seqs", "max-num-batched-tokens"),
    "parallel_config": ("tensor-parallel-size", "decode-context-parallel-size"),
    "speculative_config": ("speculative-config",),
    "kv_transfer_config": ("kv-transfer-config",),
}
"""Key of a document → the flags that it comes from."""


class ModelSubject(NamedTuple):
    """What rules about models look at: the pipeline stages under their arguments."""

    stages: tuple[SpecsAnswer, ...]
    arguments: Mapping[str, Any]


class ModelFile(NamedTuple):
    """What is linted: the file that findings point into, the model, and what the engine is told."""

    source: Source
    model: Model
    platform: str
    capability: str | None
    arguments: Mapping[str, Any]

    def place(self, path: Path) -> Path:
        """Where the entry of a document comes from: a flag of the file, or the model's name."""
        written = {str(key).replace("_", "-"): key for key in self.source.value}
        for part in reversed(path):
            for flag in FLAGS.get(str(part), ()):
                if flag in written:
                    return (written[flag],)
        if "model" in written:
            return (written["model"],)
        return ("architectures", 0) if "architectures" in self.source.value else ()


def subjects(file: ModelFile, release: Release) -> tuple[ModelSubject, Planned]:
    """The stages of the model, and the cache that they become. Raises DocumentError where the engine stops before."""
    try:
        arguments = engine_arguments(file.arguments)
        model = file.model.overridden(argument(file.arguments, "hf_overrides"))
        device = (file.platform, file.capability or DEFAULT_CAPABILITY[file.platform])
        stages = tuple(
            as_served(stage_of(model, release, release.version, device, arguments, stage))
            for stage in range(arguments.pipeline_parallel_size)
        )
        document = planning_document(stages, _memory(file.arguments), file.arguments)
    except DocumentError as error:
        raise DocumentError(list(_placed(error.errors, file))) from None
    except Unknown as unknown:
        raise DocumentError(file.source.placed([unknown.problem._replace(path=file.place(()))])) from None
    except Refused as refused:
        problem = Problem(file.place(()), message=f"the engine stops: {refused.text}", kind="refused")
        raise DocumentError(file.source.placed([problem])) from None
    return ModelSubject(stages, file.arguments), planned(load(document, file.source.name), release)


def _memory(arguments: Mapping[str, Any]) -> int:
    try:
        return parse_size(str(arguments["kv_cache_memory_bytes"]))
    except (KeyError, ValueError):
        return PLENTY


def _placed(problems: tuple[Problem, ...], file: ModelFile) -> Iterator[Problem]:
    """Problems of the model's file as they stand; those of arguments at the flag that says them."""
    for problem in problems:
        if problem.mark is not None and problem.source == file.source.name:
            yield problem
            continue
        written = {str(key).replace("-", "_"): key for key in file.source.value}
        name = str(problem.path[0]) if problem.path else ""
        path = (written[name],) if name in written else file.place(())
        where = "" if problem.mark is None else f"{problem.where}: "
        message = f"{where}{problem.text}"
        said = problem._replace(message=message, expected="", found="", nearest="", hint="")
        yield file.source.place(said._replace(path=path, source="", mark=None, line_text=""))
