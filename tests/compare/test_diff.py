"""`kvinspect.diff`: what is compatible, what is not, and what cannot be judged."""

import copy

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import golden
import kvinspect
from conftest import ROOT

CONFIGS = [path for path in sorted((ROOT / "configs").glob("*.*")) if "kv_cache_config" in path.read_text()]
LLAMA = ROOT / "configs" / "llama-3.1-8b.yaml"


def document(backend="FLASH_ATTN", layers=("l.{0..1}",), num_blocks=8, spec=(), **more):
    plain = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 4, "head_size": 64, "dtype": "bfloat16"}
    group = {"layer_names": list(layers), "backend": backend, "kv_cache_spec": {**plain, **dict(spec)}}
    return {"engine": "0.28", "kv_cache_config": {"num_blocks": num_blocks, "kv_cache_groups": [group]}, **more}


def verdicts(answer):
    return {layer.layer_name: layer.verdict for layer in answer.layers}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.name)
def test_a_document_is_the_same_as_itself(path):
    answer = kvinspect.diff(path, path)
    assert not answer.changes
    assert not any(layer.changes for layer in answer.layers)
    if any(answer.refusals):
        assert answer.compatible is None
    else:
        assert set(verdicts(answer).values()) == {"same"}
        assert answer.compatible is True


def test_k_and_v_apart_become_the_fused_layout():
    answer = kvinspect.diff(LLAMA, engines=("0.25", "0.26"))
    assert answer.compatible is False
    row = answer.to_dict()["layers"][0]
    assert row["changes"]["shape"] == {"a": [1024, 2, 16, 8, 128], "b": [1024, 8, 16, 256]}
    assert row["first_byte"] == {
        "byte": 256,
        "holds": {"region": "K", "token": 0, "head": 1, "element": 0},
        "other_byte": 512,
        "instead": {"region": "V", "token": 0, "head": 0, "element": 0},
    }
    assert kvinspect.diff(LLAMA, engines=("0.26", "0.28")).verdict == "same"


def test_ranks_of_two_and_of_four_hold_other_heads():
    answer = kvinspect.diff(ROOT / "examples" / "prefill-tp2.yaml", ROOT / "examples" / "decode-tp4.yaml")
    assert answer.compatible is False
    assert answer.layers[0].outcome.why == (
        "a rank holds 4 KV heads in A and 2 in B, so blocks must be re-sharded by KV head",
    )
    assert answer.changes["cudagraph_mode"] == ("PIECEWISE", "FULL_DECODE_ONLY")


MLA = {"kind": "mla_attention", "head_size": 576, "num_kv_heads": 1}
ALIKE = [
    ("more blocks", document(num_blocks=9), "same"),
    ("another window", document(spec={"kind": "sliding_window", "sliding_window": 64}), "same"),
    ("another backend of the same layout", document("TRITON_ATTN"), "same"),
    ("another dtype", document(spec={"dtype": "float32"}), "different"),
    ("the same size, another dtype", document(spec={"dtype": "float16"}), "different"),
    ("larger blocks", document(spec={"block_size": 32}), "different"),
    ("fewer heads", document(spec={"num_kv_heads": 2}), "different"),
    ("larger heads", document(spec={"head_size": 128}), "different"),
    ("heads outermost", document(kv_cache_layout="HND"), "different"),
    ("a latent cache", document("TRITON_MLA", spec=MLA), "different"),
    ("padded pages", document(spec={"page_size_padded": 32768}), "moved"),
    ("context parallel", document(parallel_config={"decode_context_parallel_size": 2}), "different"),
    ("an order of the CPU's own", document("CPU_ATTN"), "unknown"),
]


@pytest.mark.parametrize(("what", "other", "verdict"), ALIKE, ids=[what for what, *_ in ALIKE])
def test_what_becomes_of(what, other, verdict):
    answer = kvinspect.diff(document(), other)
    assert answer.verdict == verdict
    assert answer.compatible is {"same": True, "moved": True, "different": False, "unknown": None}[verdict]
    assert all(layer.outcome.why for layer in answer.layers if verdict != "same")


def test_a_renamed_layer_has_no_blocks_on_the_other_side():
    answer = kvinspect.diff(document(), document(layers=["l.0", "m.1"]))
    assert (answer.only_in_a, answer.only_in_b) == (("l.1",), ("m.1",))
    assert answer.renamed == (("l.1", "m.1"),)
    assert answer.compatible is False
    assert kvinspect.diff(document(), document(layers=["l.0"])).only_in_a == ("l.1",)


def test_renamed_layers_with_other_blocks_are_not_said_to_be_renamed():
    answer = kvinspect.diff(document(), document(layers=["m.0", "m.1"], spec={"block_size": 32}))
    assert (answer.renamed, answer.compatible) == ((), False)


def test_packed_allocations_move_the_blocks_and_leave_their_bytes():
    packed = document(layers=["l.0"])
    group = copy.deepcopy(packed["kv_cache_config"]["kv_cache_groups"][0])
    group["layer_names"] = ["l.1"]
    packed["kv_cache_config"]["kv_cache_groups"].append(group)
    page = 16 * 4 * 64 * 2 * 2
    packed["kv_cache_config"]["kv_cache_tensors"] = [
        {"size": 16 * page, "shared_by": [f"l.{i}"], "offset": i * page, "block_stride": 2 * page} for i in (0, 1)
    ]
    answer = kvinspect.diff(document(), packed)
    assert verdicts(answer) == {"l.0": "moved", "l.1": "moved"}
    assert answer.compatible is True
    assert answer.layers[1].outcome.why == (
        f"block 0 begins at byte 0 of A's allocation and at byte {page} of B's",
        f"blocks are {page} bytes apart in A and {2 * page} in B",
    )


def test_k_of_all_blocks_before_v_moves_with_the_number_of_blocks():
    rocm = {"backend": "ROCM_ATTN", "platform": "rocm"}
    answer = kvinspect.diff(document(**rocm), document(**rocm, num_blocks=9))
    assert verdicts(answer) == {"l.0": "moved", "l.1": "moved"}
    assert answer.layers[0].outcome.why == ("the 2 runs of a block are further apart on one side",)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (("cuda", "fp8"), ("cuda", "fp8_e4m3"), True),
        (("cuda", "fp8"), ("cuda", "fp8_e5m2"), False),
        (("cuda", "fp8"), ("rocm", "fp8"), False),
    ],
)
def test_a_byte_is_what_the_cache_dtype_and_the_device_make_of_it(a, b, same):
    def quantised(platform, dtype):
        spec = {"dtype": "uint8", "kv_quant_mode": "FP8_PER_TENSOR"}
        return document("TRITON_ATTN", spec=spec, platform=platform, cache_dtype=dtype)

    assert kvinspect.diff(quantised(*a), quantised(*b)).compatible is same


def test_one_head_a_rank_may_be_another_head():
    few, many = (document(spec={"num_kv_heads": 1}, parallel_config={"tensor_parallel_size": n}) for n in (4, 8))
    assert kvinspect.diff(few, many).compatible is None
    latent = [document("TRITON_MLA", spec=MLA, parallel_config={"tensor_parallel_size": n}) for n in (4, 8)]
    assert kvinspect.diff(*latent).verdict == "same"


def test_a_layer_that_shares_another_ones_cache():
    shared = document(layers=["l.0", "l.1"], shared_kv_cache_layers={"l.1": "l.0"})
    answer = kvinspect.diff(document(), shared)
    assert verdicts(answer) == {"l.0": "same", "l.1": "different"}
    assert answer.layers[1].outcome.why == ("the layer uses its own cache in A and l.0 in B",)
    assert kvinspect.diff(shared, shared).verdict == "same"


@pytest.mark.parametrize("content", ["2*head_size", "head_size * 2"])
def test_a_dim_of_one_and_the_order_of_factors_say_nothing(content):
    answer = kvinspect.diff(out_of_tree("num_blocks", 1, "block_size", "num_kv_heads", content), document())
    assert answer.verdict == "same"


def test_content_that_does_not_tell_k_from_v_is_not_compared_with_what_does():
    answer = kvinspect.diff(out_of_tree("num_blocks", "block_size", "num_kv_heads", 128), document())
    assert answer.layers[0].outcome == ("unknown", ("the shape of NPU does not tell K from V",), None, None)


def out_of_tree(*shape):
    return document("NPU", backends={"NPU": {"kv_cache_shape": list(shape)}})


@pytest.mark.parametrize(
    "shape",
    [
        ("num_blocks", "2*block_size", "num_kv_heads", "head_size"),
        ("num_blocks", "block_size*num_kv_heads", "2*head_size"),
        ("num_blocks", 2, "num_kv_heads", "head_size*block_size"),
    ],
)
def test_a_shape_that_does_not_tell_its_dims_is_not_judged(shape):
    answer = kvinspect.diff(out_of_tree(*shape), out_of_tree(*shape))
    assert answer.compatible is None
    assert "NPU" in answer.layers[0].outcome.why[0]


def test_a_refused_cache_is_not_judged():
    answer = kvinspect.diff(ROOT / "configs" / "whisper-large-v3-rocm.yaml", engines=("0.25", "0.27"))
    assert (answer.compatible, answer.changes["decision"]) == (None, ("restrided", "refused"))


def test_planning_documents_are_planned_and_their_capacity_compared():
    def planned(memory, block_size=16):
        spec = document(spec={"block_size": block_size})["kv_cache_config"]["kv_cache_groups"][0]["kv_cache_spec"]
        specs = {"l.{0..3}": {**spec, "backend": "FLASH_ATTN"}}
        return {"engine": "0.27", "kv_cache_specs": specs, "available_memory": [memory]}

    more = kvinspect.diff(planned(1 << 30), planned(1 << 31))
    assert more.verdict == "same"
    assert more.changes["num_blocks"] == (16384, 32768)
    assert more.changes["num_tokens"][1] == 2 * more.changes["num_tokens"][0]
    assert kvinspect.diff(planned(1 << 30), planned(1 << 30, 32)).compatible is False
    assert kvinspect.diff(planned(1 << 30), planned(1)).compatible is None


def test_what_is_asked_for():
    with pytest.raises(ValueError, match="with itself"):
        kvinspect.diff(LLAMA)
    with pytest.raises(ValueError, match="not 3"):
        kvinspect.diff(LLAMA, engines=("0.25", "0.26", "0.27"))
    assert [kvinspect.diff(LLAMA, engines=("0.26",)).a.engine, kvinspect.diff(LLAMA, engines=("0.26",)).b.engine] == [
        "0.28",
        "0.26",
    ]
    both = kvinspect.diff(LLAMA, LLAMA, engines=("0.26",))
    assert (both.a.engine, both.b.engine) == ("0.26", "0.26")


BACKENDS = ["FLASH_ATTN", "TRITON_ATTN", "FLASHINFER", "FLEX_ATTENTION", "ROCM_ATTN", "HPC_ATTN", "FLASH_ATTN_DIFFKV"]


@settings(max_examples=60)
@given(st.sampled_from(BACKENDS), st.sampled_from(BACKENDS), *[st.sampled_from(["0.25", "0.26", "0.27", "0.28"])] * 2)
def test_it_does_not_matter_which_side_is_which(backend, other, engine, another):
    a, b = document(backend), document(other)
    there = kvinspect.diff({**a, "engine": engine}, {**b, "engine": another})
    back = kvinspect.diff({**b, "engine": another}, {**a, "engine": engine})
    assert verdicts(there) == verdicts(back)
    assert {key: pair[::-1] for key, pair in there.changes.items()} == dict(back.changes)


KV_FIRST = {"NPU": {"kv_cache_shape": [2, "num_blocks", "block_size", "num_kv_heads", "head_size"]}}
FP8 = {"dtype": "uint8", "kv_quant_mode": "FP8_PER_TENSOR"}
PAGES = {"kind": "mla_attention", "num_kv_heads": 1, "head_size": 576, "dtype": "bfloat16"}
REPORTS = [
    # The connector's kernels take K/V-first allocations; the same bytes lie elsewhere, in two runs instead of one.
    (
        "lmcache-flashinfer-triton-random-tokens",
        "0.25",
        document("FLASHINFER"),
        "moved",
        "a block lies in 2 runs in A and in one run in B",
    ),
    (
        "lmcache-flashinfer-triton-random-tokens",
        "0.25",
        document("TRITON_ATTN"),
        "moved",
        "a block lies in 2 runs in A and in one run in B",
    ),
    ("lmcache-flashinfer-triton-random-tokens", "0.26", document("TRITON_ATTN"), "different", "byte 128 of a block"),
    ("lmcache-fp8-block-first", "0.25", document("FLASHINFER", spec=FP8, cache_dtype="fp8"), "different", "float8"),
]


@pytest.mark.parametrize(("report", "engine", "found", "verdict", "why"), REPORTS)
def test_what_people_reported_of_connectors(report, engine, found, verdict, why):
    assert report in {case["id"] for case in yaml.safe_load((ROOT / "tests/cases/reports.yaml").read_text())}
    expected = document("NPU", backends=KV_FIRST)
    answer = kvinspect.diff(expected, found, engines=("0.25", engine))
    assert answer.verdict == verdict
    assert why in "; ".join(answer.layers[0].outcome.why)


def test_a_prefill_side_with_larger_pages():
    """Report sglang-fa4-128-vs-trtllm-mla-64, in this engine's words."""
    sides = [document("TRITON_MLA", spec={**PAGES, "block_size": size}) for size in (128, 64)]
    answer = kvinspect.diff(*sides)
    assert answer.layers[0].outcome.why == ("a block is 128 tokens in A and 64 in B",)


def test_scales_of_a_block_apart_from_its_data_are_not_judged():
    """Report nvfp4-kv-hnd-vs-nhd: where the scales are hangs on the layout, and the shape does not show it."""
    spec = {"dtype": "uint8", "kv_quant_mode": "NVFP4"}
    sides = [
        document("FLASHINFER", spec=spec, cache_dtype="nvfp4", kv_cache_layout=layout) for layout in ("HND", "NHD")
    ]
    assert kvinspect.diff(*sides).compatible is None
    assert kvinspect.diff(sides[0], sides[0]).verdict == "same"


def test_an_order_of_the_kernels_own_is_known_to_be_the_same_within_a_release_alone():
    cpu = document("CPU_ATTN", platform="cpu")
    assert kvinspect.diff(cpu, cpu).verdict == "same"
    answer = kvinspect.diff(cpu, engines=("0.27", "0.28"))
    assert answer.layers[0].outcome.why == (
        "CPU_ATTN of vLLM 0.27 orders a block by the instruction set of the CPU, which its shape does not show",
    )


@pytest.mark.parametrize("release", ["0.25.1", "0.27.1", "0.28.0"])
def test_every_golden_document_is_the_same_as_itself_or_not_judged(release):
    judged = 0
    for case in golden.answers(f"align-{release}"):
        try:
            answer = kvinspect.diff(case["document"], case["document"])
        except kvinspect.DocumentError:
            continue
        assert set(verdicts(answer).values()) <= {"same", "unknown"}
        judged += answer.compatible is True
    assert judged > 100


def test_the_standardised_layouts_move_the_fused_blocks_and_leave_their_bytes():
    answer = kvinspect.diff(LLAMA, engines=("0.28", "0.33"))
    assert [layer.verdict for layer in answer.layers] == ["same", *["moved"] * 31]
    assert answer.compatible is True
    apart = kvinspect.diff(LLAMA, engines=("0.25", "0.33"))
    assert (apart.compatible, apart.layers[31].outcome.first_byte.byte) == (False, 256)


def test_the_interior_of_a_standardised_paged_block_is_not_told():
    rocm = {**document("ROCM_ATTN", platform="rocm"), "engine": "0.33"}
    assert kvinspect.diff(rocm, rocm).verdict == "same"
    assert kvinspect.diff(rocm, engines=("0.28",)).compatible is None
    assert kvinspect.diff(rocm, engines=("0.29",)).compatible is None


@pytest.mark.parametrize("release", ["0.28", "0.33"])
def test_layers_alike_are_judged_once_wherever_they_begin_and_each_side_is_built_once(release, monkeypatch):
    from kvinspect.compare import layers
    from kvinspect.engine import chain

    judged, built = [], []
    one, build = layers._from_byte_0, chain.specs
    monkeypatch.setattr(layers, "_from_byte_0", lambda a, b: judged.append(a.name) or one(a, b))
    monkeypatch.setattr(chain, "specs", lambda given: built.append(given) or build(given))
    a, b = (document(layers=[f"{name}.{{0..299}}"], engine=release) for name in ("l", "m"))
    answer = kvinspect.diff(a, b, engines=[release])
    assert (len(judged), len(built), len(answer.renamed)) == (1, 2, 300)


@pytest.mark.parametrize("release", ["0.29", "0.33"])
def test_a_layer_behind_another_one_is_moved_by_its_own_bytes(release):
    """0.29 on lays the layers one behind the other, so that more layers in front move each by as much."""
    a, b = (document(layers=names, engine=release) for names in (["l.{0..3}"], ["x.{0..1}", "l.{0..3}"]))
    answer = kvinspect.diff(a, b, engines=[release])
    page = answer.layers[0].outcome.lies[1].offset
    assert page > 0
    for number, layer in enumerate(answer.layers):
        lies = layer.outcome.lies
        assert lies[1].offset - lies[0].offset == page
        assert lies[0].offset == number * page // 2
        assert layer.verdict == "moved"
        assert layer.outcome.why[0] == (
            f"block 0 begins at byte {lies[0].offset} of A's allocation and at byte {lies[1].offset} of B's"
        )


def packed(backend="TRITON_ATTN", engine="0.25.1"):
    """Two groups on one packed allocation, whose views 0.25 permutes from another order than it makes them in."""
    spec = {"block_size": 16, "num_kv_heads": 2, "head_size": 64, "dtype": "float16"}
    window = {"kind": "sliding_window", "sliding_window": 128, **spec}
    groups = [
        {"layer_names": ["a.0", "a.1"], "backend": backend, "kv_cache_spec": window},
        {"layer_names": ["b.0"], "backend": "FLASHINFER", "kv_cache_spec": {"kind": "cross_attention", **spec}},
    ]
    tensors = [
        {"size": 32768, "shared_by": ["a.0", "b.0"], "offset": 0, "block_stride": 16384},
        {"size": 32768, "shared_by": ["a.1"], "offset": 8192, "block_stride": 16384},
    ]
    cache = {"num_blocks": 2, "kv_cache_groups": groups, "kv_cache_tensors": tensors}
    return {"engine": engine, "platform": "cuda", "device_capability": "10.0", "kv_cache_config": cache}


def test_blocks_made_and_read_in_the_same_way_are_the_same_though_nobody_knows_what_lies_where():
    assert kvinspect.align(packed()).sound
    assert kvinspect.diff(packed(), packed()).verdict == "same"


def test_dims_that_are_not_what_a_backend_takes_them_for_are_told():
    first, *_ = kvinspect.diff(packed(), packed(engine="0.26")).layers
    assert first.outcome.why == (
        "vLLM 0.25 permutes the packed view of TRITON_ATTN from another order than it is allocated in, "
        "so the backend misreads its dims",
    )
