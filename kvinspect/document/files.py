"""The one reader of the files that a call or a configuration names: bounded, and never waiting for a file to arrive."""

from __future__ import annotations

import os
import pathlib
import stat
import sys
from typing import BinaryIO

from kvinspect.document.limits import MAX_PATH
from kvinspect.document.numbers import counted
from kvinspect.document.problem import DocumentError, Mark, Problem, shortened
from kvinspect.output import inputs


def read_bounded(path: str | pathlib.Path, limit: int, what: str = "text", *, pipes: bool = False) -> bytes:
    """Return the bytes of a file, at most `limit` of them; `what` names its content in the error.

    Devices and pipes are refused unless `pipes` lets them pass, as a document does (`<(command)`); a pipe that nobody
    holds open for writing ends at once. Raises DocumentError of kind `unreadable` or `limit`.
    """
    label = printable(path)
    try:
        with opened(path, pipes) as file:
            # A sparse file of gigabytes is refused by its size, unread.
            is_larger = os.fstat(file.fileno()).st_size > limit
            data = b"" if is_larger else file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise unreadable(label, error) from None
    if is_larger or len(data) > limit:
        raise too_large(label, limit, what)
    return data


def is_file(path: str | pathlib.Path) -> bool:
    """Whether there is a file of that name; False as well for a name that no system takes (pathlib raises there)."""
    return os.path.isfile(path)


def is_folder(path: str | pathlib.Path) -> bool:
    """The same of a folder."""
    return os.path.isdir(path)


def leads_out(path: str | pathlib.Path, folder: str | pathlib.Path) -> bool:
    """Whether a path that an input file in `folder` names leads out of the folder, or through a link.

    What lies there was chosen by whoever wrote the input, and may be readable to nobody but the user of this call.
    """
    inside = os.path.relpath(os.path.abspath(path), os.path.abspath(folder))
    return os.path.realpath(path) != os.path.join(os.path.realpath(folder), inside) or inside.startswith(os.pardir)


def is_elsewhere(path: str | pathlib.Path, folder: str | pathlib.Path) -> bool:
    """Whether a file that was found in `folder`, by its name, lies outside of it behind a link.

    A snapshot in the cache of a model hub links to the blobs of the same model, which count as its own.
    """
    real, root = os.path.realpath(path), os.path.realpath(folder)
    model, is_cached, _ = f"{root}/".rpartition("/snapshots/")
    own = (root, os.path.join(model, "blobs")) if is_cached else (root,)
    return not any(real == place or real.startswith(place.rstrip("/") + "/") for place in own)


def read_standard_input(limit: int, label: str, what: str = "text") -> bytes:
    """Return the bytes of standard input. Raises DocumentError of kind `unreadable` or `limit`."""
    try:
        if sys.stdin is None:
            raise ValueError("standard input is closed")
        inputs.note(0)
        data = sys.stdin.buffer.read(limit + 1)
    except (OSError, ValueError) as error:
        raise unreadable(label, error) from None
    if len(data) > limit:
        raise too_large(label, limit, what)
    return data


def text_of(data: bytes, label: str) -> str:
    """Return the text in UTF-8, without a byte order mark. Raises DocumentError at the first byte that is none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before.rsplit(b"\n", 1)[-1].decode("utf-8", "replace")) + 1
        found = f"the byte 0x{data[error.start]:02x}"
        problem = Problem((), expected="text in UTF-8", found=found, mark=Mark(line, column), kind="syntax")
        raise DocumentError([problem.placed(label, problem.mark, "")]) from None


def printable(name: str | pathlib.Path) -> str:
    """Return a file's name without the bytes that no encoding could read, shortened where no system opens it."""
    said = str(name) if len(str(name)) <= MAX_PATH else shortened(str(name))
    try:
        return said.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return said.encode("utf-8", "backslashreplace").decode()


def unreadable(label: str, error: Exception) -> DocumentError:
    """Return the error of a file or folder that the system does not let be read."""
    reason = getattr(error, "strerror", None) or str(error)
    return DocumentError([Problem((), message=f"cannot be read: {reason}", kind="unreadable", source=label)])


def too_large(label: str, limit: int, what: str) -> DocumentError:
    """Return the error of a file that is larger than its limit."""
    expected = f"at most {counted(limit, 'byte')} of {what}"
    return DocumentError([Problem((), expected=expected, found="more", kind="limit", source=label)])


def opened(path: str | pathlib.Path, pipes: bool = False) -> BinaryIO:
    """Return an open file, noted as an input. Raises OSError, or ValueError for a folder, a device or a pipe."""
    # Without O_NONBLOCK a pipe is waited for until somebody writes to it.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise ValueError("Is a directory")
        if not stat.S_ISREG(mode):
            if not pipes:
                raise ValueError("not a regular file")
            os.set_blocking(descriptor, True)
        inputs.note(descriptor)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
