"""Which files a call names: files, folders without what git ignores, patterns, standard input."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SUFFIXES = (".yaml", ".yml", ".json")
Ignored = list[tuple[pathlib.Path, "GitIgnoreSpec"]]


def named_files(names: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """(file, whether the call named it itself) for each file, `-` for standard input, in the order of the call."""
    for name in names:
        path = pathlib.Path(name)
        if name == "-" or _is(path.is_file):
            yield name, True
        elif _is(path.is_dir):
            yield from ((str(found), False) for found in files_below(path))
        elif any(char in name for char in "*?["):
            yield from _matching(name)
        else:
            yield name, True


def _is(question: Callable[[], bool]) -> bool:
    """The answer about a path, no where the system cannot tell: reading it says what is wrong."""
    try:
        return question()
    except OSError:
        return False


def _matching(pattern: str) -> Iterator[tuple[str, bool]]:
    import glob

    found = sorted(name for name in glob.glob(pattern, recursive=True) if pathlib.Path(name).is_file())
    yield from ((name, False) for name in found)


def files_below(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """YAML and JSON files in a folder and below it, sorted; hidden ones and what git ignores are left out.

    A folder that cannot be listed stands for itself, so that whoever reads it says so.
    """
    yield from _below(folder, _of_parents(folder))


def _of_parents(folder: pathlib.Path) -> Ignored:
    """The rules of the folders above, up to the root of the repository."""
    found: Ignored = []
    for parent in folder.resolve().parents:
        found[:0] = _rules_in(parent)
        if (parent / ".git").exists():
            return found
    return []


def _rules_in(folder: pathlib.Path) -> Ignored:
    path = folder / ".gitignore"
    if not path.is_file():
        return []
    from pathspec import GitIgnoreSpec

    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [(folder.resolve(), GitIgnoreSpec.from_lines(lines))]


def _below(folder: pathlib.Path, ignored: Ignored) -> Iterator[pathlib.Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        ignored = [*ignored, *_rules_in(folder)]
    except OSError:
        yield folder
        return
    for entry in entries:
        path = pathlib.Path(entry.path)
        if entry.name.startswith(".") or (ignored and _is_ignored(path, path.is_dir(), ignored)):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(path, ignored)
        elif path.suffix.lower() in SUFFIXES and _may_be_file(entry):
            yield path


def _may_be_file(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a file, or nobody can tell, such as a link to itself: reading it says what is wrong."""
    try:
        return entry.is_file()
    except OSError:
        return True


def _is_ignored(path: pathlib.Path, is_folder: bool, ignored: Ignored) -> bool:
    """Whether git would ignore a path: the rules nearest to it that say anything decide."""
    whole = path.parent.resolve() / path.name
    for folder, spec in reversed(ignored):
        inside = whole.relative_to(folder).as_posix() + ("/" if is_folder else "")
        verdict = spec.check_file(inside).include
        if verdict is not None:
            return verdict
    return False
