"""The places of a file that hold arguments of vLLM, each under the release that it names, and every finding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvinspect.data import flags
from kvinspect.data.catalogue import versions
from kvinspect.document.finding import Finding, Severity
from kvinspect.document.problem import Problem
from kvinspect.document.refusal import Unknown
from kvinspect.document.source import Source
from kvinspect.linting.checked import checked
from kvinspect.linting.model_of_place import about_model, facts_of
from kvinspect.linting.problems import as_findings
from kvinspect.linting.registry import rule_named
from kvinspect.linting.rule import Kind
from kvinspect.linting.settings import Settings
from kvinspect.linting.subjects.place import PlaceSubject
from kvinspect.places.fragment import Fragment
from kvinspect.releases import lookup

OF_PLACES: tuple[Kind, ...] = ("serve", "place")
"""The kinds of rules that look at places."""


class Judged(NamedTuple):
    """What came of the places of a file."""

    releases: tuple[str, ...]
    """Those that were asked about, in the order of the catalogue."""
    findings: tuple[Finding, ...]
    with_model: int
    """How many places name a model whose facts are here."""


def judge(places: Sequence[Fragment], source: Source, settings: Settings, engine: str | None) -> Judged:
    """The findings of places in their order, each once. Raises Unknown for a release that the call names."""
    found: list[Finding] = []
    asked: set[str] = set()
    with_model = 0
    for place in places:
        if place.part_of is None:
            releases = _releases(place, settings, engine)
            asked.update(releases)
            with_model += bool(releases) and _names_model(place, source, releases[-1])
            found += _of_place(place, source, releases, settings) if releases else _too_old(place, source)
    kept = tuple(dict.fromkeys(found))
    return Judged(tuple(version for version in versions() if version in asked), kept, with_model)


def _names_model(place: Fragment, source: Source, version: str) -> bool:
    return facts_of(PlaceSubject(place, source, lookup.release(version), flags.read(version))) is not None


def _releases(place: Fragment, settings: Settings, engine: str | None) -> tuple[str, ...]:
    """The releases that have to agree: the one that is named, those around it, or all; none for one that is too old."""
    word = engine or (place.release.value if place.release else settings.engine)
    if word is None:
        return versions()
    try:
        return (lookup.release(lookup.known(word)).version,)
    except Unknown:
        if engine is not None:
            raise
        return _around(word)


def _around(word: str) -> tuple[str, ...]:
    """The releases before and behind one that the catalogue lacks; none where it is older or newer than all."""
    wanted = _numbers(word)
    before = [version for version in versions() if _numbers(version) < wanted]
    behind = [version for version in versions() if _numbers(version) > wanted]
    return (before[-1], behind[0]) if before and behind else ()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"[0-9]+", version)[:3]))


def _too_old(place: Fragment, source: Source) -> Iterator[Finding]:
    """A note where a place names a release that the catalogue does not reach."""
    rule = rule_named("KV002")
    assert place.release is not None
    mark = place.release.mark
    lines = source.line_end.split(source.text)
    if mark and lines[mark.line - 1][mark.column - 2 : mark.column - 1] == "v":
        mark = mark._replace(column=mark.column - 1)
    older = _numbers(place.release.value) < _numbers(versions()[0])
    known = f"older than {versions()[0]}" if older else f"newer than {versions()[-1]}"
    message = f"vLLM {place.release.value} is {known}, so that its flags are not judged"
    placed = source.place(Problem((), mark=mark))
    yield Finding(rule.code, rule.name, Severity.NOTE, message, source.name, (), placed.mark, placed.line_text)


def _of_place(place: Fragment, source: Source, releases: Sequence[str], settings: Settings) -> list[Finding]:
    """What holds in every release that may be meant, in the words of the newest."""
    by_release = [{(f.code, f.mark): f for f in _under(place, source, version, settings)} for version in releases]
    return [found for key, found in by_release[-1].items() if all(key in one for one in by_release)]


def _under(place: Fragment, source: Source, version: str, settings: Settings) -> Iterator[Finding]:
    """The findings of a place under one release."""
    subject = PlaceSubject(place, source, lookup.release(version), flags.read(version))
    for kind in OF_PLACES:
        yield from checked(subject, kind, subject.source)
    for one in as_findings(subject.source.placed(subject.unknown_names)):
        yield one._replace(unjudged=False)
    facts = facts_of(subject)
    if facts is not None:
        yield from about_model(subject, facts, settings)
