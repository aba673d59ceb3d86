"""Every real model's config.json, planned for each release; what is planned is a document that `align` takes."""

import pytest

import golden
import kvinspect
from kvinspect.models.memory import Memory
from kvinspect.planning.inspection import inspection_document
from kvinspect.releases.data.catalogue import FOLDER, versions

CONFIGS = sorted(golden.models().glob("*.json"))
REFUSED = ("supports only an fp8 KV cache", "no attention backend of cuda 9.0 supports the layers")
"""What the engine says of some of them on a Hopper with the cache that a model asks for."""

NOT_YET = ("has no architecture ExaoneMoEForCausalLM", "has no architecture Eagle3Speculator")
"""An architecture that a release lacks, and a draft's checkpoint that is no model of its own."""


def test_each_release_of_the_catalogue_has_its_models():
    assert set(versions()) <= {path.parent.name for path in FOLDER.glob("*/architectures.json")}


@pytest.mark.parametrize("engine", ["0.27", "0.29", "0.30", "0.33"])
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_plan_can_be_aligned(path, engine):
    try:
        found = kvinspect.plan_model(path, Memory(1 << 40, "given"), engine=engine)
    except kvinspect.DocumentError as error:
        assert any(words in str(error) for words in (*REFUSED, *NOT_YET))
        return
    assert found.plan.refusal is None
    answer = kvinspect.align(inspection_document(found.plan))
    assert answer.refusal is None
    assert answer.sound
