"""Families and architectures: which module knows which layers."""

import collections
import importlib
import pkgutil

import pytest

import kvinspect
from kvinspect.models import families


def claims():
    """(architecture or class, module) of every family."""
    for info in pkgutil.iter_modules(families.__path__):
        module = importlib.import_module(f"{families.__name__}.{info.name}")
        yield from ((name, info.name) for name in module.ARCHITECTURES)


def test_no_architecture_is_claimed_by_two_families():
    modules = collections.defaultdict(set)
    for name, module in claims():
        modules[name].add(module)
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}


def test_no_family_names_an_architecture_twice():
    counted = collections.Counter(claims())
    assert [claim for claim, number in counted.items() if number > 1] == []


@pytest.mark.parametrize("name", ["Olmo2ForCausalLM", "Olmo3ForCausalLM"])
def test_a_class_that_two_architectures_have_in_one_release(name):
    sizes = {"hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 2, "max_position_embeddings": 4096}
    model = {"architectures": [name], "model_type": "olmo2", **sizes}
    found = kvinspect.specs(model, engine="0.25.1").to_dict()["layers"][0]["kv_cache_spec"]
    assert (found["type"], found["head_size"]) == ("FullAttentionSpec", 64)
