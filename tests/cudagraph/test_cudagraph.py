"""CUDA graph support: narrowing, what a backend answers, the mode that comes out, and advice that holds."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvinspect
from conftest import ROOT
from kvinspect import AttentionCGSupport, AttentionCGSupportInfo, CUDAGraphMode
from kvinspect.cudagraph.advice import Decided, advise
from kvinspect.cudagraph.capture import (
    Batches,
    capture_sizes,
    captured,
    decodes_of_all,
    decodes_of_several_tokens,
)
from kvinspect.cudagraph.decide import decide
from kvinspect.cudagraph.resolve import Request, resolve
from kvinspect.cudagraph.running import mode_of
from kvinspect.document.model import CompilationEntry
from kvinspect.document.refusal import Refused
from kvinspect.engine.chain import Stages
from kvinspect.releases import lookup

levels = st.sampled_from(AttentionCGSupport)
groups = st.lists(st.tuples(levels, st.sampled_from(["A", "B", "C"])), max_size=6)
requests = st.builds(
    Request,
    mode=st.sampled_from(CUDAGraphMode),
    vllm_compile=st.booleans(),
    splits_attention=st.booleans(),
    inductor_partition=st.booleans(),
    query_len=st.integers(1, 4),
    state_blocks=st.none() | st.integers(1, 8),
    max_num_seqs=st.integers(1, 8),
)


def folded(members):
    info = AttentionCGSupportInfo()
    for support, backend in members:
        info = info.narrow(support, backend)
    return info


def test_an_info_begins_with_everything_and_nobody():
    assert AttentionCGSupportInfo() == (AttentionCGSupport.ALWAYS, None)
    assert [level.value for level in AttentionCGSupport] == [0, 1, 2, 3]


def test_an_info_cannot_be_changed():
    with pytest.raises(AttributeError):
        AttentionCGSupportInfo().min_cg_support = AttentionCGSupport.NEVER


@given(levels, groups)
def test_narrowing_is_idempotent(level, members):
    once = folded(members).narrow(level, "X")
    assert once.narrow(level, "Y") is once


@given(groups)
def test_the_level_hangs_on_no_order_and_the_name_is_the_first_with_it(members):
    for order in list(permutations(members))[:24]:
        info = folded(order)
        assert info.min_cg_support == min((level for level, _ in members), default=AttentionCGSupport.ALWAYS)
        first = next((name for level, name in order if level is info.min_cg_support), None)
        narrowed = info.min_cg_support is not AttentionCGSupport.ALWAYS
        assert info.min_cg_attn_backend == (first if narrowed else None)


@given(requests, levels)
def test_what_comes_out_is_supported_and_comes_out_again(request, level):
    info = AttentionCGSupportInfo(level, "X")
    found = resolve(request, info)
    assert (found.mode is None) == (found.error is not None)
    if found.mode is None:
        return
    assert not found.mode.full_mixed or level is AttentionCGSupport.ALWAYS
    assert not found.mode.full_decode or level is not AttentionCGSupport.NEVER
    assert not found.mode.full_decode or request.query_len == 1 or level >= AttentionCGSupport.UNIFORM_BATCH
    assert resolve(request._replace(mode=found.mode), info) == (found.mode, (), None)
    assert [step.source for step in found.steps[1:]] == [step.target for step in found.steps[:-1]]


@given(requests)
def test_nothing_is_lowered_where_everything_is_supported(request):
    found = resolve(request._replace(state_blocks=None), AttentionCGSupportInfo())
    assert found == (request.mode, (), None)


def document(**changes):
    spec = {"kind": "full_attention", "block_size": 64, "num_kv_heads": 8, "head_size": 128, "dtype": "bfloat16"}
    group = {"layer_names": ["l.{0..3}"], "backend": "FLASHINFER", "kv_cache_spec": spec}
    return {
        "engine": "0.27",
        "kv_cache_config": {"num_blocks": 64, "kv_cache_groups": [group]},
        "model_config": {"num_attention_heads": 32},
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "support", "why"),
    [
        ({"device_capability": "9.0"}, "UNIFORM_SINGLE_TOKEN_DECODE", "compute capability 9.0"),
        ({"device_capability": "10.0"}, "UNIFORM_BATCH", "TRT-LLM kernels available"),
        ({"device_capability": "12.0"}, "UNIFORM_SINGLE_TOKEN_DECODE", "here: compute capability 12.x"),
        (
            {"device_capability": "10.0", "model_config": {"num_attention_heads": 17}},
            "UNIFORM_SINGLE_TOKEN_DECODE",
            "here: query heads do not divide by KV heads",
        ),
        (
            {"device_capability": "10.0", "attention_config": {"use_trtllm_attention": False}},
            "UNIFORM_SINGLE_TOKEN_DECODE",
            "here: use_trtllm_attention is false",
        ),
        (
            {"device_capability": "10.0", "attention_config": {"use_non_causal": True}},
            "UNIFORM_SINGLE_TOKEN_DECODE",
            "here: attention is not causal",
        ),
    ],
)
def test_flashinfer_hangs_on_the_device_the_heads_and_trtllm(changes, support, why):
    level = kvinspect.cg_support(document(**changes)).decision.groups[0].level
    assert level.support.name == support
    assert why in level.why


@pytest.mark.parametrize(
    ("written", "capability", "support"),
    [
        (None, "9.0", "ALWAYS"), (None, "10.0", "UNIFORM_BATCH"), (None, "8.0", "UNIFORM_BATCH"), (2, "9.0", "UNIFORM_BATCH"),
        (3, "9.0", "ALWAYS"), (3, "10.0", "UNIFORM_BATCH"), (4, "9.0", "UNIFORM_BATCH"),
    ],
)  # fmt: skip
def test_flash_attn_hangs_on_its_version(written, capability, support):
    made = document(device_capability=capability, attention_config={"flash_attn_version": written})
    made["kv_cache_config"]["kv_cache_groups"][0]["backend"] = "FLASH_ATTN"
    assert kvinspect.cg_support(made).decision.groups[0].level.support.name == support


def test_what_is_open_is_named_with_every_answer():
    made = document(speculative_config={"num_speculative_tokens": 2})
    del made["model_config"]
    answer = kvinspect.cg_support(made)
    found = {fact.fact: {case.value: case.resolution.mode.name for case in fact.cases} for fact in answer.open}
    assert set(found) == {"device_capability", "q_heads_divisible", "trtllm_kernels"}
    assert found["device_capability"]["10.0"] == "FULL_AND_PIECEWISE"
    assert found["device_capability"]["9.0"] == "PIECEWISE"
    cases = [case.to_dict() for case in answer.decision.groups[0].level.cases]
    assert cases[-1] == {"if": {}, "support": "UNIFORM_SINGLE_TOKEN_DECODE"}
    assert cases[-2]["if"] == {"capability_family": 10, "q_heads_divisible": True, "trtllm_kernels": True}


def test_what_is_written_is_not_open():
    answer = kvinspect.cg_support(document(device_capability="9.0"))
    assert answer.open == ()


def test_encoder_layers_count_where_the_release_counts_them():
    spec = {
        "kind": "encoder_only_attention",
        "block_size": 64,
        "num_kv_heads": 8,
        "head_size": 128,
        "dtype": "bfloat16",
    }
    encoder = [{"backend": "FLASH_ATTN", "layer_names": ["e.{0..1}"], "kv_cache_spec": spec}]
    made = document(device_capability="8.0", encoder_attention_groups=encoder)
    made["kv_cache_config"]["kv_cache_groups"][0]["backend"] = "TRITON_ATTN"
    after = kvinspect.cg_support(made)
    before = kvinspect.cg_support(made, engine="0.26")
    assert after.decision.info == (AttentionCGSupport.UNIFORM_BATCH, "FlashAttentionBackend")
    assert before.decision.info == (AttentionCGSupport.ALWAYS, None)
    assert before.decision.groups[-1].counts is False


def changed(name, **sections):
    loaded = kvinspect.load(ROOT / "configs" / name)
    fields = {section: replace(getattr(loaded.model, section), **values) for section, values in sections.items()}
    return loaded._replace(model=replace(loaded.model, **fields))


@pytest.mark.parametrize(
    ("name", "sections"),
    [
        ("llama-3.1-8b-eagle3.yaml", {}),
        ("llama-3.1-8b-eagle3.yaml", {"compilation_config": {"cudagraph_mode": "FULL"}}),
        ("qwen3-next-80b-a3b-256-seqs.yaml", {}),
        ("llama-4-maverick-tp8.yaml", {"compilation_config": {"cudagraph_mode": "FULL"}}),
        ("deepseek-v3.yaml", {"compilation_config": {"mode": "NONE"}}),
    ],
)
def test_advice_holds_when_it_is_followed(name, sections):
    made = changed(name, **sections)
    answer = kvinspect.cg_support(made)
    assert answer.advice
    assert not answer.as_requested
    release = lookup.release(answer.setting.release)
    for advice in answer.advice:
        assert mode_of(Stages(advice.change.document, release), release.graphs) is advice.mode


def test_another_backend_is_advised_only_where_it_fits_and_its_views_are_sound():
    answer = kvinspect.cg_support(ROOT / "configs" / "llama-3.1-8b-eagle3.yaml")
    backends = [advice.change for advice in answer.advice if advice.change.key.endswith("backend")]
    assert [change.target for change in backends] == ["FLASH_ATTN", "TRITON_ATTN", "FLEX_ATTENTION"]
    assert all(
        "head size 128, block size 32, bfloat16" in change.checked and "sound" in change.checked for change in backends
    )
    tokens = [advice.change for advice in answer.advice if "speculative" in advice.change.key]
    assert [(change.source, change.target) for change in tokens] == [(3, 0)]


def test_nothing_is_advised_where_the_request_comes_out():
    made = kvinspect.load(ROOT / "configs" / "gpt-oss-20b.yaml")
    answer = kvinspect.cg_support(made)
    assert answer.as_requested
    release = lookup.release(answer.setting.release)
    cache = Stages(made, release)
    asked = Decided(cache, release.graphs, answer.setting, decide(cache, release.graphs))
    assert advise(asked) == ()


def test_the_configuration_speaks_first():
    answer = kvinspect.cg_support(changed("gpt-oss-20b.yaml", compilation_config={"mode": "NONE"}))
    assert answer.resolution.mode is CUDAGraphMode.FULL_AND_PIECEWISE
    assert answer.running.mode is CUDAGraphMode.NONE
    assert answer.to_dict()["at_start_up"]["resolved_mode"] == "NONE"


def compilation(**fields):
    return replace(kvinspect.load(document()).model.compilation_config, **fields)


def test_default_capture_sizes():
    sizes = capture_sizes(compilation(), Batches(256, 8192, 1), 512)
    assert sizes[:5] == (1, 2, 4, 8, 16)
    assert (sizes[-1], len(sizes)) == (512, 51)
    assert capture_sizes(compilation(), Batches(3, 8192, 1), 512) == (1, 2, 4)
    assert capture_sizes(compilation(), Batches(256, 100, 1), 512)[-1] == 100


def test_capture_sizes_that_contradict_each_other_are_refused():
    written = compilation(cudagraph_capture_sizes=[1, 8], max_cudagraph_capture_size=16)
    with pytest.raises(Refused):
        capture_sizes(written, Batches(256, 8192, 1), 512)
    answer = kvinspect.cg_support(
        document(compilation_config={"cudagraph_capture_sizes": [1, 8], "max_cudagraph_capture_size": 16})
    )
    assert (answer.clean, answer.resolution.error) == (False, None)


def test_decodes_are_captured_in_whole_sequences():
    graphs = captured(CUDAGraphMode.FULL_AND_PIECEWISE, (1, 2, 4, 8, 16), Batches(3, 8192, 3))
    assert graphs.decode == (3, 6, 9)
    assert graphs.mixed == (1, 2, 4, 8, 16)
    assert captured(CUDAGraphMode.FULL_DECODE_ONLY, (1, 8), Batches(8, 99, 1)).mixed == ()
    assert captured(CUDAGraphMode.FULL, (1, 8), Batches(8, 99, 1)) == ((1, 8), (), (1, 8))


def test_the_table_has_every_backend_of_the_release():
    table = kvinspect.cg_support_table(engine="0.28")
    rows = {row["backend"]: row for row in table.to_dict()["backends"]}
    assert rows["TRITON_ATTN"]["support"] == "ALWAYS"
    assert rows["FLASH_ATTN"]["support"] is None
    assert rows["FLASH_ATTN"]["cases"] == [
        {"if": {"capability_family": 9}, "support": "ALWAYS"},
        {"if": {}, "support": "UNIFORM_BATCH"},
    ]
    assert "CUSTOM" not in rows


@pytest.mark.parametrize("release", ["0.25", "0.26", "0.27", "0.28"])
def test_the_matrix_is_the_resolution_of_every_pair(release):
    cells = kvinspect.cg_support_matrix(engine=release).cells
    assert len(cells) == len(CUDAGraphMode) * len(AttentionCGSupport)
    for cell in cells:
        info = AttentionCGSupportInfo(cell.support, "the backend")
        assert cell.resolution.mode is resolve(Request(cell.requested), info).mode


def test_unknown_names_are_said():
    with pytest.raises(kvinspect.DocumentError, match="did you mean FLASHINFER"):
        kvinspect.cg_support_table(engine="0.27", backend="FLASHINFR")
    with pytest.raises(kvinspect.DocumentError, match="expected a vLLM release"):
        kvinspect.cg_support_matrix(engine="0.1")


def uncompiled(mode, cudagraph_mode):
    spec = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 2, "head_size": 64, "dtype": "float16"}
    group = {"layer_names": ["l.0"], "backend": "TRITON_ATTN", "kv_cache_spec": spec}
    cache = {"num_blocks": 4, "kv_cache_groups": [group]}
    return {"kv_cache_config": cache, "compilation_config": {"mode": mode, "cudagraph_mode": cudagraph_mode}}


def ran(document, *versions):
    return [kvinspect.cg_support(document, engine=version).running.mode.name for version in versions]


def test_without_compilation_decodes_are_captured_from_0_30_on():
    both = uncompiled("NONE", "FULL_AND_PIECEWISE")
    assert ran(both, "0.29", "0.30", "0.33") == ["NONE", "FULL_DECODE_ONLY", "FULL_DECODE_ONLY"]
    assert ran(uncompiled("NONE", "PIECEWISE"), "0.29", "0.33") == ["NONE", "NONE"]


def test_stock_compilation_has_no_graphs_from_0_33_on():
    document = uncompiled("STOCK_TORCH_COMPILE", "FULL_DECODE_ONLY")
    assert ran(document, "0.30", "0.33") == ["FULL_DECODE_ONLY", "NONE"]


def test_decodes_have_sizes_of_their_own_from_0_29_on():
    written = CompilationEntry()
    several, one = Batches(20, 8192, 3), Batches(300, 8192, 1)
    assert {3, 6, 12, 24, 48, 60} <= set(capture_sizes(written, several, 512, decodes_of_several_tokens))
    assert 60 not in capture_sizes(written, several, 512)
    assert 300 in capture_sizes(written, one, 512, decodes_of_all)
    assert 300 not in capture_sizes(written, one, 512, decodes_of_several_tokens)
    assert capture_sizes(CompilationEntry(max_cudagraph_capture_size=8), several, 512, decodes_of_all) == (1, 2, 4, 8)
