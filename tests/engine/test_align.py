"""What `align` answers, seen through the Python API."""

import json

import pytest

import kvinspect
from conftest import ROOT


def test_k_v_first_and_blocks_first_views_are_restrided_onto_k_v_first_storage(whisper):
    answer = kvinspect.align(whisper).to_dict()
    assert answer["decision"] == "restrided"
    assert answer["sound"] is True
    cross = next(layer for layer in answer["layers"] if layer["layer_name"] == "x.0")
    page = 16 * 4 * 64
    assert cross["stride_before"] == [2 * page, page, 256, 64, 1]
    assert cross["stride"] == [page, 8 * page, 256, 64, 1]
    assert [tensor["shared_by"] for tensor in answer["tensors"]] == [["s.0", "x.0"], ["s.1", "x.1"]]


def test_the_smallest_counterexample_is_named(whisper):
    tensor = kvinspect.align(whisper).to_dict()["tensors"][0]
    assert tensor["sound_before"] is False
    assert tensor["conflict_before"] == {"layers": ["s.0", "x.0"], "block_ids": [1, 0], "byte": 8192, "num_bytes": 8192}


def test_a_refusal_is_an_answer_and_not_an_exception(whisper):
    result = kvinspect.align(whisper, engine="0.27")
    answer = result.to_dict()
    assert (result.decision, result.sound, answer["stage"]) == ("refused", None, "align")
    assert answer["reason"]["type"] == "AssertionError"
    assert answer["tensors"][0]["sound_before"] is False


@pytest.mark.parametrize(
    ("written", "called"), [("0.27", "0.27"), ("0.27.1", "0.27.1"), ("vllm-0.27", "0.27"), ("v0.27.1", "0.27.1")]
)
def test_a_release_has_several_names(whisper, written, called):
    answer = kvinspect.align({**whisper, "engine": written}).to_dict()
    assert (answer["engine"], answer["release"], answer["engine_source"]) == (called, "0.27.1", "document")


def test_a_release_may_be_written_as_a_number(whisper):
    assert kvinspect.align({**whisper, "engine": 0.25}).to_dict()["release"] == "0.25.1"


def test_without_a_release_the_newest_known_is_taken_and_said(whisper):
    del whisper["engine"]
    answer = kvinspect.align(whisper).to_dict()
    assert answer["engine_source"] in ("newest", "installed")


def test_the_callers_release_wins(whisper):
    assert kvinspect.align(whisper, engine="0.26").to_dict()["engine_source"] == "argument"


def test_another_number_of_blocks(whisper):
    answer = kvinspect.align(whisper, num_blocks=3).to_dict()
    assert answer["num_blocks"] == 3
    assert {layer["num_kernel_blocks"] for layer in answer["layers"]} == {3}


def test_another_number_of_blocks_for_written_tensors(whisper):
    whisper["kv_cache_config"]["kv_cache_tensors"] = [
        {"size": 8 * 16384, "shared_by": [f"s.{i}", f"x.{i}"]} for i in range(2)
    ]
    assert kvinspect.align(whisper, num_blocks=2).to_dict()["tensors"][0]["size"] == 2 * 16384
    whisper["kv_cache_config"]["kv_cache_tensors"][0]["size"] += 2
    with pytest.raises(kvinspect.DocumentError, match="kv_cache_tensors"):
        kvinspect.align(whisper, num_blocks=2)


def test_class_names_and_kinds_mean_the_same(whisper):
    named = json.loads(json.dumps(whisper))
    for group, cls, backend in zip(
        named["kv_cache_config"]["kv_cache_groups"],
        ("FullAttentionSpec", "CrossAttentionSpec"),
        ("RocmAttentionBackend", "TritonAttentionBackend"),
        strict=True,
    ):
        group["kv_cache_spec"]["type"] = cls
        del group["kv_cache_spec"]["kind"]
        group["backend"] = backend
    first, second = (kvinspect.align(document).to_dict() for document in (whisper, named))
    assert first == second


def test_the_long_form_of_groups_means_the_same(whisper):
    long = json.loads(json.dumps(whisper))
    long["attention_groups"] = [
        {"backend": group.pop("backend"), "layer_names": group["layer_names"], "kv_cache_group_id": i, "num_heads_q": 4}
        for i, group in enumerate(long["kv_cache_config"]["kv_cache_groups"])
    ]
    assert kvinspect.align(long).to_dict() == kvinspect.align(whisper).to_dict()


def test_every_step_gives_its_reason_and_its_rule(whisper):
    reasons = kvinspect.align(whisper).to_dict()["reasons"]
    assert {"model runner", "layout", "page size", "kernel blocks", "placement"} == {
        reason["step"] for reason in reasons
    }
    assert all(reason["text"] and reason["rule"] for reason in reasons)


def test_a_thousand_layers_are_proved_in_no_time(whisper):
    for group in whisper["kv_cache_config"]["kv_cache_groups"]:
        group["layer_names"] = [name.replace("{0..1}", "{0..499}") for name in group["layer_names"]]
    whisper["kv_cache_config"]["num_blocks"] = 2**40
    answer = kvinspect.align(whisper)
    assert answer.sound
    assert len(answer.to_dict()["tensors"]) == 500


def test_a_result_cannot_be_changed(whisper):
    result = kvinspect.align(whisper)
    with pytest.raises(AttributeError):
        result.device = "x"


def test_unavailable_backends_are_the_engines_refusal(whisper):
    whisper["kv_cache_config"]["kv_cache_groups"][1]["backend"] = "NO_ATTENTION"
    answer = kvinspect.align(whisper).to_dict()
    assert (answer["decision"], answer["reason"]["type"]) == ("refused", "ModuleNotFoundError")


def with_spec(**spec):
    base = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 2, "head_size": 64, "dtype": "float16"}
    group = {"layer_names": ["a"], "backend": "FLASH_ATTN", "kv_cache_spec": {**base, **spec}}
    return {"engine": "0.27", "kv_cache_config": {"num_blocks": 4, "kv_cache_groups": [group]}}


def test_a_page_smaller_than_its_padding_is_a_refusal_even_where_no_view_asks():
    made = with_spec(kind="encoder_only_attention", page_size_padded=8)
    made["kv_cache_config"]["kv_cache_tensors"] = [{"size": 8192, "shared_by": ["a"]}]
    answer = kvinspect.align(made)
    assert (answer.decision, answer.refusal.type) == ("refused", "AssertionError")


def test_a_page_of_no_bytes_is_the_engines_division_by_zero():
    made = with_spec(kind="mla_attention", compress_ratio=100, num_kv_heads=1, head_size=576)
    answer = kvinspect.align(made)
    assert (answer.decision, answer.refusal.stage, answer.refusal.type) == ("refused", "placement", "ZeroDivisionError")


def test_a_backend_that_takes_no_block_size_is_refused():
    made = with_spec()
    made["backends"] = {"FLASH": {"kv_cache_shape": ["num_blocks", 64], "supported_kernel_block_sizes": []}}
    made["kv_cache_config"]["kv_cache_groups"][0]["backend"] = "FLASH"
    assert kvinspect.align(made).refusal.stage == "init_attn_backend"


def test_a_tensor_that_holds_fewer_blocks_is_a_finding():
    made = with_spec()
    made["kv_cache_config"]["kv_cache_tensors"] = [{"size": 3 * 8192, "shared_by": ["a"]}]
    answer = kvinspect.align(made)
    assert [finding["kind"] for finding in answer.findings] == ["too-few-blocks"]
    assert not answer.clean


def test_every_unknown_name_is_told_at_once(whisper):
    groups = whisper["kv_cache_config"]["kv_cache_groups"]
    groups[0]["backend"], groups[1]["backend"] = "ROCM_ATN", "TRITON_ATN"
    groups[0]["kv_cache_spec"]["kv_quant_mode"] = "FP8_PER_TENSR"
    whisper["cache_dtype"] = "fp9"
    whisper["encoder_attention_groups"] = [{"backend": "NOBODY", "layer_names": ["e"]}]
    with pytest.raises(kvinspect.DocumentError) as caught:
        kvinspect.align(whisper)
    assert [error.nearest for error in caught.value.errors] == ["fp8", "ROCM_ATTN", "TRITON_ATTN", "", "FP8_PER_TENSOR"]


def test_a_dump_with_tuples_is_read_as_lists(whisper):
    groups = whisper["kv_cache_config"]["kv_cache_groups"]
    whisper["kv_cache_config"]["kv_cache_groups"] = tuple({**g, "layer_names": tuple(g["layer_names"])} for g in groups)
    assert kvinspect.align(whisper).decision == "restrided"
    del whisper["kv_cache_config"]["kv_cache_groups"][0]["backend"]
    with pytest.raises(kvinspect.DocumentError, match="has no backend"):
        kvinspect.align(whisper)


@pytest.mark.parametrize("number", [0, -3, 2.5, "4"])
def test_a_number_of_blocks_below_one_is_a_wrong_call(whisper, number):
    with pytest.raises((ValueError, TypeError), match="whole number"):
        kvinspect.align(whisper, num_blocks=number)


def test_a_refusal_and_a_conflict_say_which_entries_are_responsible():
    answer = kvinspect.align(ROOT / "configs" / "whisper-large-v3-rocm-0.27.yaml")
    assert answer.tensors[0].where
    assert all(":" in where and where.endswith(".backend") for where in answer.tensors[0].where)
    unsound = kvinspect.align(ROOT / "examples" / "rocm-hybrid.yaml")
    assert [where.rpartition(" ")[2] for where in unsound.tensors[0].where] == [
        "kv_cache_config.kv_cache_groups[0].backend",
        "kv_cache_config.kv_cache_groups[1]",
    ]
