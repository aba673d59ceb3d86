"""The project stands on its own: no file leads out of the checkout, and every name is one that any system takes."""

import re
import subprocess

import pytest

from conftest import ROOT

OUTSIDE = re.compile(r"\.\./shared\b|(?<![\w/.~-])/(?:work|root|opt)/(?!acme/|vllm-0)\w")
"""Folders beside the checkout, and those of one machine; deployments of the made-up acme name their own."""

PLAIN = re.compile(r"[\w./-]+", re.ASCII)


@pytest.fixture(scope="module")
def tracked():
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("no checkout of git")
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).exists()]


def test_no_file_names_a_place_outside(tracked):
    found = {}
    for name in tracked:
        text = (ROOT / name).read_bytes().decode("utf-8", "replace")
        if name != "tests/test_standalone.py" and (places := set(OUTSIDE.findall(text))):
            found[name] = places
    assert not found


def test_every_name_is_plain(tracked):
    assert [name for name in tracked if not PLAIN.fullmatch(name)] == []


def test_no_link_leads_out(tracked):
    outside = [name for name in tracked if not (ROOT / name).resolve().is_relative_to(ROOT.resolve())]
    assert outside == []
