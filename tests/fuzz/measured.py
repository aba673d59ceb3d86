"""Calls of the program in forked children of a process that has imported everything: thousands a minute, each measured.

A child has its own memory and its own faults, so what a hostile input does there reaches no other one.
"""

import contextlib
import io
import json
import os
import pathlib
import resource
import signal
import sys
import tempfile
import time
from typing import NamedTuple

SECONDS, MEGABYTES = 1.0, 200
"""What a call may take: seconds of the processor, megabytes at the most."""

CHILD_SECONDS, CHILD_BYTES = 20, 3 << 30
"""Where a child that runs on is ended."""

GROWN_KIB = 120 * 1024
"""What a child may have taken before the next call gets a new one, so that one call's memory is not another's."""

PRINTED = 4_000
"""Characters kept of what a call printed, from its end."""


class Ended(NamedTuple):
    """How a call ended; a child that was ended by a signal has the negative number of it as its code."""

    code: int
    printed: str
    seconds: float
    megabytes: float

    @property
    def fault(self):
        """What is wrong with the end, "" where nothing is."""
        if self.code not in (0, 1, 2, 3):
            return f"exit code {self.code}: {self.printed[-500:]}"
        if "Traceback (most" in self.printed or "internal error:" in self.printed:
            return self.printed[-500:]
        if self.seconds > SECONDS:
            return f"{self.seconds:.1f} s"
        return f"{self.megabytes:.0f} MB" if self.megabytes > MEGABYTES else ""


def called(arguments):
    """(exit code, what was printed on either stream) of a call in this process."""
    from kvinspect.cli.main import run

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        argv, sys.argv = sys.argv, ["kvinspect", *arguments]
        try:
            code = run()
        finally:
            sys.argv = argv
    out.flush()
    errors.flush()
    return code, (out.buffer.getvalue() + errors.buffer.getvalue()).decode("utf-8", "replace")


def all_measured(calls):
    """The ends of calls, in their order: each is (files, words), and runs in a folder that holds its files.

    A child takes many calls, as starting one costs more than a call does; one that has grown hands on to the next.
    """
    done = 0
    while done < len(calls):
        for ended in _in_child(calls[done:]):
            done += 1
            yield ended


def _in_child(calls):
    """The ends of the first of these calls, one at least."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run(calls, writing)
    os.close(writing)
    last = 0.0
    with os.fdopen(reading, encoding="utf-8") as pipe:
        for told in pipe:
            if told.endswith("\n"):
                code, printed, seconds, last, kib = json.loads(told)
                yield Ended(code, printed, seconds, kib / 1024)
    _, status, used = os.wait4(child, 0)
    if code := os.waitstatus_to_exitcode(status):
        yield Ended(code, "", used.ru_utime + used.ru_stime - last, _kib(used) / 1024)


def _run(calls, writing):
    """Never returns: the child tells each end through the pipe, and dies of the call that it cannot end."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (CHILD_BYTES, CHILD_BYTES))
    with os.fdopen(writing, "w", encoding="utf-8") as pipe:
        for files, words in calls:
            with tempfile.TemporaryDirectory() as folder:
                write(files, pathlib.Path(folder))
                os.chdir(folder)
                json.dump(_ended(words), pipe)
                os.chdir("/")
            pipe.write("\n")
            pipe.flush()
            if _kib(resource.getrusage(resource.RUSAGE_SELF)) > GROWN_KIB:
                break
    os._exit(0)


def _ended(words):
    """[exit code, what was printed, seconds of the call, seconds and the most kibibytes of the child until now]."""
    start = time.process_time()
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(start) + CHILD_SECONDS, hard))
    try:
        code, printed = called(words)
    except BaseException as error:
        code, printed = 70, f"{type(error).__name__}: {error}"
    end = time.process_time()
    return [code, printed[-PRINTED:], end - start, end, _kib(resource.getrusage(resource.RUSAGE_SELF))]


def _kib(used):
    return used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)


def write(files, folder):
    """Write files, name → bytes, into a folder."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
