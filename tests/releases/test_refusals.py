"""Every refusal of a release's configuration has a class, and what is called modelled has a function that does it."""

import importlib
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import ROOT
from kvinspect.data.catalogue import versions
from kvinspect.provenance import sources_of

sys.path.insert(0, str(ROOT / "tools"))
import refusals

ROWS = refusals.read()
CACHE = pathlib.Path(os.environ.get("KVINSPECT_CACHE") or pathlib.Path.home() / ".cache" / "kvinspect")


def named(why):
    module, _, name = why.rpartition(".")
    return getattr(importlib.import_module(f"kvinspect.{module}"), name)


def test_each_row_is_settled_and_stands_once():
    assert {row.kind for row in ROWS} == {refusals.MODELLED, refusals.IRRELEVANT, refusals.NOT_MODELLED}
    assert all(row.why for row in ROWS)
    assert len({row.refusal for row in ROWS}) == len(ROWS)


def test_every_release_has_rows():
    assert {release for row in ROWS for release in row.releases} == set(versions())


@pytest.mark.parametrize("why", sorted({row.why for row in ROWS if row.kind == refusals.MODELLED}))
def test_what_is_modelled_is_done_by_a_function_of_the_releases(why):
    sources = sources_of(named(why))
    releases = {release for row in ROWS if row.kind == refusals.MODELLED and row.why == why for release in row.releases}
    if why.startswith("models.configuration."):
        assert sources
    rules = [source for source in sources if any(source.covers(release) for release in releases)]
    assert rules or not sources


@pytest.mark.parametrize("version", versions())
def test_none_is_missing(version):
    package = CACHE / "engines" / f"v{version}" / "vllm"
    if not package.is_dir():
        pytest.skip(f"vLLM {version} is not fetched (tools/bridge setup)")
    there = set(refusals.refusals_of(package))
    assert there == {row.refusal for row in ROWS if version in row.releases}


def test_a_refusal_is_known_by_its_condition_and_not_by_its_place(tmp_path):
    folder = tmp_path / "config"
    folder.mkdir()
    lines = "class C:\n    def f(self):\n        if self.a > 1:\n            raise ValueError('no')\n        assert self.b\n"
    (folder / "a.py").write_text(lines)
    before = refusals.refusals_of(tmp_path)
    (folder / "a.py").write_text("import x\n\n\n" + lines)
    assert refusals.refusals_of(tmp_path) == before
    assert [(one.function, one.error) for one in before] == [("C.f", "ValueError"), ("C.f", "AssertionError")]
    (folder / "a.py").write_text(lines.replace("> 1", "> 2"))
    changed = refusals.refusals_of(tmp_path)
    assert (changed[0] != before[0], changed[1] == before[1]) == (True, True)


def test_the_page_is_the_table(tmp_path):
    code = (
        f"import pathlib, refusals; refusals.PAGE = pathlib.Path({str(tmp_path / 'page.md')!r}); refusals.main('page')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT / "tools")
    page = (ROOT / "docs" / "refusals.md").read_text(encoding="utf-8")
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == page
