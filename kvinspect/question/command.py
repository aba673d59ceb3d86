"""What the words of a call name: a model and engine arguments, from flags and from a `vllm serve --config` file."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from kvinspect.document.document import Document
from kvinspect.document.files import is_file, is_folder
from kvinspect.document.load import from_source
from kvinspect.document.problem import DocumentError, Problem
from kvinspect.document.source import Source, read_source
from kvinspect.models.command import read_file, read_words
from kvinspect.models.config import Model, read_model
from kvinspect.models.dotted import joined
from kvinspect.models.given import SOURCE
from kvinspect.models.hub import Located, located
from kvinspect.question.kinds import kind_of
from kvinspect.question.question import Rules, placed
from kvinspect.releases.data import flags
from kvinspect.releases.data.flags import Flags

NESTED = {
    "attention_backend": "attention_config",
    "flash_attn_version": "attention_config",
    "num_speculative_tokens": "speculative_config",
    "speculative_method": "speculative_config",
}
"""Arguments that may stand in another one."""


class ServeCommand(NamedTuple):
    """A model's config.json under engine arguments, or a planning document."""

    model: str | None
    document: Document | None
    arguments: Mapping[str, Any]
    file: Source | None = None
    """The file that says what no flag does."""
    by_flag: frozenset[str] = frozenset()
    """Arguments that flags set."""
    inside: pathlib.Path | None = None
    """The folder of the file that names the model, None where the call does."""
    env: Mapping[str, str] = {}
    """Variables that stand before the command."""
    found: Located = Located()
    """Where the model is."""

    def load(self) -> Model:
        """The model. Raises DocumentError, which quotes nothing from outside the folder of a file that names it."""
        assert self.model is not None
        if self.found.config is not None:
            return Model(read_source(self.found.config.config, self.found.config.name))
        return read_model(self.model, self.inside)

    def placed(self, error: DocumentError) -> DocumentError:
        """The error with the places of those arguments that the file says."""
        return DocumentError([self._placed(problem) for problem in error.errors])

    def _placed(self, problem: Problem) -> Problem:
        if problem.source != SOURCE or not problem.path or self.file is None:
            return problem
        name = str(problem.path[0])
        keys = {str(key).partition(".")[0].replace("-", "_"): key for key in self.file.value}
        said = next((one for one in (name, NESTED.get(name)) if one in keys and one not in self.by_flag), None)
        return self.file.place(problem._replace(path=(keys[said],))) if said else problem


def read_command(words: Sequence[str], engine: str | None, like: str | None = None) -> ServeCommand:
    """The words as `vllm serve` would read them, the words `vllm serve` themselves left out.

    Flags win over the file that `--config` names; `like` names the model whose config.json is taken in place of the
    named one's. Raises ValueError for a flag that the release does not have, NotFound
    where the model is not there, DocumentError where a file cannot be read.
    """
    with placed(None):
        known = flags.read(Rules.of(engine).release.version)
    before = list(takewhile(_is_variable, words))
    env = dict(word.split("=", 1) for word in before)
    words = words[len(before) :]
    rest = list(words[2:] if tuple(words[:2]) == ("vllm", "serve") else words)
    return _read(rest, known, like)._replace(env=env)


def _is_variable(word: str) -> bool:
    """Whether a word sets a variable, as a shell has it before a command."""
    return re.match(r"[A-Za-z_][A-Za-z0-9_]{0,99}=", word) is not None


def _read(rest: Sequence[str], known: Flags, like: str | None) -> ServeCommand:
    """The command behind its variables."""
    command = read_words(rest, known)
    arguments = dict(command.arguments)
    by_flag = frozenset(arguments)
    file = None
    if "config" in arguments:
        file = read_source(str(arguments.pop("config")))
        arguments = joined(read_file(file, known), arguments)
    names = [*command.positional, *([str(arguments.pop("model"))] if "model" in arguments else [])]
    if not names:
        raise ValueError("which model? Give its config.json, its folder, or its hub id")
    if like is not None:
        found = _like(names[0], like, arguments, file)
        return found._replace(arguments=_with_words(found.arguments), by_flag=by_flag)
    if file is not None and not command.positional and "model" not in by_flag:
        found = _of_file(names[0], arguments, file)
        return found._replace(arguments=_with_words(found.arguments), by_flag=by_flag)
    if len(command.positional) > 1:
        raise ValueError(f"one model at a time; found {' and '.join(command.positional)}")
    found = _of_name(names[0], known, arguments, file)
    return found._replace(arguments=_with_words(found.arguments), by_flag=by_flag)


def _with_words(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments, with the word for a length of -1, which a command line and a file give as text."""
    return {**arguments, "max_model_len": "auto"} if arguments.get("max_model_len") == "-1" else arguments


def _of_name(name: str, known: Flags, arguments: dict[str, Any], file: Source | None) -> ServeCommand:
    if name == "-" or is_file(name):
        source = read_source(name)
        kind = kind_of(source.value, name)
        if kind == "document":
            return ServeCommand(None, from_source(source), arguments)
        if kind == "serve":
            return _of_serve(source, known, arguments)
    folder = pathlib.Path(file.name).parent if file else None
    found = located(name, folder)
    return ServeCommand(found.name, None, arguments, file, found=found)


def _like(name: str, like: str, arguments: dict[str, Any], file: Source | None) -> ServeCommand:
    """A model planned as another one: its folder, where it has one, says the weights."""
    found = located(like)
    weights = pathlib.Path(name) if is_folder(name) else None
    source = f"{name} is planned like {like}" + (f": {found.source}" if found.source else "")
    found = found._replace(source=source, weights=weights)
    return ServeCommand(found.name, None, arguments, file, found=found)


def _of_serve(source: Source, known: Flags, arguments: dict[str, Any]) -> ServeCommand:
    """A `vllm serve --config` file, which names its model."""
    merged = joined(read_file(source, known), arguments)
    model = merged.pop("model", None) or merged.pop("model_tag", None)
    if not isinstance(model, str):
        raise ValueError(f"{source.name} names no model; give one, and the file with --config")
    return _of_file(model, merged, source)


def _of_file(model: str, arguments: Mapping[str, Any], file: Source) -> ServeCommand:
    """The model that a file names, which has to be on this machine."""
    folder = pathlib.Path(file.name).parent
    found = located(model, folder, file.name)
    return ServeCommand(found.name, None, arguments, file, inside=folder, found=found)
