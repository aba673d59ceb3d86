"""`kvinspect.lint`: the findings of a file, or of many under one or several releases."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from kvinspect.api.of_model import ModelArguments
from kvinspect.document.checked import checked
from kvinspect.document.finding import Severity
from kvinspect.document.problem import DocumentError
from kvinspect.document.source import FOUND_BY_LINK, label_of
from kvinspect.linting.across_releases import together
from kvinspect.linting.lint_file import FileResult, failed, lint_file, lint_under, unset
from kvinspect.linting.settings import Settings, read_settings, settings_for
from kvinspect.releases import lookup

if TYPE_CHECKING:
    from kvinspect.models.config import Model
    from kvinspect.models.memory import Memory


class Options(NamedTuple):
    """What a call says beside its files; each wins over the settings of the file's folder where it is given."""

    engines: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: Severity | None = None
    config: str | None = None

    def over(self, settings: Settings) -> Settings:
        """The settings with what the call says."""
        return settings._replace(
            select=self.select or settings.select,
            ignore=(*settings.ignore, *self.ignore),
            fail_on=settings.fail_on if self.fail_on is None else self.fail_on,
        )


@checked
def lint(
    origin: str | pathlib.Path | Mapping[str, Any] | Model,
    *,
    engine: str | None = None,
    settings: Settings | None = None,
    engine_args: Mapping[str, Any] | None = None,
    memory: Memory | int | None = None,
    platform: str | None = None,
    device_capability: str | None = None,
    env: Mapping[str, str] | None = None,
) -> FileResult:
    """The findings of a file, of `-` for standard input, or of a mapping.

    `engine` is a release and wins over the document's. Without `settings` those of the file's folder count. With
    `engine_args`, {} for none, `origin` is a model as `plan_model` takes it, with what else that takes; findings stand
    in the command line that says the same. Raises DocumentError where a configuration file is wrong, ValueError for a
    model that is not known or an argument that no release has; what is wrong otherwise is a finding.
    """
    given = ModelArguments(engine, engine_args, memory, platform, device_capability, env)
    found = given.document(origin)
    if found is None:
        return _lint_model(origin, given, settings or _settings("-"))
    return lint_file(found, settings or _settings(found), engine)


def _lint_model(origin: Any, given: ModelArguments, settings: Settings) -> FileResult:
    from kvinspect.linting.lint_command import lint_model
    from kvinspect.models.config import Model, load_model
    from kvinspect.question.question import Rules, placed

    model = origin if isinstance(origin, Model) else load_model(origin)
    with placed(None):
        rules = Rules.of(given.engine, settings.engine)
    given = given._replace(
        engine=rules.release.version,
        platform=given.platform or settings.platform,
        device_capability=given.device_capability or settings.device_capability,
    )
    return lint_model(model.name, given.engine_args or {}, settings, rules, lambda: given.question(model))


def lint_one(
    name: str, options: Options, settings: Settings | None = None, linked: frozenset[str] = frozenset()
) -> FileResult:
    """The findings of a file under every release of the options, or under its own.

    Without `settings` those of the file's folder count; where they are wrong the file is not judged. Nothing is quoted
    of the files in `linked`.
    """
    try:
        settings = settings or _settings(name)
    except DocumentError as error:
        return unset(label_of(name), error)
    except Exception as error:
        return failed(label_of(name), error)
    results = lint_under(
        name, options.over(settings), options.engines or (None,), private=FOUND_BY_LINK if name in linked else ""
    )
    return together(results, [lookup.known(engine) for engine in options.engines])


def lint_many(
    names: Sequence[str],
    options: Options,
    jobs: int = 1,
    linked: frozenset[str] = frozenset(),
    progress: Callable[[int, int], None] | None = None,
) -> list[FileResult]:
    """The findings of files, in their order, by `jobs` processes; `progress` is told (files done, files in all).

    Raises DocumentError where the configuration that the options name is wrong.
    """
    settings = read_settings(pathlib.Path(options.config)) if options.config is not None else None
    lint_it = partial(lint_one, options=options, settings=settings, linked=linked)
    # Standard input and pipes are this process's: another would find them empty or closed.
    shared = [name for name in names if os.path.isfile(name)]
    if jobs <= 1 or len(shared) < 2:
        return list(_counting(map(lint_it, names), len(names), progress))
    found = _by_processes(shared, lint_it, jobs, progress)
    return [found[name] if name in found else lint_it(name) for name in names]


def _counting(
    results: Iterable[FileResult], total: int, progress: Callable[[int, int], None] | None
) -> Iterator[FileResult]:
    """The results as they come, `progress` told of each."""
    for done, result in enumerate(results, 1):
        if progress is not None:
            progress(done, total)
        yield result


def lint_words(words: Sequence[str], options: Options) -> FileResult:
    """The findings of the words of a `vllm serve` command under every release of the options, or under its own.

    Raises ValueError where the call is wrong (a flag that no release has, a model that is not known), DocumentError
    where the configuration that the options name is.
    """
    from kvinspect.linting.lint_command import lint_command, unset_command

    try:
        settings = read_settings(pathlib.Path(options.config)) if options.config is not None else _settings("-")
    except DocumentError as error:
        if options.config is not None:
            raise
        return unset_command(words, error)
    results = lint_command(words, options.over(settings), options.engines or (None,))
    return together(results, [lookup.known(engine) for engine in options.engines])


def _by_processes(
    names: Sequence[str],
    lint_it: Callable[[str], FileResult],
    jobs: int,
    progress: Callable[[int, int], None] | None,
) -> dict[str, FileResult]:
    """Name → findings. Where the system ends a process, each file that is left has a process of its own."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    found: dict[str, FileResult] = {}
    chunk = max(1, len(names) // (4 * jobs))
    with ProcessPoolExecutor(max_workers=jobs) as pool, suppress(BrokenProcessPool):
        results = _counting(pool.map(lint_it, names, chunksize=chunk), len(names), progress)
        found.update(zip(names, results, strict=False))
    return found | {name: _alone(name, lint_it) for name in names if name not in found}


def _alone(name: str, lint_it: Callable[[str], FileResult]) -> FileResult:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(max_workers=1) as pool:
        try:
            return pool.submit(lint_it, name).result()
        except BrokenProcessPool as error:
            return failed(label_of(name), error)


def _settings(origin: Any) -> Settings:
    is_file = isinstance(origin, (str, pathlib.Path)) and str(origin) != "-"
    folder = pathlib.Path(origin).parent if is_file else pathlib.Path()
    return settings_for(pathlib.Path(os.path.realpath(folder)))
