"""Layers that differ in their places alone are compared once, and what is said of each is what is said of it alone."""

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.compare import layer, layers

SPEC = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype": "bfloat16"}


def document(engine, count, **more):
    group = {"layer_names": [f"l.{{0..{count - 1}}}"], "backend": "FLASH_ATTN", "kv_cache_spec": {**SPEC, **more}}
    return {"engine": engine, "kv_cache_config": {"num_blocks": 4, "kv_cache_groups": [group]}}


@pytest.mark.parametrize("engines", [("0.33", "0.33"), ("0.28", "0.33"), ("0.28", "0.28")])
def test_alike_layers_are_looked_at_once(engines, monkeypatch):
    looked = {"facts": 0, "pairs": 0}

    def counting(name, function):
        def call(*args):
            looked[name] += 1
            return function(*args)

        return call

    monkeypatch.setattr(layer.Layer, "facts", counting("facts", layer.Layer.facts))
    monkeypatch.setattr(layers, "_from_byte_0", counting("pairs", layers._from_byte_0))
    answer = kvinspect.diff(document(engines[0], 50), document(engines[1], 50))
    assert len(answer.layers) == 50
    assert looked == {"facts": 2, "pairs": 1}


CONFIGS = ROOT / "configs"


@pytest.mark.parametrize(("config", "engines"), [
    ("qwen3-next-80b-a3b", ("0.27", "0.28")), ("qwen3-next-80b-a3b", ("0.28", "0.33")),
    ("gemma-3-27b", ("0.28", "0.33")), ("llama-4-maverick-tp8", ("0.30", "0.33")), ("deepseek-v3", ("0.28", "0.29")),
])  # fmt: skip
def test_each_layer_is_told_as_if_it_were_compared_alone(config, engines, monkeypatch):
    path = CONFIGS / f"{config}.yaml"
    together = kvinspect.diff(path, engines=engines)
    monkeypatch.setattr(layers.Pairs, "of", lambda self, a, b: layers.Pair.of(a, b))
    alone = kvinspect.diff(path, engines=engines)
    assert together == alone
    assert [list(one.changes) for one in together.layers] == [list(one.changes) for one in alone.layers]
    assert together.layers
