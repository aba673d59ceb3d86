"""Every release is whole: each file of data and each table of rules has it."""

import pathlib

import pytest

import kvinspect
from kvinspect.engine import catalogue, releases
from kvinspect.engine.catalogue import versions
from kvinspect.models.releases import rules
from kvinspect.planning.steps import steps_of

ROOM = pathlib.Path(kvinspect.__file__).parent
DATA = ("engine/catalogue", "engine/catalogue/flags", "engine/catalogue/runners", "models/architectures")
NOT_A_RELEASE = {"transformers.json"}


@pytest.mark.parametrize("folder", DATA)
def test_a_folder_of_data_has_every_release_and_no_other(folder):
    found = {path.name for path in (ROOM / folder).glob("*.json")} - NOT_A_RELEASE
    assert found == {f"{version}.json" for version in versions()}


@pytest.mark.parametrize("runner", ["v1", "v2"])
@pytest.mark.parametrize("version", versions())
def test_each_version_has_its_steps(version, runner):
    release = releases.release(version, runner)
    assert release.version == version
    assert release.catalogue is catalogue.read(version)
    assert steps_of(release).release is release
    assert rules(release.name)


def test_no_release_stands_in_for_one_that_is_missing():
    with pytest.raises(KeyError):
        rules("0.99")


def test_a_release_that_is_not_there_is_refused():
    with pytest.raises(kvinspect.DocumentError, match="a vLLM release: one of"):
        kvinspect.cg_support({"engine": "0.99", "kv_cache_config": {"num_blocks": 1, "kv_cache_groups": []}})
