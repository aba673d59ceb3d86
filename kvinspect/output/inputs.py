"""Which files a call has read, so that none of them is written over, whatever name leads to it."""

from __future__ import annotations

import os
import stat

_read: set[tuple[int, int]] = set()
"""(device, inode) of each file: links, other spellings and other cases of a name are all the same file."""


def begin() -> None:
    """Start a call that has read nothing yet."""
    _read.clear()


def note(file: int | str | os.PathLike[str]) -> None:
    """Remember a file, by its name or as an open descriptor, as an input of this call."""
    if (found := _identity(file)) is not None:
        _read.add(found)


def forget(file: str | os.PathLike[str]) -> None:
    """Let a file be written after all: a folder held it, and the call had no use for it."""
    if (found := _identity(file)) is not None:
        _read.discard(found)


def is_input(file: int | str | os.PathLike[str]) -> bool:
    """Whether this call has read the file."""
    return _identity(file) in _read


def _identity(file: int | str | os.PathLike[str]) -> tuple[int, int] | None:
    """A regular file's identity; nothing else can be destroyed by writing to it."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None
