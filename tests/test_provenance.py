"""Rules say which vLLM functions they stand for, and vLLM has those functions in the releases that they name."""

import importlib
import pkgutil
from collections import defaultdict
from dataclasses import fields

import pytest

import golden
import kvinspect
from conftest import ROOT
from kvinspect.data.catalogue import versions
from kvinspect.provenance import RULES, Source, sources_of, vllm
from kvinspect.releases import lookup

RUNNERS = ("v1", "v2")

OURS = {"soundness", "reasons"}
"""Fields of a release whose functions judge and explain what vLLM does; vLLM has none of the kind."""

PER_TENSOR = {"reshape", "packed_placement", "fit_pages"}
"""Fields that nothing reads from 0.29 on, where one buffer holds the cache; releases keep those of 0.28."""


def minor(version):
    return version.rpartition(".")[0]


@pytest.fixture(scope="module")
def rules():
    for module in pkgutil.walk_packages(kvinspect.__path__, "kvinspect."):
        if not module.name.startswith(("kvinspect.device.", "kvinspect.capture.", "kvinspect.__main__")):
            importlib.import_module(module.name)
    return [rule for rule in RULES if rule.__module__.startswith("kvinspect.")]


def name_of(rule):
    return f"{rule.__module__}.{rule.__qualname__}"


def chosen_by(value):
    """Return the functions within a release value, or a part of one."""
    if isinstance(value, tuple):
        return [rule for part in value for rule in chosen_by(part)]
    return [value] if callable(value) and not isinstance(value, type) else []


@pytest.fixture(scope="module")
def chosen():
    """Each rule that a release names, with the releases that do."""
    found = defaultdict(set)
    for version in versions():
        for runner in RUNNERS:
            release = lookup.release(version, runner)
            unread = OURS | (PER_TENSOR if release.one_buffer else set())
            for field in fields(release):
                for rule in chosen_by(getattr(release, field.name)) if field.name not in unread else ():
                    found[rule].add(minor(version))
            found[release.reshape.unpadded_page].add(minor(version))
    return found


def test_a_rule_that_a_release_chooses_says_what_it_stands_for(chosen):
    assert [name_of(rule) for rule in chosen if not sources_of(rule)] == []


def test_no_release_chooses_a_rule_outside_its_range(chosen):
    wrong = {
        name_of(rule): release
        for rule, releases in chosen.items()
        for release in releases
        if not any(source.covers(release) for source in sources_of(rule))
    }
    assert wrong == {}


def test_a_range_is_no_wider_than_the_releases_that_choose_the_rule(chosen):
    def declared(rule):
        return {minor(v) for v in versions() if any(source.covers(minor(v)) for source in sources_of(rule))}

    assert {
        name_of(rule): declared(rule) - releases for rule, releases in chosen.items() if declared(rule) - releases
    } == {}


@pytest.mark.parametrize("version", versions())
def test_vllm_has_each_function_in_each_release_of_its_range(version, rules):
    there = set(golden.facts(f"functions-{version}"))
    missing = {
        (name_of(rule), function)
        for rule in rules
        for source in sources_of(rule)
        if source.covers(minor(version))
        for function in source.functions
        if function not in there
    }
    assert missing == set()


def test_the_page_of_sources_is_the_one_that_the_rules_give(rules):
    from provenance import page

    assert (ROOT / "docs" / "provenance.md").read_text(encoding="utf-8") == page()


def test_ranges_of_a_renamed_function():
    @vllm("old_name", until="0.28")
    @vllm("Class.new_name", since="0.29")
    def rule():
        pass

    RULES.remove(rule)
    assert sources_of(rule) == (Source(("old_name",), "0.25", "0.28"), Source(("Class.new_name",), "0.29", None))
    assert [source.releases for source in sources_of(rule)] == ["0.25–0.28", "0.29+"]
