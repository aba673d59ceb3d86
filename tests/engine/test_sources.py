"""The rules that an answer names are those that were called for it, with the vLLM functions that they declare."""

import functools
import gc

import pytest

import golden
import kvinspect
from conformance.reached import rules_reached
from conftest import ROOT
from kvinspect.document.refusal import Refused
from kvinspect.engine.chain import Stages
from kvinspect.engine.wording.sources import rules_taken
from kvinspect.question.documents import load
from kvinspect.releases import lookup

RELEASES = ("0.25.1", "0.27.1", "0.28.0", "0.33.0", "v1-0.25.1", "v1-0.27.1", "v1-0.28.0")
ROOMS = ("kvinspect.engine", "kvinspect.specs", "kvinspect.backends")


def forget():
    """Empty what functions remember, so that each rule is called again."""
    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper) and str(found.__module__).startswith(ROOMS):
            found.cache_clear()


@pytest.mark.parametrize("name", RELEASES)
def test_each_rule_that_was_called_is_named_and_no_other(name):
    release = lookup.release(name.removeprefix("v1-"))
    release = lookup.other_runner(release) if name.startswith("v1-") else release
    compared = 0
    for case in golden.answers(f"align-{name}")[::23]:
        document = load(case["document"])
        if not document.groups:
            continue
        forget()
        cache = Stages(document, release, 7)
        with rules_reached(release.version) as called:
            try:
                cache.soundness  # noqa: B018
            except (Refused, kvinspect.DocumentError):
                continue
        taken = rules_taken(cache.given, cache.built, cache.views)
        assert {source.rule for one in taken for source in one.sources(release.version)} == called
        compared += 1
    assert compared > 1


def test_the_rules_stand_in_json_and_in_explain(run):
    answer = kvinspect.align(ROOT / "configs/llama-3.1-8b.yaml", engine="0.28").to_dict()
    rule = next(rule for rule in answer["rules"] if rule["step"] == "layout")
    assert rule["rule"] == "engine.per_tensor.layout"
    assert rule["releases"] == "0.25–0.28"
    assert "get_kv_cache_layout" in rule["functions"]
    text = run("align", "configs/llama-3.1-8b.yaml", "--engine", "0.28", "--explain").stdout
    assert "AttentionBackend.customize_spec" in text
    assert "0.28–0.30" in text


def test_what_rules_stand_for_is_looked_up_for_json_and_explain_alone(monkeypatch):
    def asked(rule):
        raise AssertionError

    monkeypatch.setattr("kvinspect.engine.reason.sources_of", asked)
    answer = kvinspect.align(ROOT / "configs/llama-3.1-8b.yaml")
    assert answer.sound
    assert answer.taken
    with pytest.raises(AssertionError):
        answer.to_dict()
