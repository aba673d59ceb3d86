"""Standard output and standard error: the last station of whatever is printed, by us or by a library."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from typing import TextIO

from kvinspect.output.safe import Syntax, safe, without_commands


class NobodyReads(Exception):
    """The reader of standard output has gone."""


class Guarded(io.TextIOBase):
    """A stream whose lines reach a terminal or a CI runner with nothing in them that either would act on.

    A line is held until its end or a flush, so that a command that comes in pieces is seen as one. What cannot be
    written is an error where it `must_arrive`: NobodyReads for a closed pipe, else OSError, once. Elsewhere it is lost,
    and the answer and its exit code are what they were.
    """

    encoding: str = "utf-8"

    def __init__(self, raw: TextIO, must_arrive: bool) -> None:
        self.raw, self._must_arrive, self._rest = raw, must_arrive, ""
        self.encoding = raw.encoding or "utf-8"
        self._broken = False

    def write(self, text: str) -> int:
        """Print text as it may come from anywhere."""
        *lines, self._rest = (self._rest + text).split("\n")
        self._out("".join(f"{_harmless(line)}\n" for line in lines))
        return len(text)

    def put(self, text: str, syntax: Syntax) -> None:
        """Print a whole answer, whose own colors and annotations stay; `syntax` says how it writes an escape."""
        self.flush()
        self._out(without_commands(text, syntax))
        self.flush()

    def flush(self) -> None:
        """Write what is held."""
        rest, self._rest = self._rest, ""
        self._out(_harmless(rest))
        self._guarded(self.raw.flush)

    def _out(self, text: str) -> None:
        if text:
            possible = text.encode(self.encoding, "backslashreplace").decode(self.encoding)
            self._guarded(lambda: self.raw.write(possible))

    def _guarded(self, action: Callable[[], object]) -> None:
        if self._broken:
            return
        try:
            action()
        except (OSError, ValueError) as error:
            self._broken = True
            if isinstance(error, BrokenPipeError) and self._must_arrive:
                raise NobodyReads from None
            if self._must_arrive:
                reason = getattr(error, "strerror", None) or str(error)
                raise OSError(f"standard output cannot be written: {reason}") from None

    def isatty(self) -> bool:
        """Whether a terminal is behind it."""
        return self.raw.isatty()

    def fileno(self) -> int:
        """The descriptor behind it."""
        return self.raw.fileno()

    def writable(self) -> bool:
        """True."""
        return True


def _harmless(line: str) -> str:
    return without_commands(safe(line), Syntax.TEXT)


def put(text: str, syntax: Syntax) -> None:
    """Print a whole answer on standard output, guarded or not."""
    stream = sys.stdout if isinstance(sys.stdout, Guarded) else Guarded(sys.stdout, must_arrive=True)
    stream.put(text, syntax)


def terminal() -> TextIO:
    """Standard error as it is, for a progress bar that moves the cursor."""
    return sys.stderr.raw if isinstance(sys.stderr, Guarded) else sys.stderr


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Guard both streams; one that the caller has closed discards everything."""
    before = sys.stdout, sys.stderr
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        sys.stdout = Guarded(before[0] or nowhere, must_arrive=True)
        sys.stderr = Guarded(before[1] or nowhere, must_arrive=False)
        try:
            yield
        finally:
            with contextlib.suppress(OSError, NobodyReads):
                sys.stdout.flush()
            sys.stderr.flush()
            sys.stdout, sys.stderr = before
