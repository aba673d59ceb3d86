"""What the words of a call name: a model and engine arguments, from flags and from a `vllm serve --config` file."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kvinspect.commands.launched import Launch
from kvinspect.commands.programs import COMMAND
from kvinspect.commands.shell_text import EXPANDED
from kvinspect.data import flags
from kvinspect.data.flags import Flags
from kvinspect.document.document import Document
from kvinspect.document.files import is_file, is_folder
from kvinspect.document.load import from_source
from kvinspect.document.problem import DocumentError, Problem, shortened
from kvinspect.document.source import Source, read_source
from kvinspect.models.command import read_file, read_words
from kvinspect.models.config import Model, read_model, read_model_text
from kvinspect.models.dotted import joined
from kvinspect.models.given import SOURCE
from kvinspect.models.hub import QUANTIZATION, Located, located
from kvinspect.question.kinds import kind_of
from kvinspect.question.question import Rules, placed

if TYPE_CHECKING:
    from kvinspect.bundled.lookup import NamedConfig

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
    """Variables that the command sets for the engine."""
    launch: Launch = Launch(())
    """The release, the platform and the GPUs that the command names."""
    found: Located = Located()
    """Where the model is."""

    def load(self) -> Model:
        """The model. Raises DocumentError, which quotes nothing from outside the folder of a file that names it."""
        assert self.model is not None
        if self.found.config is not None:
            return _of_texts(self.found.config)
        return read_model(self.model, self.inside)

    @property
    def served_words(self) -> tuple[str, ...]:
        """The words behind `vllm serve`, the model first: a config.json by its folder, a file of flags by `--config`.

        None where the model is read from standard input, or from a file that vLLM would not look for.
        """
        words = _model_first(self.launch.words)
        if not words or not (words[0] == "-" or is_file(words[0])):
            return words
        path = pathlib.Path(words[0])
        if path.name == "config.json":
            return (str(path.parent), *words[1:])
        return ("--config", *words) if self.file is not None and words[0] != "-" else ()

    def placed(self, error: DocumentError) -> DocumentError:
        """The error with the places of those arguments that the file says."""
        return DocumentError([self._placed(problem) for problem in error.errors])

    def _placed(self, problem: Problem) -> Problem:
        if problem.source != SOURCE or not problem.path or self.file is None:
            return problem
        name = str(problem.path[0])
        keys = {str(key).partition(".")[0].replace("-", "_"): key for key in self.file.value}
        said = next((one for one in (name, NESTED.get(name)) if one in keys and one not in self.by_flag), None)
        if said is None:
            return problem
        return self.file.place(problem._replace(path=(keys[said], *(problem.path[1:] if said == name else ()))))


def _of_texts(config: NamedConfig) -> Model:
    """The model of a config.json that is no file. Raises DocumentError."""
    beside = read_model_text(config.beside, f"{config.name}/{QUANTIZATION}") if config.beside else None
    return Model(read_model_text(config.text, config.name), beside)


def _model_first(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words with the model of `--model` in front, as `vllm serve` asks for it."""
    for i, word in enumerate(words):
        if word == "--model" and i + 1 < len(words):
            return (words[i + 1], *words[:i], *words[i + 2 :])
        if word.startswith("--model="):
            return (word.partition("=")[2], *words[:i], *words[i + 1 :])
    return words


def read_command(words: Sequence[str], engine: str | None, like: str | None = None) -> ServeCommand:
    """The words as `vllm serve` would read them; what stands before them may be any command that starts it.

    The first word may be a whole command as text. Flags win over the file that `--config` names; `like` names the
    model whose config.json is taken in place of the named one's; without `engine` the release of a container's image is
    taken. Raises ValueError for a flag that the release does not have, NotFound where the model is not there,
    DocumentError where a file cannot be read.
    """
    return read_launch(launched(words), engine, like)


def read_launch(launch: Launch, engine: str | None, like: str | None = None) -> ServeCommand:
    """What the words behind `vllm serve` name; see `read_command`."""
    with placed(None):
        version = Rules.of(engine or launch.release).release.version
    for note in launch.notes:
        warnings.warn(note, stacklevel=2)
    env = _read_by(_literal(launch.env), version, STRICT in launch.words)
    return _read(launch.words, flags.read(version), like)._replace(env=env, launch=launch)


def launched(words: Sequence[str]) -> Launch:
    """What the words start. The first word may be a text that has to be split, with further flags behind it."""
    text = words[0] if words else ""
    if len(text.split(maxsplit=1)) < 2 or is_file(text) or is_folder(text):
        return _pasted(words) if any(map(COMMAND.match, words)) else Launch(tuple(words))
    from kvinspect.commands.launch import launch_of_text

    found = launch_of_text(text)
    return found._replace(words=(*found.words, *words[1:]))


def _pasted(words: Sequence[str]) -> Launch:
    """What words start of which one may begin a command."""
    from kvinspect.commands.launch import launch_of

    return launch_of(words)


def _literal(env: Mapping[str, str]) -> dict[str, str]:
    """The variables whose values are written out; of those that count, the others are noted."""
    for name in env:
        if EXPANDED in env[name] and name.startswith("VLLM_"):
            warnings.warn(f"{name} is left out: its value is that of a shell's variable or command", stacklevel=2)
    return {name: value for name, value in env.items() if EXPANDED not in value}


STRICT = "--fail-on-environ-validation"
"""The flag under which the engine refuses a variable that it does not read."""


def _read_by(env: Mapping[str, str], version: str, strict: bool) -> dict[str, str]:
    """The variables less those that the release ignores, as it says when it starts; it refuses them where `strict`."""
    from kvinspect.models.ignored_variables import is_ignored, why_ignored

    ignored = [] if strict else [name for name in env if is_ignored(name, version)]
    for name in ignored:
        why = why_ignored(name, version)
        warnings.warn(f"vLLM {version} ignores {name}" + (f"; {why}" if why else ""), stacklevel=3)
    return {name: value for name, value in env.items() if name not in ignored}


OF_THE_SERVER = frozenset((
    "api_key", "hf_token", "host", "port", "served_model_name", "chat_template", "download_dir", "root_path", "uds",
    "ssl_keyfile", "ssl_certfile", "ssl_ca_certs", "tokenizer", "revision", "tokenizer_revision", "code_revision",
    "master_addr", "master_port", "node_rank", "data_parallel_address", "data_parallel_rpc_port",
    "otlp_traces_endpoint", "allowed_local_media_path",
))  # fmt: skip
"""Arguments on whose values nothing depends here."""


def written_out(words: Sequence[str]) -> list[str]:
    """The words without marks; only what the server alone looks at may be left to a shell. Raises ValueError."""
    found = []
    for i, word in enumerate(words):
        if EXPANDED in word:
            head, equals, _ = word.partition("=")
            before = words[i - 1] if i and words[i - 1].startswith("-") and "=" not in words[i - 1] else ""
            flag = head if word.startswith("-") and equals else before
            if flag.lstrip("-").replace("-", "_") not in OF_THE_SERVER:
                what = f"{flag} has {{}}" if flag and not word.startswith("-") else "{} stands in the command"
                shown = shortened(word.replace(EXPANDED, ""), 100)
                raise ValueError(
                    f"{what.format(shown)}: no variable and no command of a shell is read, so write its value"
                )
        found.append(word.replace(EXPANDED, ""))
    return found


def _read(rest: Sequence[str], known: Flags, like: str | None) -> ServeCommand:
    """The command behind its variables."""
    command = read_words(written_out(rest), known)
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
