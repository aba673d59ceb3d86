"""Small rules by themselves."""

import pytest

from kvinspect.backends.conditions import OPEN, choose, outcomes
from kvinspect.backends.expressions import evaluate
from kvinspect.data import catalogue
from kvinspect.document.refusal import Unknown
from kvinspect.releases.lookup import chosen, known


def test_expressions_are_sizes_and_nothing_else():
    assert evaluate("(head_size+(4*head_size+7)//8+4+1)//2*2", {"head_size": 128}) == 196
    for text in ("__import__('os')", "head_size**9", "1 if 1 else 2", "'a'", "head_size.bit_length()", "1.5", "("):
        with pytest.raises(ValueError, match="no size"):
            evaluate(text, {"head_size": 1})


RULES = [
    {"if": {"platform": ["cuda", "rocm"], "n": ">0"}, "value": "a"},
    {"if": {"platform": "cuda"}, "value": "b"},
    {"value": "c"},
]


def test_the_first_rule_that_holds_gives_the_value():
    assert choose({"rules": RULES}, {"platform": "rocm", "n": 1}) == "a"
    assert choose({"rules": RULES}, {"platform": "cuda", "n": 0}) == "b"
    assert choose({"rules": RULES}, {"platform": "xpu", "n": 5}) == "c"
    assert choose("plain", {}) == "plain"


def test_an_open_fact_gives_every_outcome():
    assert list(outcomes(RULES, {"platform": "cuda", "n": OPEN})) == [("a", {"n": ">0"}), ("b", {})]


@pytest.mark.parametrize("version", catalogue.versions())
def test_every_backend_of_the_catalogue_answers(version):
    """Every name evaluates under every platform and layout of its release, or says why it cannot."""
    from kvinspect.backends.backend import Backends
    from kvinspect.document.refusal import Refused
    from kvinspect.engine.layout.layouts import KVCacheLayout

    for platform, capability in [("cuda", "8.0"), ("cuda", "10.0"), ("rocm", "9.4"), ("xpu", None), ("cpu", None)]:
        family = int(capability.split(".")[0]) if capability else None
        facts = {"platform": platform, "capability": capability, "capability_family": family}
        facts |= {"q_heads_divisible": True, "q_heads_grouped": True}
        backends = Backends(catalogue.read(version), {}, facts)
        for name in catalogue.read(version)["backends"]:
            try:
                backend = backends.named(name, ())
            except Refused as refused:
                assert refused.refusal.type in ("ValueError", "ModuleNotFoundError")
                continue
            if backend.layouts is not None:
                assert set(backend.layouts) <= set(KVCacheLayout.__members__)
            if backend.shapes:
                shape = backend.shape(7, 128, 1, 128, cache_dtype="turboquant_4bit_nc")
                assert backend.block_dim(128, 1, 128, cache_dtype="turboquant_4bit_nc") == shape.index(7)
                for layout in ("NHD", "HND"):
                    assert sorted(backend.stride_order(layout, len(shape))) == list(range(len(shape)))


def test_releases_are_known_by_their_names():
    assert known("0.28") == known("vllm-0.28.0") == "0.28.0"
    assert chosen("0.26", "0.25") == ("0.26", "0.26.0", "argument")
    for word in ("0.24", "1.0", "", "main", "0.28.1"):
        with pytest.raises(Unknown):
            known(word)
