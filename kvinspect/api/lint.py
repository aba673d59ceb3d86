"""`kvinspect.lint`: the findings of a file, or of many under one or several releases."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kvinspect.document.finding import Severity
from kvinspect.engine import releases
from kvinspect.lint.matrix import together
from kvinspect.lint.run import FileResult, lint_file
from kvinspect.lint.settings import Settings, read_settings, settings_for


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


def lint(
    origin: str | pathlib.Path | Mapping[str, Any], *, engine: str | None = None, settings: Settings | None = None
) -> FileResult:
    """The findings of a file, of `-` for standard input, or of a mapping.

    `engine` is a release and wins over the document's. Without `settings` those of the file's folder count. Raises
    DocumentError where a configuration file is wrong; what is wrong with the file itself is a finding.
    """
    return lint_file(origin, settings or _settings(origin), engine)


def lint_one(name: str, options: Options) -> FileResult:
    """The findings of a file under every release of the options, or under its own."""
    settings = options.over(_settings(name, options.config))
    results = [lint_file(name, settings, engine) for engine in options.engines or (None,)]
    return together(results, [releases.known(engine) for engine in options.engines])


def lint_many(names: Sequence[str], options: Options, jobs: int = 1) -> list[FileResult]:
    """The findings of files, in their order, by so many processes."""
    if jobs <= 1 or len(names) < 2:
        return [lint_one(name, options) for name in names]
    from concurrent.futures import ProcessPoolExecutor
    from functools import partial

    chunk = max(1, len(names) // (4 * jobs))
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        return list(pool.map(partial(lint_one, options=options), names, chunksize=chunk))


def _settings(origin: Any, config: str | None = None) -> Settings:
    if config is not None:
        return read_settings(pathlib.Path(config))
    is_file = isinstance(origin, (str, pathlib.Path)) and str(origin) != "-"
    folder = pathlib.Path(origin).parent if is_file else pathlib.Path()
    return settings_for(folder.resolve())
