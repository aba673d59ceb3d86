"""Writing files: each whole or not at all, several of a call together, and never over an input."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TextIO

from kvinspect.output import inputs
from kvinspect.output.safe import safe

LINKS = 40
"""Links in a row that are followed, as many as Linux follows."""


class _Change(NamedTuple):
    """A new file beside the one that it is to replace, links followed."""

    new: str
    target: str


def write_files(texts: Mapping[str, str], *, wait: bool = True) -> None:
    """Write a text into each file, all of them or none.

    A regular file is replaced at once by a new one of its mode and owner, a link followed. A device, a pipe or an
    open stream (`/dev/stdout`) is written to as it is; without `wait` a pipe that nobody reads is an error.
    Raises OSError with the name as it was called where a file cannot be written or is an input of the call.
    """
    for called in texts:
        _check_name(called)
    streams = [called for called in texts if is_stream(called)]
    targets = {called: _target(called) for called in texts if called not in streams}
    if len(set(targets.values())) < len(targets):
        raise OSError(f"{', '.join(targets)}: two of these outputs are the same file")
    with contextlib.ExitStack() as clean_up:
        changes = []
        for called, target in targets.items():
            with _as_called(called):
                changes.append(clean_up.enter_context(_staged(target, texts[called])))
        _replace_all(changes, list(targets))
    for called in streams:
        with _as_called(called), _opened(called, wait) as stream:
            stream.write(texts[called])


def _check_name(called: str) -> None:
    """Raises OSError where no system has a file of that name."""
    try:
        possible = b"\0" not in os.fsencode(called)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise OSError(f"{safe(called)}: no file has such a name")


@contextlib.contextmanager
def _as_called(called: str) -> Iterator[None]:
    """Errors with the name that the caller used, instead of a temporary one."""
    try:
        yield
    except OSError as error:
        raise (OSError(error.errno, error.strerror, called) if error.errno else error) from None


def is_stream(called: str) -> bool:
    """Whether a name leads to a pipe, a device or an open descriptor, which is never replaced."""
    if _descriptor(called) is not None:
        return True
    try:
        mode = os.stat(called).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _descriptor(called: str) -> int | None:
    """The number of this process's descriptor that a name such as `/dev/stdout` or `/proc/self/fd/3` leads to."""
    ours, path = ("/dev/fd", f"/proc/{os.getpid()}/fd"), called
    for _ in range(LINKS):
        folder, name = os.path.split(path)
        if os.path.realpath(folder or ".") in ours and name.isdecimal():
            return int(name)
        if not os.path.islink(path):
            return None
        path = os.path.join(folder, os.readlink(path))
    return None


def _opened(called: str, wait: bool) -> TextIO:
    number = _descriptor(called)
    if number is not None:
        return open(os.dup(number), "w", encoding="utf-8")
    return open(os.open(called, os.O_WRONLY | (0 if wait else os.O_NONBLOCK)), "w", encoding="utf-8")


def _target(called: str) -> str:
    """The file behind a name's links. Raises OSError where it may not be replaced."""
    target = os.path.realpath(called)
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return target
    except OSError as error:
        raise OSError(error.errno, error.strerror, called) from None
    if stat.S_ISDIR(mode):
        raise _refused(errno.EISDIR, called)
    if not os.access(target, os.W_OK):
        raise _refused(errno.EACCES, called)
    if inputs.is_input(target):
        raise OSError(f"{called} is an input of this call and is not overwritten; name another output file")
    return target


def _refused(code: int, called: str) -> OSError:
    return OSError(code, os.strerror(code), called)


@contextlib.contextmanager
def _staged(target: str, text: str) -> Iterator[_Change]:
    """The text in a file of its own beside the target, with the mode and the owner of that; removed if it stays there.

    Its name cannot be guessed and it is never opened where something is there already, so no planted link is followed.
    """
    new = _unused(target)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            _like(handle, target)
            file.write(text)
        yield _Change(new, target)
    finally:
        _remove(new)


def _unused(target: str) -> str:
    """A name beside a file, short whatever that one's length is."""
    return os.path.join(os.path.dirname(target), f".kvinspect-{os.urandom(12).hex()}")


def _like(handle: int, target: str) -> None:
    """Give an open file the mode and, where that is allowed, the owner of another; the umask's where there is none."""
    with contextlib.suppress(FileNotFoundError):
        found = os.stat(target)
        with contextlib.suppress(OSError):
            os.fchown(handle, found.st_uid, found.st_gid)
        os.fchmod(handle, stat.S_IMODE(found.st_mode) & 0o777)


def _replace_all(changes: Sequence[_Change], called: Sequence[str]) -> None:
    """Put each new file in the place of its target; where one fails, those before it are put back."""
    undo: list[tuple[str | None, str]] = []
    try:
        for change, name in zip(changes, called, strict=True):
            with _as_called(name):
                kept = _moved_away(change.target) if len(changes) > 1 else None
                undo.append((kept, change.target))
                os.replace(change.new, change.target)
    except BaseException:
        if len(changes) > 1:
            _put_back(undo)
        raise
    for kept, _ in undo:
        _remove(kept)


def _moved_away(target: str) -> str | None:
    """The name under which a file is kept meanwhile, None where there is none."""
    kept = _unused(target)
    try:
        os.replace(target, kept)
    except FileNotFoundError:
        return None
    return kept


def _put_back(undo: Sequence[tuple[str | None, str]]) -> None:
    for kept, target in reversed(undo):
        if kept is None:
            _remove(target)
        else:
            with contextlib.suppress(OSError):
                os.replace(kept, target)


def _remove(name: str | None) -> None:
    if name is not None:
        with contextlib.suppress(OSError):
            os.unlink(name)
