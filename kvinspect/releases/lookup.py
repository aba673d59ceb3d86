"""Which release a word names, and the releases themselves, each from its module."""

from __future__ import annotations

import copyreg
import importlib
import re
import warnings
from functools import cache
from typing import Any

from kvinspect import installed
from kvinspect.data import catalogue
from kvinspect.document.problem import Path
from kvinspect.document.refusal import Unknown
from kvinspect.releases.release import Release


def release(version: str, runner: str = "v2") -> Release:
    """The release of a version that has data, with the steps of one of its model runners: one object for each.

    Raises Unknown where the version is that of the installed vLLM and it cannot be asked.
    """
    return _made(version, runner)


@cache
def _made(version: str, runner: str) -> Release:
    try:
        known = catalogue.read(version)
    except installed.NotAsked as why:
        raise Unknown((), "installed", f"a vLLM that answers; {why}", "", "unknown-release") from None
    found = _with_older_runner(version) if runner == "v1" else _module(version).RELEASE
    return found.but(runner=runner, from_installed=version.endswith(catalogue.INSTALLED), catalogue=known)


def _again(made: Release) -> tuple[Any, ...]:
    """How a release goes through pickle: as the one object of its version and runner, where it is that."""
    if made.version in catalogue.versions() and release(made.key, made.runner) is made:
        return release, (made.key, made.runner)
    return made.__reduce_ex__(2)  # type: ignore[return-value]


copyreg.pickle(Release, _again)


def _module(version: str) -> Any:
    name = _minor(number(version)).replace(".", "_")
    return importlib.import_module(f"kvinspect.releases.v{name}")


def _with_older_runner(version: str) -> Release:
    """The release with its older runner, which goes through the newer one's steps where it has none of its own."""
    module = _module(version)
    found: Release = getattr(module, "OLDER_RUNNER", module.RELEASE)
    return found


def number(version: str) -> str:
    """A version as vLLM numbers it, without `+installed`."""
    return version.removesuffix(catalogue.INSTALLED)


def other_runner(of: Release) -> Release | None:
    """The same release with its other runner, None where both go through the same steps (from 0.29 on)."""
    if not hasattr(_module(of.version), "OLDER_RUNNER"):
        return None
    return release(of.key, "v2" if of.runner == "v1" else "v1")


def known(word: str, path: Path = ()) -> str:
    """The version that `word` means: `0.27`, `0.27.1`, `v0.27.1` or `vllm-0.27`.

    `installed` is the release of the installed vLLM's number, with `+installed` behind it.

    Raises Unknown with the `path` to the word, () where it came from the caller.
    """
    wanted = plain(word)
    if wanted == "installed":
        return known(_minor(_installed(path)), path) + catalogue.INSTALLED
    versions = catalogue.versions()
    for version in versions:
        if wanted in (version, _minor(version)):
            return version
    expected = "a vLLM release: one of " + ", ".join(f"{_minor(v)} ({v})" for v in versions)
    raise Unknown(path, word, expected, _nearest(wanted, versions), "unknown-release")


def _minor(version: str) -> str:
    return version.rsplit(".", 1)[0]


def _nearest(wanted: str, versions: tuple[str, ...]) -> str:
    """The release whose number lies nearest, "" where the word is no number."""
    numbers = re.fullmatch(r"([0-9]{1,3})\.([0-9]{1,4})(\.[0-9]{1,4})?", wanted)
    if not numbers or numbers[1] != "0":
        return ""
    return _minor(min(versions, key=lambda version: abs(int(version.split(".")[1]) - int(numbers[2]))))


def plain(word: str) -> str:
    """A release without what people write in front of it."""
    return word.strip().lower().removeprefix("vllm-").removeprefix("vllm ").removeprefix("v")


def chosen(argument: str | None, document: str | None) -> tuple[str, str, str]:
    """(what the release is called, its version, who chose it), the caller before the document.

    Where nobody says, the release of the vLLM beside kvinspect is taken, or the nearest that is known, else the newest.
    Raises Unknown for a release that somebody named.
    """
    if argument is not None:
        return _called(argument, ()), known(argument), "argument"
    if document is not None:
        return _called(document, ("engine",)), known(document, ("engine",)), "document"
    beside = installed.version()
    if beside is not None:
        return (*_beside(beside), "installed")
    newest = catalogue.versions()[-1]
    return _minor(newest), newest, "newest"


class AnsweredByAnother(UserWarning):
    """The installed vLLM, which the call does not name, is of a release that is not known."""


@cache
def _beside(version: str) -> tuple[str, str]:
    """(what the release of the installed vLLM is called, its version); warns once where another has to answer."""
    try:
        return version, known(version)
    except Unknown:
        number = re.match(r"0\.[0-9]{1,4}(?![0-9])", version)
        name = _nearest(number[0], catalogue.versions()) if number else _minor(catalogue.versions()[-1])
        text = f"the installed vLLM is {version[:40]!r}, which is not known; {name} answers; --engine names another"
        warnings.warn(text, AnsweredByAnother, stacklevel=2)
        return name, known(name)


def _called(word: str, path: Path) -> str:
    """A release as it is named in answers; `installed` by its number."""
    return _installed(path) if plain(word) == "installed" else plain(word)


def _installed(path: Path) -> str:
    """The version of the installed vLLM. Raises Unknown where there is none."""
    beside = installed.version()
    if beside is None:
        raise Unknown(path, "installed", "a vLLM that is installed in this environment", "", "unknown-release")
    return beside
