"""The numbers that real people's start-up logs printed, to the last digit."""

import pytest
import yaml

import golden
import kvinspect
from conftest import ROOT
from kvinspect.models.block_size import tokens_holding
from kvinspect.planning.memory import in_gib

CASES = {case["id"]: case for case in yaml.safe_load((ROOT / "tests/cases/logs.yaml").read_text())}
BY_KIND = {
    kind: [case for case in CASES.values() if case["kind"] == kind]
    for kind in ("dense", "hybrid", "sliding_plus_full", "needed_memory", "alignment_only")
}


def test_every_case_is_of_a_kind_that_is_asked_here():
    assert sum(map(len, BY_KIND.values())) == len(CASES)


def full(block, token_bytes, **more):
    """Full attention whose page has so many bytes a token."""
    return {
        "kind": "full_attention",
        "block_size": block,
        "num_kv_heads": 1,
        "head_size": token_bytes // 2,
        "dtype": "int8",
        **more,
    }


def plan(specs, num_blocks, longest, **more):
    document = {
        "engine": "0.27",
        "kv_cache_specs": specs,
        "available_memory": [1 << 40],
        "num_gpu_blocks_override": num_blocks,
        "model_config": {"max_model_len": longest},
        **more,
    }
    answer = kvinspect.plan(document)
    assert answer.refusal is None, answer.refusal
    return answer


def ids(cases):
    return [pytest.param(case, id=case["id"]) for case in cases]


@pytest.mark.parametrize("case", ids(BY_KIND["dense"]))
def test_dense(case):
    memory = int(case["available_kv_gib_logged"] * (1 << 30))
    heads = {"num_kv_heads": case["kv_heads_per_rank"], "head_size": case["head_size"], "dtype": "bfloat16"}
    spec = {"kind": "full_attention", "block_size": case["block"], **heads}
    answer = kvinspect.plan(
        {"engine": "0.27", "kv_cache_specs": {f"l.{{1..{case['layers']}}}": spec}, "available_memory": [memory]}
    ).to_dict()
    assert answer["request"]["bytes_per_token"] == case["bytes_per_token"]
    assert (answer["num_blocks"], answer["pool_tokens"]) == (
        case["expected"]["num_blocks"],
        case["expected"]["kv_tokens"],
    )


@pytest.mark.parametrize("case", ids(BY_KIND["hybrid"]))
def test_hybrid(case):
    held = case["state_blocks_per_request_per_group"]
    mode, kept = ("none", held - 1) if held == 1 else ("align", held - 2)
    state = {
        "kind": "mamba",
        "block_size": case["attention_block"],
        "shapes": [[case["state_bytes_per_layer"]]],
        "dtypes": ["int8"],
    }
    padded = {"page_size_padded": case["page_bytes"], "num_speculative_blocks": kept}
    states = case["group_size"] * case["state_groups"] - case["padding_layers"]
    specs = {
        f"s.{{1..{states}}}": {**state, **padded},
        f"a.{{1..{case['group_size']}}}": full(case["attention_block"], case["attn_bytes_per_token_per_layer"]),
    }
    answer = plan(specs, case["num_blocks"], case["max_model_len"], cache_config={"mamba_cache_mode": mode})
    found, expected = answer.to_dict(), case["expected"]
    by_pool = case["token_line"].startswith("num_blocks")
    assert len(answer.groups) == case["state_groups"] + 1
    assert found["pool_tokens" if by_pool else "num_tokens"] == expected["kv_tokens"]
    if not by_pool:
        assert round(found["max_concurrency"], 2) == expected["max_concurrency"]


@pytest.mark.parametrize("case", ids([c for c in BY_KIND["hybrid"] if c["token_line"].startswith("num_blocks")]))
def test_requests_at_once_as_the_older_releases_counted_them(case):
    """Blocks of one group to the blocks of attention and one of states, in bytes of the first group's page."""
    attention = -(-case["max_model_len"] // case["attention_block"])
    per_request = attention + case["state_groups"] * case["state_blocks_per_request_per_group"]
    assert abs(case["num_blocks"] / per_request - case["expected"]["max_concurrency"]) < 0.01


@pytest.mark.parametrize("case", ids(BY_KIND["sliding_plus_full"]))
def test_sliding_plus_full(case):
    wide, window = case["full"], case["sliding"]
    local = {"kind": "sliding_window", "sliding_window": window["window"]}
    specs = {
        f"f.{{1..{wide['layers']}}}": full(wide["block"], case["page_bytes"] // wide["block"]),
        f"w.{{1..{window['layers']}}}": {**full(window["block"], case["page_bytes"] // window["block"]), **local},
    }
    batched = {"max_num_batched_tokens": case["max_num_batched_tokens"]}
    answer = plan(specs, case["num_blocks"], case["max_model_len"], scheduler_config=batched).to_dict()
    assert answer["num_tokens"] == case["expected"]["kv_tokens"]
    assert round(answer["max_concurrency"], 2) == case["expected"]["max_concurrency"]


@pytest.mark.parametrize("case", ids(BY_KIND["needed_memory"]))
def test_needed_memory(case):
    assert in_gib(case["needed_bytes"]) == str(case["expected"]["needed_gib"])
    token = case.get("bytes_per_token") or case["mla_layers"] * case["mla_elements"] * case["elem_bytes"]
    answer = kvinspect.plan(
        {
            "engine": "0.27",
            "kv_cache_specs": {"l.0": full(16, token)},
            "available_memory": [case["needed_bytes"] - 1],
            "model_config": {"max_model_len": case["max_model_len"]},
        }
    )
    assert f"{case['expected']['needed_gib']} GiB" in answer.refusal.text


@pytest.mark.parametrize("case", ids(BY_KIND["alignment_only"]))
def test_alignment_only(case):
    state, token = case["state_bytes_per_layer"], case["attn_bytes_per_token_per_layer"]
    block = tokens_holding(state, token, case["alignment"])
    padding = 100 * (block * token - state) / state
    assert (block, round(padding, 2)) == (case["expected"]["attention_block"], case["expected"]["mamba_padding_pct"])


POINTS = {
    "llama3-70b-tp4": ("meta-llama__Meta-Llama-3.json", {"tensor_parallel_size": 4, "max_model_len": 8192}),
    "qwen3.5-27b-v0.19": ("Qwen__Qwen3.5-27B.json", {"max_model_len": 32768, "enable_prefix_caching": False}),
}
LEFT = {
    "qwen3-235b-fp8-tp4": "its own check calls it unexplained",
    "kimi-k2-thinking-tp8-dcp8": "its config.json is not among the models here",
    "glm-5.3-flash-block-7808": "its config.json is not among the models here",
    "nemotron-nano-9b-v2-page": "its config.json is not among the models here",
    "gemma4-31b-version-jump": "only about, and of releases before 0.25",
}


def point(name):
    return next(p for p in yaml.safe_load((ROOT / "tests/cases/points.yaml").read_text()) if p["id"] == name)


def test_every_point_is_asked_or_left_for_a_reason():
    points = yaml.safe_load((ROOT / "tests/cases/points.yaml").read_text())
    assert {p["id"] for p in points} == {*POINTS, *LEFT}


def test_llama3_70b_on_four_ranks():
    config, arguments = POINTS["llama3-70b-tp4"]
    logged = point("llama3-70b-tp4")["logged"]
    blocks = logged["kv_tokens"] // 16
    answer = kvinspect.plan_model(
        golden.models() / config,
        1 << 40,
        engine="0.27",
        engine_args={**arguments, "num_gpu_blocks_override": blocks},
    ).plan.to_dict()
    assert answer["num_tokens"] == logged["kv_tokens"]
    assert f"{answer['max_concurrency']:.2f}" == str(logged["max_concurrency_8192"])
    assert in_gib(blocks * answer["bytes_per_block"]) == str(logged["available_kv_gib"])


def test_qwen35_27b_as_an_older_release_counted_its_tokens():
    config, arguments = POINTS["qwen3.5-27b-v0.19"]
    logged = point("qwen3.5-27b-v0.19")["logged"]
    plan = kvinspect.plan_model(
        golden.models() / config,
        1 << 40,
        engine="0.27",
        engine_args={**arguments, "num_gpu_blocks_override": 1487},
    ).plan.to_dict()
    assert plan["pool_tokens"] == logged["kv_tokens"]
    assert f"{plan['max_concurrency']:.2f}" == str(logged["max_concurrency_32768"])
