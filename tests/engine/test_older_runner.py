"""What model runner V1 does otherwise than V2, rule by rule, and where the two disagree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import golden
import kvinspect
from kvinspect.cudagraph.capture import Batches, captured_in_multiples
from kvinspect.cudagraph.mode import CUDAGraphMode
from kvinspect.document.refusal import Refused
from kvinspect.engine.blocks_first import onto_blocks_first
from kvinspect.geometry import StridedView
from kvinspect.geometry.disjoint import meeting
from kvinspect.geometry.runs import block_bytes
from kvinspect.linting.settings import Settings
from kvinspect.releases.lookup import other_runner, release

RELEASES = ("0.25.1", "0.26.0", "0.27.1", "0.28.0")
FULL = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 4, "head_size": 64, "dtype": "float16"}
CROSS = {**FULL, "kind": "cross_attention"}
WINDOW = {**FULL, "kind": "sliding_window", "sliding_window": 128}
STATE = {"kind": "mamba", "block_size": 16, "shapes": [[128, 64]], "dtypes": ["float16"]}
ENCODER = {**FULL, "kind": "encoder_only_attention"}


def group(spec, *layers, **more):
    return {"layer_names": list(layers), "kv_cache_spec": spec, **more}


def rocm(*groups, **more):
    config = {"num_blocks": 4, "kv_cache_groups": list(groups)}
    return {"engine": "0.27", "platform": "rocm", "kv_cache_config": config, **more}


def ask(document, runner="v1", **more):
    return kvinspect.align({**document, "model_runner": runner, **more}).to_dict()


def layers(answer):
    return {row["layer_name"]: row for row in answer["layers"]}


HYBRID = rocm(group(FULL, "a", backend="ROCM_ATTN"), group(STATE, "m"))
MIXED = rocm(group(FULL, "a", "b", backend="ROCM_ATTN"), group(CROSS, "c", backend="TRITON_ATTN"))


@pytest.mark.parametrize("engine", RELEASES)
@pytest.mark.parametrize("document", [HYBRID, MIXED])
def test_every_kv_first_view_of_the_model_becomes_blocks_first(engine, document):
    answer = ask(document, engine=engine)
    assert (answer["decision"], answer["sound"]) == ("restrided", True)
    for name, row in layers(answer).items():
        if row["block_dim"] == 1:
            assert row["decision"] == "restrided", name
            assert row["stride"][:2] == [16 * 4 * 64, 2 * 16 * 4 * 64]


def test_also_a_view_that_shares_with_nobody_and_the_answer_says_by_which_runner():
    answer = ask(MIXED)
    alone = next(tensor for tensor in answer["tensors"] if tensor["shared_by"] == ["b"])
    assert alone["decision"] == "restrided"
    assert "model runner V1 moves" in alone["why"]
    assert "on the same bytes" not in alone["why"]


def test_views_of_one_layout_stay_where_they_are():
    answer = ask(rocm(group(FULL, "a", backend="ROCM_ATTN"), group(CROSS, "c", backend="ROCM_ATTN")))
    assert answer["decision"] == "agree"
    assert {row["decision"] for row in answer["layers"]} == {"unchanged"}


@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.sampled_from([1, 2, 4]))
def test_a_moved_view_keeps_each_block_on_its_own_page(blocks, tokens, heads, size, itemsize):
    raw = StridedView.of_bytes(2 * blocks * tokens * heads * size * itemsize)
    moved = onto_blocks_first(raw.view_dtype(itemsize).view((2, blocks, tokens, heads, size)))
    pages = raw.view((blocks, raw.numel // blocks))
    assert meeting(block_bytes(moved, 1, blocks, 1), block_bytes(pages, 0, blocks, 1)) is None


def test_a_sharing_layer_on_a_kv_first_view_stops_the_step_and_v2_starts():
    document = {**HYBRID, "shared_kv_cache_layers": {"k": "a"}}
    answer = ask(document)
    assert (answer["stage"], answer["reason"]["type"]) == ("align", "KeyError")
    assert [t["decision"] for t in answer["tensors"]] == ["refused"]
    assert ask(document, "v2", engine="0.28")["decision"] != "refused"


def test_a_sharing_layer_on_a_blocks_first_view_does_not():
    document = rocm(group(FULL, "a", backend="TRITON_ATTN"), group(STATE, "m"), shared_kv_cache_layers={"k": "a"})
    answer = ask(document)
    assert (answer["decision"], answer["sound"]) == ("unshared", True)
    assert layers(answer)["k"]["decision"] == "alias"


def test_encoder_only_layers_are_one_last_group_without_a_cache():
    document = rocm(
        group({**ENCODER, "block_size": 32}, "e", backend="TRITON_ATTN"),
        group(FULL, "a", backend="TRITON_ATTN"),
        group(ENCODER, "f", backend="TRITON_ATTN"),
    )
    answer = ask(document)
    rows = layers(answer)
    assert [row["layer_name"] for row in answer["layers"]] == ["a", "e", "f"]
    assert [(rows[n]["kv_cache_group_id"], rows[n]["decision"]) for n in "aef"] == [
        (0, "unchanged"),
        (1, "no_view"),
        (1, "no_view"),
    ]
    assert rows["e"]["page_size_bytes"] == rows["f"]["page_size_bytes"] == 2 * 32 * 4 * 64 * 2
    assert [t["shared_by"] for t in answer["tensors"]] == [["a"]]
    assert answer["kernel_block_sizes"] == [16]


def test_encoder_only_layers_of_different_heads_are_refused():
    document = rocm(
        group(ENCODER, "e", backend="TRITON_ATTN"), group({**ENCODER, "num_kv_heads": 2}, "f", backend="TRITON_ATTN")
    )
    answer = ask(document)
    assert (answer["stage"], answer["reason"]["type"]) == ("init_attn_backend", "AssertionError")
    assert "kv_cache_groups[1]" in answer["reason"]["where"]


def test_encoder_only_layers_in_a_hybrid_stop_the_step():
    document = rocm(*HYBRID["kv_cache_config"]["kv_cache_groups"], group(ENCODER, "e", backend="TRITON_ATTN"))
    answer = ask(document)
    assert (answer["stage"], answer["reason"]["type"]) == ("align", "IndexError")
    assert answer["tensors"][0]["decision"] == "restrided"


def test_encoder_only_layers_need_no_tensor_and_take_none():
    size = 4 * 2 * 16 * 4 * 64 * 2
    document = rocm(group(FULL, "a", backend="TRITON_ATTN"), group(ENCODER, "e", backend="TRITON_ATTN"))
    config = document["kv_cache_config"]
    without = {**config, "kv_cache_tensors": [{"size": size, "shared_by": ["a"]}]}
    beside = {**config, "kv_cache_tensors": [{"size": size, "shared_by": ["a", "e"]}]}
    stages = {
        (runner, name): ask(document, runner, kv_cache_config=tensors)["stage"]
        for runner in ("v1", "v2")
        for name, tensors in (("without", without), ("beside", beside))
    }
    assert stages[("v1", "without")] is None
    assert stages[("v1", "beside")] == "allocate"
    assert stages[("v2", "without")] == "allocate"
    assert stages[("v2", "beside")] is None


def test_one_group_may_lack_a_kernel_block_size_and_no_more():
    groups = [group(FULL, "a", backend="TRITON_ATTN"), group(WINDOW, "b", backend="TRITON_ATTN")]
    one = ask(rocm(*groups, kernel_block_sizes=[16]))
    assert layers(one)["b"]["decision"] == "no_view"
    more = rocm(*groups, group(CROSS, "c", backend="TRITON_ATTN"), kernel_block_sizes=[16])
    assert (ask(more)["stage"], ask(more)["reason"]["type"]) == ("reshape", "IndexError")
    assert layers(ask(more, "v2"))["c"]["decision"] == "no_view"


def test_a_compressed_cache_is_counted_in_kernel_blocks_and_sized_in_states():
    latent = {"kind": "mla_attention", "block_size": 128, "head_size": 576, "dtype": "bfloat16", "compress_ratio": 4}
    document = {
        "engine": "0.27",
        "kv_cache_config": {
            "num_blocks": 4,
            "kv_cache_groups": [group(latent, "a", backend="MINE")],
        },
        "backends": {
            "MINE": {
                "kv_cache_shape": ["num_blocks", "block_size", "head_size"],
                "supported_kernel_block_sizes": [64],
            }
        },
    }
    assert (ask(document)["stage"], ask(document)["reason"]["type"]) == ("reshape", "RuntimeError")
    assert ask(document, "v2")["sound"] is True


def test_the_blocks_have_to_be_in_dim_0_or_1():
    odd = {"kv_cache_shape": [2, "num_kv_heads", "num_blocks", "block_size", "head_size"]}
    document = rocm(group(FULL, "a", backend="ODD"), group(CROSS, "b", backend="TRITON_ATTN"), backends={"ODD": odd})
    assert (ask(document)["stage"], ask(document)["reason"]["type"]) == ("align", "AssertionError")
    assert ask(document, "v2")["decision"] == "untouched"


def test_the_rest_of_a_memory_order_is_kept_unseen_and_may_leave_the_storage():
    backend = {
        "kv_cache_shape": [2, "num_blocks", "block_size", "num_kv_heads", "head_size"],
        "kv_cache_stride_order": [0, 2, 1, 3, 4],
    }
    document = rocm(group(FULL, "a", backend="ODD"), group(STATE, "m"), backends={"ODD": backend})
    answer = ask(document)
    assert (answer["stage"], answer["reason"]["type"]) == ("align", "RuntimeError")
    assert layers(answer)["a"]["decision"] == "refused"


def across(spec, backend="FLASH_ATTN", layout="NHD", **more):
    transfer = {"kv_connector": "NixlConnector", "kv_connector_extra_config": {"enable_cross_layers_blocks": True}}
    config = {"num_blocks": 4, "kv_cache_groups": [group(spec, "l.{0..2}", backend=backend)]}
    document = {"engine": "0.27", "kv_cache_layout": layout, "kv_cache_config": config, "kv_transfer_config": transfer}
    return {**document, **more}


@pytest.mark.parametrize(("layout", "stride"), [("NHD", [24576, 128, 512, 1]), ("HND", [24576, 6144, 128, 1])])
def test_blocks_across_layers_are_one_allocation(layout, stride):
    answer = kvinspect.align({**across(FULL, layout=layout), "model_runner": "v1"}, device="cpu", verify=True).to_dict()
    assert {t["decision"] for t in answer["tensors"]} == {"packed"}
    assert "KV connector" in answer["tensors"][0]["why"]
    assert [row["stride"] for row in answer["layers"]] == [stride] * 3
    assert len({row["storage_offset"] for row in answer["layers"]}) == 3
    assert answer["sound"] is True
    assert answer["materialised"]["num_views"] == 3


def test_blocks_across_layers_are_v1s_alone_and_know_no_padding():
    assert ask(across(FULL), "v2")["decision"] == "unshared"
    padded = ask(across({**FULL, "page_size_padded": 20480}))
    assert (padded["stage"], padded["reason"]["type"]) == ("allocate", "RuntimeError")


@pytest.mark.parametrize(("engine", "decision"), [("0.26", "packed"), ("0.27", "unshared")])
def test_inline_scales_keep_layers_apart_from_0_27_on(engine, decision):
    spec = {**FULL, "dtype": "int8", "kv_quant_mode": "INT8_PER_TOKEN_HEAD"}
    document = across(spec, "TRITON_ATTN", engine=engine, cache_dtype="int8_per_token_head")
    assert ask(document)["decision"] == decision


@pytest.mark.parametrize("sizes", [[], [16, 16]])
def test_blocks_across_layers_need_one_kernel_block_size(sizes):
    answer = ask(across(FULL, kernel_block_sizes=sizes))
    assert (answer["stage"], answer["reason"]["type"]) == ("allocate", "AssertionError")


def test_an_encoder_only_group_without_layers_is_none():
    answer = ask(rocm(group(FULL, "a", backend="TRITON_ATTN"), group(ENCODER, backend="TRITON_ATTN")))
    assert [row["layer_name"] for row in answer["layers"]] == ["a"]


def test_a_block_without_a_state_is_refused_and_not_our_error():
    spec = {"kind": "mla_attention", "block_size": 4, "head_size": 64, "dtype": "bfloat16", "compress_ratio": 8}
    document = {
        "engine": "0.27",
        "kv_cache_config": {
            "num_blocks": 2,
            "kv_cache_groups": [group({**spec, "page_size_padded": 512}, "a", backend="TRITON_MLA")],
        },
        "kernel_block_sizes": [4],
    }
    assert ask(document, "v2")["reason"]["type"] == "ZeroDivisionError"


def test_an_attention_layer_on_a_state_backend_is_linted_without_a_crash():
    document = rocm(group(FULL, "a", backend="MAMBA2"))
    result = kvinspect.lint(document, settings=Settings())
    assert result.fault == ""
    assert all(finding.code.startswith("KV") for finding in result.findings)


def test_sizes_are_rounded_to_whole_decodes():
    batches = Batches(max_num_seqs=8, max_num_batched_tokens=64, query_len=3)
    mode = CUDAGraphMode.FULL_AND_PIECEWISE
    made = captured_in_multiples(mode, (1, 2, 4, 8, 16, 24, 32), batches)
    assert made.sizes == made.mixed == (3, 6, 9, 18, 24)
    assert made.decode == (3, 6, 9, 18, 24)
    assert captured_in_multiples(mode, (3,), batches._replace(query_len=2)).sizes == (2,)
    assert captured_in_multiples(CUDAGraphMode.PIECEWISE, (1, 2), batches).mixed == (1, 2)
    with pytest.raises(Refused, match="no capture size up to 2"):
        captured_in_multiples(mode, (1, 2), batches)


def test_one_object_for_each_release_and_runner():
    assert release("0.27.1", "v1") is release("0.27.1", "v1")
    assert other_runner(release("0.27.1", "v1")) is release("0.27.1", "v2")


def found(document, **more):
    result = kvinspect.lint({**document, **more}, settings=Settings())
    return [finding for finding in result.findings if finding.code == "KV113"]


def test_a_disagreement_is_found_from_both_sides_and_names_the_runners():
    by_v2, by_v1 = (found(HYBRID, model_runner=runner)[0] for runner in ("v2", "v1"))
    assert "model runner v2 of vLLM 0.27.1 starts with an unsound cache" in by_v2.message
    assert by_v2.message.endswith("VLLM_USE_V2_MODEL_RUNNER=0 selects v1")
    assert "model runner v1 of vLLM 0.27.1 starts with a sound cache; v2 starts with an unsound cache" in by_v1.message
    assert found(HYBRID, engine="0.28") == []


def test_a_feature_that_only_the_other_runner_takes_is_found_at_its_key():
    document = {**HYBRID, "engine": "0.28", "model_runner": "v2", "parallel_config": {"enable_dbo": True}}
    finding = found(document)[0]
    assert finding.path == ("parallel_config", "enable_dbo")
    assert "v2 of vLLM 0.28.0 does not support enable_dbo, but v1 does" in finding.message
    assert found(document, model_runner="v1") == []


def test_the_short_way_hides_no_disagreement(monkeypatch):
    import importlib

    rule = importlib.import_module("kvinspect.linting.rules.kv113_runners_disagree")
    cases = golden.answers("align-v1-0.27.1")
    short = [[f.message for f in found(case["document"])] for case in cases]
    monkeypatch.setattr(rule, "_alike", lambda subject: False)
    assert [[f.message for f in found(case["document"])] for case in cases] == short
    assert any(short)
    assert not all(short)
