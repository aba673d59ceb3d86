"""The planner beyond the golden answers: what differs between releases, workers, lengths left to the engine, costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvinspect
from kvinspect.planning.inspection import inspection_document

RELEASES = ("0.25", "0.26", "0.27", "0.28")
GIB = 1 << 30


def full(**more):
    return {
        "kind": "full_attention",
        "block_size": 16,
        "num_kv_heads": 8,
        "head_size": 128,
        "dtype": "bfloat16",
        **more,
    }


def window(size=1024, **more):
    return {**full(), "kind": "sliding_window", "sliding_window": size, **more}


def states(elements, **more):
    return {"kind": "mamba", "block_size": 16, "shapes": [[elements]], "dtypes": ["bfloat16"], **more}


def plan(specs, memory=GIB, engine="0.27", longest=4096, **more):
    memory = memory if isinstance(memory, list) else [memory]
    model = {"max_model_len": longest, **more.pop("model_config", {})}
    return kvinspect.plan(
        {"engine": engine, "kv_cache_specs": specs, "available_memory": memory, "model_config": model, **more}
    )


def test_a_dense_model_has_one_group_and_a_tensor_a_layer():
    answer = plan({"l.{0..61}": full()}, 13494669312).to_dict()
    assert (answer["num_blocks"], answer["num_blocks"] * 16) == (3321, 53136)
    assert [tensor["shared_by"] for tensor in answer["kv_cache_tensors"]][-1] == ["l.61"]
    assert answer["request"]["bytes_per_token"] == 253952


@pytest.mark.parametrize("release", RELEASES)
def test_layers_are_dealt_out_in_turn_to_groups_of_the_rarest_kind(release):
    answer = plan({"f.{0..1}": full(), "w.{0..4}": window()}, engine=release)
    assert [group.layer_names for group in answer.groups] == [
        ("f.0", "f.1"),
        ("w.0", "w.3"),
        ("w.1", "w.4"),
        ("w.2",),
    ]
    assert answer.grouping.padding == ((1, 5),)


def test_kinds_nearly_as_many_share_groups_as_large_as_the_commonest():
    answer = plan({"f.{0..12}": full(), "w.{0..11}": window()})
    assert [len(group.layer_names) for group in answer.groups] == [13, 12]


def test_from_0_27_on_specs_that_merge_are_one_kind():
    specs = {"a.0": full(), "b.0": full(sliding_window=512), "w.{0..1}": window()}
    assert [len(plan(specs, engine=release).groups) for release in RELEASES] == [4, 4, 2, 2]


@pytest.mark.parametrize(("release", "outcome"), [("0.25", "AssertionError"), ("0.26", None)])
def test_pages_of_states_are_padded_from_0_26_on(release, outcome):
    refusal = plan({"f.0": full(), "s.0": states(16384)}, engine=release).refusal
    assert (refusal and refusal.type) == outcome


def test_a_page_that_cannot_grow_stops_the_engine_and_one_that_is_read_by_stride_is_padded():
    odd = {"f.0": full(), "w.0": window(head_size=96)}
    assert plan(odd).refusal.type == "NotImplementedError"
    padded = {"f.0": full(), "w.0": window(head_size=96, indexes_kv_by_block_stride=True)}
    assert [group.page_size_bytes for group in plan(padded).groups] == [65536, 65536]


def test_the_smallest_worker_decides_and_stages_hold_their_own_layers():
    answer = plan({"l.{0..9}": full()}, [GIB, GIB], worker_layers=[["l.{0..5}"], ["l.{6..9}"]]).to_dict()
    assert [worker["num_layers"] for worker in answer["workers"]] == [6, 4]
    assert [worker["num_blocks_alone"] for worker in answer["workers"]] == [2730, 4096]
    assert answer["num_blocks"] == 2730
    assert len(answer["kv_cache_tensors"]) == 6


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([["l.0"]], "names the layers of 1 worker, and available_memory has 2 entries"),
        ([["l.0"], ["l.7"]], "the layer l.7 has no spec"),
    ],
)
def test_workers_that_do_not_fit_are_an_error_of_the_document(layers, message):
    with pytest.raises(kvinspect.DocumentError, match=message):
        plan({"l.{0..1}": full()}, [GIB, GIB], worker_layers=layers)


def test_a_layer_with_two_specs_is_an_error_of_the_document():
    with pytest.raises(kvinspect.DocumentError, match=r"l\.1 has a spec already"):
        plan({"l.{0..1}": full(), "l.1": full()})


def test_memory_that_does_not_hold_one_request_names_the_longest_that_fits():
    answer = plan({"l.0": full()}, 100 * 65536)
    assert answer.refusal.type == "ValueError"
    assert "the longest request that fits has 1,600 tokens" in answer.refusal.text
    assert plan({"l.0": full()}, 0).refusal.text == "no memory is left for the KV cache"


def test_a_length_left_to_the_engine_is_the_longest_that_fits():
    answer = plan({"l.0": full()}, 100 * 65536, model_config={"original_max_model_len": -1})
    assert answer.to_dict()["max_model_len"] == 1600
    assert answer.capacity.max_concurrency == 1.0


def test_an_override_of_the_blocks_needs_no_memory():
    answer = plan({"l.0": full()}, 1, num_gpu_blocks_override=300).to_dict()
    assert (answer["num_blocks"], answer["workers"][0]["bytes_per_block"]) == (300, 65536)


def test_decode_ranks_share_full_attention_and_no_window():
    shared = {"parallel_config": {"decode_context_parallel_size": 8}}
    assert plan({"l.0": full()}, **shared).groups[0].blocks_per_request == 32
    assert plan({"w.0": window()}, **shared).refusal.type == "AssertionError"


def test_prefill_ranks_share_tokens_in_0_25_alone():
    shared = {"parallel_config": {"prefill_context_parallel_size": 2}}
    held = [plan({"l.0": full()}, engine=r, **shared).groups[0].blocks_per_request for r in RELEASES]
    assert held == [128, 256, 256, 256]


def test_batches_in_flight_widen_windows_from_0_26_on():
    busy = {"scheduler_config": {"max_num_batched_tokens": 512, "max_concurrent_batches": 2}}
    held = [plan({"w.0": window()}, engine=r, longest=1 << 20, **busy).groups[0].blocks_per_request for r in RELEASES]
    assert held == [97, 129, 129, 129]


def test_a_layer_without_a_manager_is_refused():
    assert "no block manager" in plan({"e.0": {**full(), "kind": "encoder_only_attention"}}).refusal.text


def test_no_layer_needs_no_memory():
    answer = plan({}).to_dict()
    assert (answer["num_blocks"], answer["num_tokens"], answer["error"]) == (1, None, None)


@given(
    layers=st.integers(1, 12),
    heads=st.sampled_from([1, 2, 8]),
    memory=st.integers(0, 1 << 28),
    longest=st.integers(1, 9999),
)
def test_blocks_fill_the_memory_and_a_request_costs_what_it_holds(layers, heads, memory, longest):
    answer = plan({f"l.{{0..{layers - 1}}}": full(num_kv_heads=heads)}, memory, longest=longest)
    if answer.refusal:
        assert memory < -(-longest // 16) * 16 * layers * heads * 512
        return
    worker, cost = answer.workers[0], answer.capacity.cost
    assert 0 <= memory - answer.num_blocks * worker.bytes_per_block < worker.bytes_per_block
    assert sum(tensor.size for tensor in worker.tensors) == answer.num_blocks * worker.bytes_per_block
    assert cost.bytes_per_token * 16 == worker.bytes_per_block
    assert answer.capacity.max_concurrency >= 1


@pytest.mark.parametrize("release", RELEASES)
def test_the_document_of_a_plan_is_placed_as_planned(release):
    document = {
        "engine": release,
        "kv_cache_specs": {
            "f.{0..1}": {**full(), "backend": "FLASH_ATTN"},
            "w.{0..4}": {**window(), "backend": "TRITON_ATTN"},
        },
        "available_memory": [GIB],
    }
    answer = kvinspect.plan(document)
    aligned = kvinspect.align(inspection_document(answer)).to_dict()
    assert [(t["size"], t["shared_by"]) for t in aligned["tensors"]] == [
        (t["size"], t["shared_by"]) for t in answer.to_dict()["kv_cache_tensors"]
    ]
    assert {layer["backend"] for layer in aligned["layers"]} == {"FLASH_ATTN", "TRITON_ATTN"}
    assert aligned["sound"] is True


@pytest.mark.parametrize(
    ("release", "outcome"), [("0.25", "AssertionError"), ("0.28", "AssertionError"), ("0.33", None)]
)
def test_a_layer_that_no_group_takes_stops_the_engine_after_its_memory_was_found_enough(release, outcome):
    latent = {"block_size": 16, "num_kv_heads": 1, "head_size": 512, "dtype": "bfloat16"}
    specs = {
        "w.0": {"kind": "sliding_window_mla", "sliding_window": 128, **latent},
        "l.0": {"kind": "mla_attention", **latent},
        "f.0": full(num_kv_heads=1),
    }
    refusal = plan(specs, engine=release).refusal
    assert (refusal and refusal.type, refusal and refusal.function) == (outcome, outcome and "get_kv_cache_configs")
    small = plan(specs, 10_000, engine=release).refusal
    assert small.type == "ValueError"


@pytest.mark.parametrize(
    ("release", "kind"), [("0.27", "mla_attention"), ("0.28", "uniform_type"), ("0.33", "uniform_type")]
)
def test_latents_with_a_value_size_of_their_own_are_no_one_spec_from_0_28_on(release, kind):
    latent = {"kind": "mla_attention", "block_size": 64, "num_kv_heads": 1, "head_size": 512, "dtype": "bfloat16"}
    assert (
        plan({"l.0": {**latent, "head_size_v": 64}}, engine=release).to_dict()["groups"][0]["kv_cache_spec"]["kind"]
        == kind
    )


def test_a_window_over_latents_hands_no_size_of_v_on():
    latent = {"kind": "sliding_window_mla", "block_size": 64, "num_kv_heads": 1, "head_size": 576, "dtype": "float16"}
    document = {
        "engine": "0.33",
        "kv_cache_specs": {"a.0": {**latent, "sliding_window": 128, "head_size_v": 64}},
        "available_memory": [149225472],
        "model_config": {"max_model_len": 4096, "num_attention_heads": 8},
    }
    assert kvinspect.plan(document).to_dict()["groups"][0]["kv_cache_spec"]["page_size_bytes"] == 73728


def test_pages_in_different_numbers_can_leave_a_group_without_layers():
    window = {
        "kind": "sliding_window_mla",
        "block_size": 64,
        "num_kv_heads": 1,
        "dtype": "float16",
        "sliding_window": 128,
    }
    latent = {"kind": "mla_attention", "block_size": 64, "num_kv_heads": 1, "head_size": 128, "dtype": "float16"}
    document = {
        "engine": "0.33",
        "kv_cache_specs": {
            "a.{0..6}": {**window, "head_size": 512},
            "b.0": {**window, "head_size": 128, "state_content_bytes": 64},
            "c.{0..6}": {**latent, "alignment": 1024},
        },
        "available_memory": [1226833921],
        "kv_cache_layout": "BLNHC",
        "model_config": {"max_model_len": 1000, "num_attention_heads": 8},
    }
    refusal = kvinspect.plan(document).refusal
    assert (refusal.type, refusal.function) == ("StopIteration", "is_uniform_type")


@pytest.mark.parametrize(("states", "stops"), [(1, False), (2, True)])
def test_layers_with_sinks_hand_no_tokens_per_state_on(states, stops):
    sink = {"kind": "SinkFullAttentionSpec", "block_size": 16, "num_kv_heads": 3, "head_size": 256, "dtype": "float16"}
    window = {**sink, "kind": "SlidingWindowSpec", "sliding_window": 1000}
    document = {
        "engine": "0.33",
        "kv_cache_specs": {"a.{0..1}": {**sink, "tokens_per_state": states}, "b.{0..1}": window},
        "available_memory": [1 << 30],
        "model_config": {"max_model_len": 512, "num_attention_heads": 32},
    }
    refusal = kvinspect.plan(document).refusal
    assert (refusal is not None and refusal.function == "merge") == stops


EMPTY_PAGE = {
    "kv_cache_specs": {
        "l.0": {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype": "bfloat16",
                "tokens_per_state": 1024},
        "l.{1..3}": {"kind": "chunked_local_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128,
                     "dtype": "bfloat16", "attention_chunk_size": 8192},
    },
    "available_memory": [1 << 30],
}  # fmt: skip


def test_an_empty_page_stops_the_engine_where_it_divides_by_it():
    refusal = kvinspect.plan(EMPTY_PAGE).refusal
    assert (refusal.type, refusal.function) == ("ZeroDivisionError", "unify_kv_cache_spec_page_size")


def test_memory_of_no_worker():
    with pytest.raises(kvinspect.DocumentError, match="available_memory: expected bytes for at least one worker"):
        kvinspect.plan({**EMPTY_PAGE, "available_memory": []})
