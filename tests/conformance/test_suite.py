"""The suite itself: its documents, and that it sees what differs."""

import collections

import pytest

import golden
import kvinspect
from conformance import suite, table
from conformance.compare import judged
from conformance.documents import models
from conformance.documents.chooser import strategy
from conformance.facts import EVERYWHERE, facts
from conformance.reached import rules_reached, sentence
from kvinspect.data import catalogue

DRAWN = {
    "align": "kv_cache_config",
    "cg-support": "kv_cache_config",
    "mm-prefix": "multimodal",
    "plan": "kv_cache_specs",
}
"""Commands whose documents need nothing beside the checkout → the key that their documents have."""


def drawn(release, command, count=20, number=3):
    return suite.draw(strategy(suite.MAKERS[command], facts(release), EVERYWHERE), count, number)


@pytest.mark.parametrize("command", DRAWN)
@pytest.mark.parametrize("release", catalogue.versions())
def test_most_documents_are_answered_and_not_found_wrong(release, command):
    documents = drawn(release, command)
    outcomes = collections.Counter()
    for document in documents:
        assert DRAWN[command] in document
        try:
            getattr(kvinspect, command.replace("-", "_"))(document).to_dict()
            outcomes["answered"] += 1
        except kvinspect.DocumentError:
            outcomes["wrong"] += 1
    assert outcomes["answered"] >= 0.7 * len(documents)


def test_turboquant_is_drawn_with_a_cache_dtype_of_its_own_and_no_mode():
    """A spec that names no mode counts as quantized before 0.27, which is what is asked for here."""
    documents = drawn("0.26.0", "align", 200)
    groups = [(d, g) for d in documents for g in d["kv_cache_config"]["kv_cache_groups"]]
    specs = [g["kv_cache_spec"] for d, g in groups if "turboquant" in d.get("cache_dtype", "") and "backend" in g]
    kinds = {(spec["kind"], spec.get("kv_quant_mode", "NONE")) for spec in specs}
    assert ("TQFullAttentionSpec", "NONE") in kinds


def test_ranges_of_tokens_are_drawn_cut_and_padded():
    several = [document["multimodal"] for document in drawn("0.33.0", "mm-prefix", 100)]
    assert any(one.get("mm_prefix_clamp_sliding_window") and one["sliding_window"] for one in several)
    assert any(one.get("mm_prefix_span_leading_pad_modulus", 0) > 1 for one in several)


def test_models_that_hang_on_transformers_are_drawn_where_a_release_says_which():
    before, after = models.configurations("0.30.0"), models.configurations("0.33.0")
    assert len(after) - len(before) == sum(first is not None for first in models.BY_TRANSFORMERS.values())


def test_lists_with_an_entry_for_each_layer_are_cut_drafted_layers_too():
    text = {"num_hidden_layers": 4, "num_nextn_predict_layers": 1, "a": [1] * 4, "b": [1] * 5, "c": [1] * 6}
    models.cut_layers(text, 2)
    assert [len(text[name]) for name in "abc"] == [2, 2, 6]


def test_the_same_number_draws_the_same_documents():
    newest = catalogue.versions()[-1]
    assert drawn(newest, "plan", 10, 5) == drawn(newest, "plan", 10, 5) != drawn(newest, "plan", 10, 6)


def test_a_difference_is_found_again_and_made_small():
    documents = strategy(suite.MAKERS["align"], facts("0.27.1"), EVERYWHERE)

    def difference(document):
        sizes = {g["kv_cache_spec"]["block_size"] for g in document["kv_cache_config"]["kv_cache_groups"]}
        return "two block sizes" if len(sizes) > 1 else None

    document, why = suite.shrunk(documents, 100, 1, difference)
    assert why == "two block sizes"
    groups = document["kv_cache_config"]["kv_cache_groups"]
    assert len(groups) == 2
    assert "kv_cache_tensors" not in document["kv_cache_config"]


def test_nothing_is_made_small_where_nothing_differs():
    documents = strategy(suite.MAKERS["plan"], facts("0.27.1"), EVERYWHERE)
    assert suite.shrunk(documents, 5, 1, lambda document: None) is None


def test_another_answer_of_the_engine_is_a_difference():
    case = next(c for c in golden.answers("align-0.27.1") if c["align"]["layers"])
    theirs = case["align"]
    assert judged("align", case["document"], theirs).outcome == "equal"
    layer = theirs["layers"][0]
    other = {**theirs, "layers": [{**layer, "page_size_bytes": 1}, *theirs["layers"][1:]]}
    assert judged("align", case["document"], other).outcome == "differs"


def test_an_error_of_the_document_is_a_difference_where_the_engine_answers():
    case = next(c for c in golden.answers("align-0.27.1") if c["align"]["layers"])
    wrong = {**case["document"], "num_blocks": 3}
    assert judged("align", wrong, case["align"]).outcome == "differs"
    assert judged("align", wrong, {**case["align"], "stage": "placement"}).outcome == "refused"


def test_what_the_bridge_cannot_answer_is_no_agreement():
    """Neither where kvinspect answers, nor where it finds the document wrong and would have agreed."""
    failed = {"bridge_failure": "Missing: the stand-in for ModelConfig has no 'x'"}
    for command in suite.MAKERS:
        assert judged(command, {}, failed) == ("unanswered", failed["bridge_failure"])


def test_a_row_of_the_table_is_replaced_and_the_others_stay(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{table.BEGIN}{table.END}\nafter\n")
    table.put(page, {("0.9.0", "plan"): [3, 3, 0, 0, 0, 0], ("0.33.0", "plan"): [9, 1, 2, 3, 2, 1]})
    table.put(page, {("0.9.0", "plan"): [5, 4, 0, 0, 0, 1]})
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert text.index("| 0.33.0 | plan | 9 | 1 | 2 | 3 | 2 | 1 |") < text.index(
        "| 0.9.0 | plan | 5 | 4 | 0 | 0 | 0 | 1 |"
    )


def test_one_document_that_the_bridge_fails_at_is_counted_and_fails_no_day():
    assert [suite.tolerated(total) for total in (5, 6, 39, 60, 2000)] == [1, 1, 1, 3, 100]


def test_a_rule_that_no_document_reaches_is_named():
    document = {
        "kv_cache_specs": {"a": {"kind": "full_attention", "block_size": 16, "num_kv_heads": 1, "head_size": 64}}
    }
    document["kv_cache_specs"]["a"]["dtype"] = "bfloat16"
    with rules_reached("0.33.0") as reached:
        kvinspect.plan({"engine": "0.33.0", "available_memory": [1 << 24], **document})
    assert "planning.grouping.grouped" in reached
    told = sentence(reached, "0.33.0")
    assert f"  {len(reached)} of " in told
    assert "planning.grouping.pages_for_one_token" in told
    assert "planning.grouping.grouped" not in told
    assert "planning.latent_windows.always" not in told, "which is a rule of 0.25 alone"


def test_a_plan_is_compared_with_the_planner_alone():
    """The engine stops behind its planner where no kernel takes the blocks, which its recorded plan does not tell."""
    attention = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 80, "dtype": "bfloat16"}
    states = {"kind": "mamba", "block_size": 16, "shapes": [[4, 32], [2, 8, 5]], "dtypes": ["float32"] * 2}
    document = {
        "engine": "0.28.0",
        "kv_cache_specs": {
            "a": {**attention, "backend": "TRITON_MSA"},
            "b": {**states, "mamba_type": "short_conv", "page_size_padded": 40960},
        },
        "available_memory": [92418105],
        "model_config": {"max_model_len": 512, "num_attention_heads": 32},
    }
    assert kvinspect.plan(document).refusal.stage == "init_attn_backend"
    assert judged("plan", document, {"num_blocks": 2256, "error": None}).outcome == "equal"
    assert judged("plan", document, {"num_blocks": 2255, "error": None}).outcome == "differs"
