"""Every real model's config.json, planned for each release; what is planned is a document that `align` takes."""

import pytest

import golden
import kvinspect
from kvinspect.data.catalogue import FOLDER, versions
from kvinspect.document.load import load
from kvinspect.models.memory import Memory
from kvinspect.planning.inspection import inspection_document
from kvinspect.question.planned import cache_of_model

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
    assert_made_as_written(found.plan)
    answer = kvinspect.align(inspection_document(found.plan))
    assert answer.refusal is None
    assert answer.sound


def assert_made_as_written(plan):
    """The cache that is made of a plan's values says what the plan's document says, once that is read."""
    written = load(inspection_document(plan))
    made = cache_of_model(plan, plan.written.said)
    assert made.groups == written.groups
    assert (made.uses, made.shared) == (written.uses, written.shared)
    assert attention_groups(made) == attention_groups(written)
    assert beside_layers(made) == beside_layers(written)


def attention_groups(document):
    return [(one.backend, one.kv_cache_group_id) for one in document.model.attention_groups or ()]


def beside_layers(document):
    """What a document says beside its layers, which are written as patterns."""
    config = document.model.kv_cache_config
    nothing = {"kv_cache_specs": None, "available_memory": None, "worker_layers": None, "attention_groups": None}
    return {**document.model.said, **nothing, "kv_cache_config": config.num_blocks, "shared_kv_cache_layers": None}
