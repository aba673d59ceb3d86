"""Which model runner a document is answered with, and why: every row of the facts, and documents that say too little."""

import pytest

import golden
import kvinspect
from kvinspect.backends.model_runner import choose
from kvinspect.document.load import load

ENGINES = golden.facts("model-runner")["engines"]
DENSE = {"architectures": ["SomeForCausalLM"], "is_moe": False}
MODELS = {
    "dense": {},
    "moe": {"is_moe": True},
    "hybrid": {"is_hybrid": True},
    "hybrid_moe": {"is_hybrid": True, "is_moe": True},
    "attention_free": {"is_attention_free": True},
    "pooling": {"runner_type": "pooling"},
    "diffusion": {"is_diffusion": True},
}
WRITTEN = {
    "compilation_config.mode=STOCK_TORCH_COMPILE": {"compilation_config": {"mode": "STOCK_TORCH_COMPILE"}},
    "pass_config.enable_sp, tensor_parallel_size>1": {
        "compilation_config": {"pass_config": {"enable_sp": True}},
        "parallel_config": {"tensor_parallel_size": 2},
    },
    "distributed_executor_backend=external_launcher, pipeline_parallel_size>1": {
        "parallel_config": {"distributed_executor_backend": "external_launcher", "pipeline_parallel_size": 2}
    },
    "prefill_context_parallel_size>1": {"parallel_config": {"prefill_context_parallel_size": 2}},
    "speculative_config.method=eagle, parallel_drafting": {
        "speculative_config": {"method": "eagle", "parallel_drafting": True}
    },
    "speculative_config.method=eagle3, pipeline_parallel_size>1": {
        "speculative_config": {"method": "eagle3"},
        "parallel_config": {"pipeline_parallel_size": 2},
    },
    "speculative_config.method=dflash, draft with sliding and full layers": {
        "speculative_config": {
            "method": "dflash",
            "draft_model_config": {"layer_types": ["sliding_attention", "full_attention"]},
        }
    },
    "speculative_config.method=dflash, DFlash2DraftModel": {
        "speculative_config": {"method": "dflash", "draft_model_config": {"architectures": ["DFlash2DraftModel"]}}
    },
    "speculative_config.use_heterogeneous_vocab": {
        "speculative_config": {"method": "draft_model", "use_heterogeneous_vocab": True}
    },
    "speculative_config.enable_adaptive_verification, LoRA": {
        "speculative_config": {"method": "eagle", "enable_adaptive_verification": True},
        "lora_config": {},
    },
    "enable_dbo": {"parallel_config": {"enable_dbo": True}},
    "enable_elastic_ep": {"parallel_config": {"enable_elastic_ep": True}},
    "enable_return_routed_experts": {"model_config": {"enable_return_routed_experts": True}},
    "logits_processors": {"model_config": {"logits_processors": ["mine"]}},
    "enable_prompt_embeds": {"model_config": {"enable_prompt_embeds": True}},
    "logprobs_mode=raw_logits": {"model_config": {"logprobs_mode": "raw_logits"}},
    "kv_sharing_fast_prefill": {"cache_config": {"kv_sharing_fast_prefill": True}},
    "mamba_cache_mode=all": {"cache_config": {"mamba_cache_mode": "all"}},
    "ec_transfer_config": {"ec_transfer_config": {}},
}
"""Each feature of the facts as a document says it, the plain `speculative_config.method=…` left out."""


def written(feature):
    name, _, method = feature.partition("speculative_config.method=")
    return {"speculative_config": {"method": method}} if not name and ", " not in feature else WRITTEN[feature]


def document(model, **more):
    config = {**DENSE, **model, **more.pop("model_config", {})}
    return {
        "kv_cache_config": {"num_blocks": 4, "kv_cache_groups": []},
        "model_config": config,
        **more,
    }


def picked(version, model, **more):
    choice = choose(load(document(model, **more)), version)
    assert choice.source == "release"
    return choice.runner


def rows(*keys):
    return [(version, feature) for version, row in ENGINES.items() for key in keys for feature in row[key] or ()]


@pytest.mark.parametrize("version", ENGINES)
@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_of_model_gets_its_runner(version, kind):
    assert picked(version, MODELS[kind]) == ENGINES[version]["default"][kind]


@pytest.mark.parametrize("version", ENGINES)
@pytest.mark.parametrize("platform", ["cuda", "rocm", "xpu", "cpu"])
def test_listed_architectures_get_theirs_platform_by_platform(version, platform):
    row = ENGINES[version]
    names = {name for key in ("default_v1_architectures", "default_v2_architectures") for name in every(row[key])}
    for name in sorted(names):
        experts = {"architectures": [name], "is_moe": True}
        newer = row["default_v2_architectures"]
        older = row["default_v1_architectures"]
        default = "v1" if name in (older or {}).get(platform, ()) else row["default"]["moe"]
        wanted = "v2" if name in (newer or {}).get(platform, ()) else default
        assert picked(version, experts, platform=platform) == wanted, name
        if newer and name in newer[platform]:
            hybrid = {**experts, "is_hybrid": True}
            assert picked(version, hybrid, platform=platform) == row["hybrids_of_these_architectures"]


def every(by_platform):
    return [name for names in (by_platform or {}).values() for name in names]


@pytest.mark.parametrize(("version", "feature"), rows("forces_v2"))
def test_some_features_force_v2_even_on_a_hybrid(version, feature):
    assert picked(version, MODELS["hybrid"], **written(feature)) == "v2"


@pytest.mark.parametrize(("version", "feature"), rows("falls_back_to_v1"))
def test_some_features_let_a_dense_model_fall_back(version, feature):
    assert picked(version, MODELS["dense"], **written(feature)) == "v1"


@pytest.mark.parametrize("version", ENGINES)
def test_any_other_feature_leaves_a_dense_model_its_runner(version):
    special = {*ENGINES[version]["forces_v2"], *ENGINES[version]["falls_back_to_v1"]}
    known = {feature for row in ENGINES.values() for key in ("forces_v2", "falls_back_to_v1") for feature in row[key]}
    for feature in sorted(known - special):
        method = written(feature).get("speculative_config", {}).get("method")
        if f"speculative_config.method={method}" in special:
            continue
        assert picked(version, MODELS["dense"], **written(feature)) == ENGINES[version]["default"]["dense"], feature


@pytest.mark.parametrize("runner", ["v1", "v2"])
def test_a_runner_refuses_what_the_facts_say(runner):
    from kvinspect.backends.model_runner import unfit

    rows = [(version, feature) for version, row in ENGINES.items() for feature in row[f"refused_with_{runner}"] or ()]
    assert rows
    for version, feature in rows:
        assert feature in unfit(load(document({}, **written(feature))), version, runner)


STATE = {"kind": "mamba", "block_size": 16, "shapes": [[16, 64]], "dtypes": ["float16"]}
FULL = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 1, "head_size": 32, "dtype": "float16"}
HYBRID = {
    "engine": "0.27",
    "kv_cache_config": {
        "num_blocks": 4,
        "kv_cache_groups": [
            {"layer_names": ["a"], "backend": "FLASH_ATTN", "kv_cache_spec": FULL},
            {"layer_names": ["m"], "kv_cache_spec": STATE},
        ],
    },
}


def answered(**more):
    return kvinspect.align({**HYBRID, **more}).to_dict()


def test_the_document_wins():
    for runner in ("v1", "v2"):
        answer = answered(model_runner=runner, model_config={"architectures": ["Any"], "is_moe": False})
        assert (answer["model_runner"], answer["model_runner_source"]) == (runner, "document")


def test_the_specs_tell_a_hybrid_once_the_model_has_a_name():
    answer = answered(model_config={"architectures": ["Qwen3NextForCausalLM"], "is_moe": True})
    assert (answer["model_runner"], answer["model_runner_source"]) == ("v1", "release")
    assert answer["model_runner_why"] == "vLLM 0.27.1 picks v1 for hybrid mixture-of-experts models"
    assert answer["reasons"][0]["text"].startswith("v1: vLLM 0.27.1 picks v1")


@pytest.mark.parametrize("given", [{}, {"model_runner": "auto"}])
def test_a_model_without_a_name_gets_v2_and_a_reason(given):
    answer = answered(**given)
    assert (answer["model_runner"], answer["model_runner_source"]) == ("v2", "default")
    assert "depends on model_config.architectures" in answer["model_runner_why"]
    assert answer["model_runner_why"].endswith("for most hybrid models it is v1")


def test_what_is_open_does_not_matter_where_every_way_leads_to_one_runner():
    pooling = {"model_config": {"runner_type": "pooling"}}
    assert choose(load({**HYBRID, **pooling}), "0.27.1")[:2] == ("v1", "release")
    unlisted = {"model_config": {"architectures": ["SomeForCausalLM"]}}
    dense = {**HYBRID, "kv_cache_config": {"num_blocks": 4, "kv_cache_groups": []}}
    assert choose(load({**dense, **unlisted}), "0.27.1")[:2] == ("v2", "default")
    assert "model_config.is_moe" in choose(load({**dense, **unlisted}), "0.27.1").why
    listed = {"model_config": {"architectures": ["Qwen2MoeForCausalLM"]}}
    assert choose(load({**dense, **listed}), "0.27.1")[:2] == ("v2", "release")


def test_cg_support_says_the_runner_too():
    answer = kvinspect.cg_support({**HYBRID, "model_runner": "v1"}).to_dict()
    assert (answer["model_runner"], answer["model_runner_why"]) == ("v1", "the document says v1")
