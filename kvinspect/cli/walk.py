"""Which files a call names: files, folders without what git ignores, patterns, standard input."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kvinspect.document.files import is_elsewhere
from kvinspect.document.limits import MAX_PATH
from kvinspect.document.problem import DocumentError

if TYPE_CHECKING:
    from kvinspect.cli.ignore import Rules

SUFFIXES = (".yaml", ".yml", ".json")
Ignored = tuple[tuple[bytes, "Rules"], ...]
"""(the folder of a .gitignore, its rules), the outermost first."""
Takes = Callable[[str], bool]
"""Whether a walk takes a file of this name."""
Tell = Callable[[DocumentError], None]
"""What is done with a .gitignore that cannot be read: its folder is walked without it."""


def _raise(error: DocumentError) -> None:
    raise error


class Named(NamedTuple):
    """A file of a call: whether the call named it itself, and whether it was found behind a link that leads out."""

    file: str
    by_call: bool
    elsewhere: bool = False


def named_files(names: Sequence[str], tell: Tell = _raise, takes: Takes | None = None) -> Iterator[Named]:
    """Each file that a call names, `-` for standard input, in the order of the call; `takes` as in `files_below`."""
    for name in names:
        if name == "-" or os.path.isfile(name):
            yield Named(name, True)
        elif os.path.isdir(name):
            for file in map(str, files_below(pathlib.Path(name), tell=tell, takes=takes)):
                # Links to folders are not followed, so that the file alone can lead out.
                yield _found(file, name) if os.path.islink(file) else Named(file, False)
        elif is_pattern(name):
            yield from (_found(file, _folder_of(name)) for file in _matching(name))
        else:
            yield Named(name, True)


def _found(file: str, folder: str) -> Named:
    return Named(file, False, is_elsewhere(file, folder))


def is_pattern(name: str) -> bool:
    """Whether a name is a pattern of files, and no file or folder itself.

    A longer one than any path is none: to match it takes time that grows with the square of its length.
    """
    return len(name) <= MAX_PATH and any(char in name for char in "*?[") and not os.path.exists(name)


def expanded(names: Sequence[str]) -> Iterator[str]:
    """The names with each pattern as the files that match it, sorted; one that nothing matches stays as it is."""
    for name in names:
        yield from (_matching(name) or [name]) if is_pattern(name) else [name]


def _folder_of(pattern: str) -> str:
    """The folder in which a pattern looks."""
    return os.path.dirname(re.split(r"[*?[]", pattern, maxsplit=1)[0]) or os.curdir


def _matching(pattern: str) -> list[str]:
    import glob

    return sorted(name for name in glob.glob(pattern, recursive=True) if os.path.isfile(name))


class Folder(NamedTuple):
    """A folder of a walk: as the call names it, where it really is, and the rules that count in it."""

    path: pathlib.Path
    real: bytes
    ignored: Ignored


def is_data(name: str) -> bool:
    """Whether a file is YAML or JSON by its name."""
    return os.path.splitext(name)[1].lower() in SUFFIXES


def files_below(
    folder: pathlib.Path, *, git: bool = True, tell: Tell = _raise, takes: Takes | None = None
) -> Iterator[pathlib.Path]:
    """YAML and JSON files in a folder and below it, sorted; hidden ones and what git ignores are left out.

    With `takes` the files whose names it takes.

    Links to folders are not followed. A folder that cannot be listed stands for itself, so that whoever reads it says
    so. Without `git` a .gitignore is a file as any.
    """
    real = os.fsencode(os.path.realpath(folder))
    # A stack and no recursion: folders may lie in each other as deep as the system lets them.
    wanted = takes or is_data
    waiting = [_entries(Folder(folder, real, _of_parents(folder, tell) if git else ()), git, tell, wanted)]
    while waiting:
        found = next(waiting[-1], None)
        if found is None:
            waiting.pop()
        elif isinstance(found, Folder):
            waiting.append(_entries(found, git, tell, wanted))
        else:
            yield found


def _entries(folder: Folder, git: bool, tell: Tell, takes: Takes) -> Iterator[Folder | pathlib.Path]:
    """The folders and files in a folder that are walked, sorted."""
    try:
        with os.scandir(folder.path) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError:
        yield folder.path
        return
    ignored = (*folder.ignored, *_rules_in(folder.path, folder.real, tell)) if git else ()
    for entry in entries:
        real = folder.real.rstrip(b"/") + b"/" + os.fsencode(entry.name)
        if entry.name.startswith(".") or (ignored and _is_ignored(real, os.path.isdir(entry.path), ignored)):
            continue
        path = pathlib.Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield Folder(path, real, ignored)
        elif takes(entry.name) and _may_be_file(entry):
            yield path


def _may_be_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a file, or nobody can tell, such as a link to itself: reading it says what is wrong."""
    try:
        return entry.is_file()
    except OSError:
        return True


def _of_parents(folder: pathlib.Path, tell: Tell) -> Ignored:
    """The rules of the folders above, up to the root of the repository."""
    found: Ignored = ()
    for parent in pathlib.Path(os.path.realpath(folder)).parents:
        found = (*_rules_in(parent, os.fsencode(parent), tell), *found)
        if os.path.exists(parent / ".git"):
            return found
    return ()


def _rules_in(folder: pathlib.Path, real: bytes, tell: Tell) -> Ignored:
    path = folder / ".gitignore"
    if not os.path.isfile(path):
        return ()
    from kvinspect.cli.ignore import Rules
    from kvinspect.document.files import read_bounded
    from kvinspect.document.limits import MAX_IGNORE_BYTES

    try:
        return ((real, Rules(read_bounded(path, MAX_IGNORE_BYTES, "a .gitignore"))),)
    except DocumentError as error:
        tell(error)
        return ()


def _is_ignored(real: bytes, is_folder: bool, ignored: Ignored) -> bool:
    """Whether git would ignore a path: the rules nearest to it that say anything decide."""
    for folder, rules in reversed(ignored):
        verdict = rules.ignore(real[len(folder.rstrip(b"/")) + 1 :], is_folder)
        if verdict is not None:
            return verdict
    return False
