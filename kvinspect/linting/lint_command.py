"""One command line under one release: its flags, the model under them, and every finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kvinspect.commands.launched import Launch
from kvinspect.data import flags
from kvinspect.document.finding import Finding
from kvinspect.document.problem import DocumentError, Problem
from kvinspect.linting.checked import of_model
from kvinspect.linting.lint_file import FileResult, failed, of_flags, result_of, unset, verdict_of
from kvinspect.linting.problems import as_findings
from kvinspect.linting.settings import Settings
from kvinspect.linting.subjects.command_line import NAME, CommandLine, command_line, words_of
from kvinspect.linting.subjects.model_config import ModelFile
from kvinspect.models.deployed import device_of, in_sight
from kvinspect.models.given import SOURCE, unusable
from kvinspect.question.command import ServeCommand, launched, read_launch
from kvinspect.question.memory import PLENTY, Budget, NoMemory, memory_of
from kvinspect.question.model import ModelQuestion, Served
from kvinspect.question.question import Rules, placed

Ask = Callable[[], ModelQuestion]


def lint_command(words: Sequence[str], settings: Settings, engines: Sequence[str | None]) -> list[FileResult]:
    """Lint the words of a command line under each release of a call.

    Raises ValueError where the call is wrong: a flag that no release has, a model that is not known.
    """
    launch = launched(words)
    return [_under(launch, settings, engine) for engine in engines]


def lint_model(name: str, arguments: Mapping[str, Any], settings: Settings, rules: Rules, ask: Ask) -> FileResult:
    """Lint a model under engine arguments of the Python API, as the command line that says the same.

    Raises DocumentError for an argument that is a flag of no release, and for a value that no flag can have.
    """
    unread = list(unusable(arguments))
    if unread:
        raise DocumentError(unread)
    try:
        line = command_line(words_of(name, arguments), flags.read(rules.release.version))
    except DocumentError:
        raise
    except ValueError as error:
        raise DocumentError([Problem((), message=str(error), kind="unknown-key", source=SOURCE)]) from None
    return judged(line, rules, settings, ask)


def unset_command(words: Sequence[str], error: DocumentError) -> FileResult:
    """The result of a command line in a folder whose settings are wrong, never judged."""
    text = command_line(launched(words).words, flags.read(Rules.of(None).release.version)).source.text
    return unset(NAME, error)._replace(kind="command", text=text)


def rules_of(launch: Launch, settings: Settings, engine: str | None) -> Rules:
    """The release of the call, of the command's image, or of the settings. Raises DocumentError for none."""
    with placed(None):
        return Rules.of(engine or launch.release, settings.engine)


def _under(launch: Launch, settings: Settings, engine: str | None) -> FileResult:
    rules = rules_of(launch, settings, engine)
    line = command_line(launch.words, flags.read(rules.release.version))
    return judged(line, rules, settings, _prepared(launch._replace(words=line.words), rules, settings))


def _prepared(launch: Launch, rules: Rules, settings: Settings) -> Ask:
    """How the model is asked about; what its flags or its files have wrong comes when it is. Raises ValueError."""
    try:
        command = read_launch(launch, rules.release.version)
    except DocumentError as error:
        return _raising(error)
    if command.model is None:
        raise ValueError("a document says by itself what its arguments are")
    try:
        in_sight(command.arguments, launch.gpus, launch.gpus_said)
        memory = memory_of(Budget(), command.arguments, None)
    except NoMemory:
        memory = PLENTY
    except DocumentError as error:
        return _raising(command.placed(error))
    return lambda: ModelQuestion(_served(command, rules, settings), memory)


def _raising(error: DocumentError) -> Ask:
    def ask() -> ModelQuestion:
        raise error

    return ask


def _served(command: ServeCommand, rules: Rules, settings: Settings) -> Served:
    """The model as the command serves it. Raises DocumentError."""
    platform, capability = device_of(None, settings.platform or command.launch.platform, settings.device_capability)
    try:
        served = Served.of(command.load(), command.arguments, lambda: rules, platform, capability)
        return served.within(command.env)
    except DocumentError as error:
        raise command.placed(error) from None


def judged(line: CommandLine, rules: Rules, settings: Settings, ask: Ask) -> FileResult:
    """The result of a command line and of the model that is asked about."""
    source = line.source

    def model() -> Sequence[Finding]:
        """What is found about the model; a model that cannot be used is a finding."""
        try:
            return list(of_model(source, ask))
        except DocumentError as error:
            return list(as_findings(ModelFile(source).placed(error.errors)))

    try:
        verdict = verdict_of(source, lambda: of_flags(source, rules.release, model))
        result = result_of("command", source, verdict, settings)
    except Exception as error:
        result = failed(NAME, error)
    return result._replace(kind="command", text=source.text)
