"""What is built for others: a wheel and a source distribution, without a network, each with the pages of the rules."""

import os
import subprocess
import sys
import tarfile
import zipfile

import pytest

from conftest import ROOT

PAGES = sorted(path.name for path in (ROOT / "docs" / "rules").glob("KV*.md"))


def built(kind, source, folder):
    call = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(call, cwd=source, check=True, capture_output=True)
    (path,) = folder.iterdir()
    return path


def names(wheel):
    with zipfile.ZipFile(wheel) as file:
        return {name for name in file.namelist() if "dist-info" not in name}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built("wheel", ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return built("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


def test_a_wheel_has_every_page_and_no_tests(wheel):
    inside = names(wheel)
    assert sorted(n.rsplit("/", 1)[1] for n in inside if n.startswith("kvinspect/linting/pages/")) == PAGES
    assert {name.split("/")[0] for name in inside} == {"kvinspect"}


def test_the_pages_are_found_where_a_wheel_puts_them(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path / "site")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYTHONIOENCODING": "utf-8"}
    call = [sys.executable, "-m", "kvinspect", "rule", "KV103"]
    done = subprocess.run(call, cwd=tmp_path, env=env, capture_output=True, check=True)
    assert done.stdout == (ROOT / "docs" / "rules" / "KV103.md").read_bytes()


def test_a_wheel_made_from_the_source_distribution_is_the_same(wheel, sdist, tmp_path):
    with tarfile.open(sdist) as file:
        file.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    assert names(built("wheel", source, tmp_path / "again")) == names(wheel)


def test_an_editable_wheel_leaves_the_package_where_it_is(tmp_path):
    code = "import sys; from hatchling.build import build_editable; print(build_editable(sys.argv[1]))"
    call = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(call, cwd=ROOT, check=True, capture_output=True, text=True)
    with zipfile.ZipFile(tmp_path / done.stdout.split()[-1]) as file:
        (link,) = [name for name in file.namelist() if name.endswith(".pth")]
        assert file.read(link).decode().strip() == str(ROOT)
        assert "kvinspect/__init__.py" not in file.namelist()
