"""Specs of real models, layer by layer, against those of vLLM's own model classes."""

import pytest

import golden
import kvinspect
from golden.cases import EXCUSED, differences


@pytest.mark.parametrize("release", ["0.27.1", "0.33.0"])
@pytest.mark.parametrize("kind", ["specs", "specs2"])
def test_specs_of_real_models(kind, release):
    cases = golden.answers(f"{kind}-{release}")
    found = {case["id"]: rows for case in cases if (rows := _rows(case))}
    excused = {name for version, name in EXCUSED if version == release and kind == "specs2"}
    assert found.keys() == excused, f"{len(found)} of {len(cases)}: {found.keys() ^ excused}"


def _rows(case):
    try:
        return differences("specs", case)
    except kvinspect.DocumentError as error:
        return [str(error)]


@pytest.mark.parametrize(
    ("name", "number"), [("specs-0.27.1", 164), ("specs-0.33.0", 163), ("specs2-0.27.1", 323), ("specs2-0.33.0", 333)]
)
def test_every_real_model_is_asked_about(name, number):
    assert len(golden.answers(name)) == number
