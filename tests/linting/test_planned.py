"""Planning documents: the planner's refusals and what becomes of its cache, at the entry of the layers."""

import pytest

import kvinspect
from kvinspect.linting.settings import Settings

HEAD = 'engine: "0.27"\navailable_memory: [1073741824]\nmodel_config: {max_model_len: 4096}\nkv_cache_specs:\n'
SPEC = "block_size: 16, num_kv_heads: 8, dtype: bfloat16"
FULL = f'"f.{{0..3}}": {{kind: full_attention, {SPEC}, head_size: 128, backend: FLASH_ATTN}}'


def window(head_size=128, backend="FLASH_ATTN"):
    return f"w.0: {{kind: sliding_window, {SPEC}, sliding_window: 1024, head_size: {head_size}, backend: {backend}}}"


@pytest.fixture
def findings(tmp_path):
    def run(*layers, head=HEAD):
        path = tmp_path / "plan.yaml"
        path.write_text(head + "".join(f"  {layer}\n" for layer in layers), encoding="utf-8")
        found = kvinspect.lint(path, settings=Settings()).findings
        return [(finding.code, finding.mark.line) for finding in found]

    return run


def test_a_cache_that_is_fine(findings):
    assert findings(FULL) == []


def test_a_request_that_does_not_fit_is_found_at_its_length(findings):
    assert findings(FULL, head=HEAD.replace("1073741824", "1048576")) == [("KV401", 3)]


def test_pages_that_cannot_be_made_alike_are_found_at_the_layers(findings):
    layers = [layer.replace("FLASH_ATTN", "ROCM_ATTN") for layer in (FULL, window(96))]
    assert findings(*layers, head="platform: rocm\n" + HEAD) == [("KV404", 6)]


def test_pages_that_are_padded_are_found_at_the_layer_that_loses_by_it(findings):
    assert findings(FULL, window(96)) == [("KV403", 6)]


def test_what_rules_say_of_a_group_stands_at_its_layers(findings):
    assert set(findings(FULL, window(128, "FLASHMLA"))) == {("KV202", 6), ("KV203", 6), ("KV205", 6)}
