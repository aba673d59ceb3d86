"""A progress bar on standard error, where standard error is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kvinspect.output.safe import Syntax, safe, without_commands
from kvinspect.output.streams import terminal

Told = Callable[[int, int], None]


@contextmanager
def progress_bar(what: str) -> Iterator[Told | None]:
    """A function to be told (bytes done, bytes in all), or None where standard error is no terminal."""
    if not terminal().isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), DownloadColumn(binary_units=True), TransferSpeedColumn())
    with Progress(*columns, console=Console(file=terminal()), transient=True) as bar:
        task = bar.add_task(without_commands(safe(what), Syntax.TEXT), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def step_bar(what: str, wanted: bool) -> Iterator[Told | None]:
    """A function to be told (steps done, steps in all), or None where standard error is no terminal."""
    if not wanted or not terminal().isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=terminal()), transient=True) as bar:
        task = bar.add_task(without_commands(safe(what), Syntax.TEXT), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


PATIENCE = 0.5
"""Seconds that may pass before something that is waited for is named."""


@contextmanager
def spinner(what: str) -> Iterator[None]:
    """Name what is waited for, where standard error is a terminal and it takes longer than PATIENCE."""
    if not terminal().isatty():
        yield
        return
    from threading import Timer

    from rich.console import Console
    from rich.status import Status
    from rich.text import Text

    status = Status(Text(without_commands(safe(what), Syntax.TEXT)), console=Console(file=terminal()))
    timer = Timer(PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
