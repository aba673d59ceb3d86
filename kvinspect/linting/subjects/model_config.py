"""A model's config.json, alone or under the arguments of a `vllm serve --config` file, as rules see it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kvinspect.document.not_modelled import NotModelled
from kvinspect.document.problem import DocumentError, Path, Problem
from kvinspect.document.refusal import Refused, Unknown
from kvinspect.document.source import Source
from kvinspect.linting.subjects.document import DocumentSubject
from kvinspect.models.specs_answer import SpecsAnswer
from kvinspect.question.model import ModelQuestion
from kvinspect.releases import lookup

FLAGS: Mapping[str, tuple[str, ...]] = {
    "backend": ("attention-backend", "attention-config"),
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

_KINDS: Mapping[str, Path] = {"unknown-backend": ("backend",), "unknown-dtype": ("cache_dtype",)}
"""Kind of an unknown name → the key of a document that gives it."""

_NAME = re.compile(r"[a-z]+(?:_[a-z]+)+")


class ModelSubject(NamedTuple):
    """What rules about models look at: the pipeline stages under their arguments."""

    stages: tuple[SpecsAnswer, ...]
    arguments: Mapping[str, Any]
    release: str
    left_out: tuple[NotModelled, ...] = ()
    """What was given and no answer takes into account."""


class ModelFile(NamedTuple):
    """The file, or the command line, that says the arguments of a model, into which findings point."""

    source: Source

    def written(self) -> Mapping[str, str]:
        """Flags with dashes → the keys of the file that set them; a dotted key sets a part of its flag."""
        return {str(key).replace("_", "-").partition(".")[0]: key for key in self.source.value}

    def flag_of(self, problem: Problem) -> Path:
        """The flag that a problem is about: its own, one that its text names (`tensor_parallel_size 3`), or as `place`.

        A word of the text is a name only where it has an underscore, as the arguments that a model is refused for have.
        """
        words = [str(part) for part in problem.path[:1]] + _NAME.findall(problem.text)
        written = self.written()
        keys = (written.get(word.replace("_", "-")) for word in words)
        key = next((key for key in keys if key is not None), None)
        return self.place(problem.path) if key is None else (key,)

    def place(self, path: Path) -> Path:
        """Where the entry of a document comes from: a flag of the file, or the model's name."""
        written = self.written()
        for part in reversed(path):
            for flag in FLAGS.get(str(part), ()):
                if flag in written:
                    return (written[flag],)
        if "model" in written:
            return (written["model"],)
        return ("architectures", 0) if "architectures" in self.source.value else ()

    def placed(self, problems: Iterable[Problem]) -> Iterator[Problem]:
        """Problems of the file itself as they stand; those of arguments at the flag that says them."""
        for problem in problems:
            if problem.mark is not None and problem.source == self.source.name:
                yield problem
                continue
            where = "" if problem.mark is None else f"{problem.where}: "
            said = problem._replace(
                message=f"{where}{problem.text}", expected="", found="", nearest="", hint="", source="", line_text=""
            )
            yield self.source.place(said._replace(path=self.flag_of(problem), mark=None))


def _model(asked: ModelQuestion) -> ModelSubject:
    version = lookup.number(asked.served.rules.version)
    return ModelSubject(asked.stages, asked.served.written, version, asked.not_modelled)


def subjects(file: ModelFile, ask: Callable[[], ModelQuestion]) -> tuple[ModelSubject, DocumentSubject]:
    """The stages of the model that `ask` asks about, and the cache that they become.

    Raises DocumentError, with its places in the file, where the engine stops before.
    """
    try:
        asked = ask()
        return _model(asked), DocumentSubject(asked.cache.about)
    except DocumentError as error:
        raise DocumentError(file.placed(error.errors)) from None
    except Unknown as unknown:
        raise DocumentError(
            file.source.placed([unknown.problem._replace(path=file.place(_KINDS.get(unknown.kind, ())))])
        ) from None
    except Refused as refused:
        problem = Problem(file.place(()), message=f"the engine stops: {refused.refusal.text}", kind="stopped")
        raise DocumentError(file.source.placed([problem])) from None
