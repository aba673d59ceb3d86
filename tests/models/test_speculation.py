"""Drafts as each release's `SpeculativeConfig` takes them: tokens at a time, refusals, the context, batches in flight."""

import json

import pytest

import kvinspect
from kvinspect.data import catalogue, duties

TARGET = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 4,
    "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 64, "max_position_embeddings": 40960,
    "vocab_size": 1000, "torch_dtype": "bfloat16",
}  # fmt: skip
WINDOWS = {
    **TARGET, "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "sliding_window": 1024,
    "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
}  # fmt: skip
GLM = {
    **TARGET, "architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe", "num_nextn_predict_layers": 2,
    "n_routed_experts": 8, "first_k_dense_replace": 1,
}  # fmt: skip
V1, V2 = {"VLLM_USE_V2_MODEL_RUNNER": "0"}, {"VLLM_USE_V2_MODEL_RUNNER": "1"}


@pytest.fixture
def draft(tmp_path):
    def made(name="small", **more):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({**TARGET, "num_hidden_layers": 2, **more}))
        return str(folder)

    return made


def plan(speculative, model=TARGET, engine="0.33", env=None, **given):
    given = {"max_num_seqs": 16, "max_num_batched_tokens": 8192, **given, "speculative_config": speculative}
    return kvinspect.plan_model(model, 8 << 30, engine=engine, engine_args=given, env=env)


def refused(speculative, **more):
    with pytest.raises(kvinspect.DocumentError) as error:
        plan(speculative, **more)
    return str(error.value)


NGRAM = {"method": "ngram", "num_speculative_tokens": 3}
EAGLE = {"method": "eagle3", "model": "nobody/eagle3", "num_speculative_tokens": 3}


@pytest.mark.parametrize(
    ("given", "engine", "said"),
    [
        ({"method": "ngram"}, "0.33", "num_speculative_tokens: is missing"),
        ({**NGRAM, "num_speculative_tokens": 0}, "0.33", "a whole number from 1 on"),
        ({"num_speculative_tokens": 3}, "0.33", "model: is missing"),
        ({"method": "eagle3", "num_speculative_tokens": 3}, "0.27", "model: is missing: drafts by eagle3"),
        ({**NGRAM, "method": "ngrams"}, "0.33", "is no method of vLLM 0.33.0; did you mean ngram"),
        ({**NGRAM, "method": "medusa"}, "0.33", "the last release with it is 0.30.0"),
        ({**NGRAM, "method": "qwen4_exp_mtp"}, "0.27", "0.29.0 is the first release with it"),
        ({**NGRAM, "tensor_parallel_size": 2}, "0.33", "is no key of speculative_config; draft_tensor_parallel_size is"),
        ({**NGRAM, "prompt_lookup_min": 5, "prompt_lookup_max": 2}, "0.28", "is above prompt_lookup_max"),
        ({**NGRAM, "max_model_len": 99999}, "0.33", ""),
        ({**EAGLE, "max_model_len": 99999}, "0.33", "longer than the target's 40960"),
        ({**NGRAM, "use_heterogeneous_vocab": True}, "0.30", "works with a draft model alone, not with ngram"),
        ({**NGRAM, "rejection_sample_method": "fly"}, "0.30", "0.33.0 is the first release with it"),
        ({**NGRAM, "rejection_sample_method": "fly", "fly_window_size": 3}, "0.33", "not below num_speculative_tokens"),
        ({**NGRAM, "rejection_sample_method": "synthetic"}, "0.33", "needs either"),
        ({**NGRAM, "synthetic_acceptance_length": 2}, "0.33", "counts with rejection_sample_method synthetic alone"),
        ({**NGRAM, "rejection_sample_method": "synthetic", "synthetic_acceptance_length": 9}, "0.33", "not from 1 to 4"),
        ({**NGRAM, "rejection_sample_method": "synthetic", "synthetic_acceptance_rates": [0.5, 0.6, 0]}, "0.33", "no list"),
        ({**NGRAM, "index_share_for_mtp_iteration": True}, "0.29", "is for drafts by mtp, not by ngram"),
        ({**NGRAM, "dspark_draft_topk": 4}, "0.28", "is for drafts by dspark"),
        ({**NGRAM, "xpress_topc": 4}, "0.33", "is for XPress drafts alone"),
        ({**NGRAM, "draft_lm_head_quantization": "fp8"}, "0.33", "is for drafts by eagle, eagle3, mtp"),
        ({**NGRAM, "enable_adaptive_verification": True}, "0.28", "is for drafts by dspark"),
        (
            {**NGRAM, "enable_adaptive_verification": True, "use_local_argmax_reduction": True},
            "0.30", "does not go with use_local_argmax_reduction",
        ),
        ({**NGRAM, "disable_padded_drafter_batch": "yes"}, "0.33", "expected true or false"),
        ({**NGRAM, "suffix_decoding_min_token_prob": 2}, "0.33", "a number from 0 to 1"),
        ({**NGRAM, "num_speculative_tokens_per_batch_size": [[2, 4, 3]]}, "0.33", "begins with batches of 2"),
        ({**NGRAM, "num_speculative_tokens_per_batch_size": [[1, 4, 3], [4, 8, 2]]}, "0.28", "ranges of batch sizes that"),
        ({**NGRAM, "num_speculative_tokens_per_batch_size": [[1, 4]]}, "0.28", "is no list of"),
    ],
)  # fmt: skip
def test_what_the_engine_refuses_a_draft_for(given, engine, said):
    if not said:
        assert plan(given, engine=engine).plan.num_blocks
        return
    assert said in refused(given, engine=engine)


def test_a_draft_makes_so_many_tokens_at_a_time(draft):
    assert "is 5, and the draft makes 2 at a time" in refused({"method": "mtp", "num_speculative_tokens": 5}, model=GLM)
    for tokens in (1, 2, 4):
        planned = plan({"method": "mtp", "num_speculative_tokens": tokens}, model=GLM).plan.planning
        assert planned["speculative_config"]["num_speculative_tokens"] == tokens
    assert "is missing" in refused({"method": "mtp"}, model=GLM)
    named = plan({"method": "mtp", "model": draft(**GLM)}, model=GLM).plan.planning["speculative_config"]
    assert named["num_speculative_tokens"] == 2


@pytest.mark.parametrize(
    ("more", "engine", "written", "said"),
    [
        ({"dspark_draft_topk": 1000}, "0.33", {}, ""),
        ({"dspark_draft_topk": 1001}, "0.33", {}, "is 1001, not from 1 to the draft's vocabulary of 1000 tokens"),
        ({"dspark_draft_topk": 9}, "0.28", {"draft_vocab_size": 8}, "is 9, not from 1 to the draft's vocabulary of 8"),
        ({}, "0.28", {"dspark_draft_topk": 9, "draft_vocab_size": 8}, "is 9, not from 1 to"),
        ({}, "0.27", {"dspark_draft_topk": 9, "draft_vocab_size": 8}, ""),  # which has no such key
        ({"dspark_draft_topk": 4}, "0.30", {"architectures": ["Gemma4DSparkModel"]}, "is for Qwen3DSparkModel and"),
    ],
)
def test_a_draft_chooses_from_tokens_of_its_vocabulary(draft, more, engine, written, said):
    folder = draft("a-dspark", **{"architectures": ["Qwen3DSparkModel"], "block_size": 3, **written})
    given = {"method": "dspark", "model": folder, "num_speculative_tokens": 3, **more}
    if said:
        assert said in refused(given, engine=engine)
    else:
        assert plan(given, engine=engine).plan.planning["speculative_config"]["method"] == "dspark"


@pytest.mark.parametrize(("topc", "said"), [(1000, ""), (1001, "not from 0 to the draft's vocabulary of 1000 tokens")])
def test_an_xpress_draft_chooses_from_tokens_of_its_vocabulary(draft, topc, said):
    folder = draft("xpress-dflash", architectures=["Qwen3XPressModel"], block_size=4)
    given = {"method": "dflash", "model": folder, "num_speculative_tokens": 3, "xpress_topc": topc}
    assert said in refused(given) if said else plan(given).plan.num_blocks


def test_suffix_decoding_drafts_as_deep_as_its_tree():
    planned = plan({"method": "suffix"}).plan.planning["speculative_config"]
    assert planned["num_speculative_tokens"] == 24


def test_a_draft_model_is_cut_as_its_target_under_runner_v1(draft):
    given = {"model": draft(), "num_speculative_tokens": 3, "draft_tensor_parallel_size": 1}
    said = refused(given, tensor_parallel_size=2, env=V1)
    assert "draft_tensor_parallel_size: is 1, and runner V1 cuts a draft model as its target, into 2" in said
    assert plan(given, tensor_parallel_size=2, env=V2).plan.num_blocks
    odd = {"model": draft("odd", num_attention_heads=9, num_key_value_heads=3), "num_speculative_tokens": 3}
    assert "has 9 attention heads" in refused(odd, tensor_parallel_size=2)


def test_a_draft_model_has_the_vocabulary_of_its_target(draft):
    other = {"model": draft(vocab_size=2000), "num_speculative_tokens": 3}
    assert "has a vocabulary of 2000 tokens, its target one of 1000" in refused(other)
    mapped = plan({**other, "use_heterogeneous_vocab": True}, engine="0.30")
    assert mapped.plan.setting.model_runner == "v1"  # its v2 has no map between vocabularies


@pytest.mark.parametrize(
    ("engine", "env", "more", "length"),
    [
        ("0.33", V2, {}, 8192),
        ("0.33", V2, {"max_model_len": 4096}, 4096),
        ("0.33", V1, {}, 40960),
        ("0.30", None, {}, 40960),
    ],
)
def test_the_context_of_a_draft_model_limits_its_target(draft, engine, env, more, length):
    given = {"model": draft(max_position_embeddings=8192), "num_speculative_tokens": 3, **more}
    assert plan(given, engine=engine, env=env).stages[0].setting.max_model_len == length


def test_a_draft_is_no_longer_than_itself(draft):
    given = {"model": draft(max_position_embeddings=8192), "num_speculative_tokens": 3, "max_model_len": 16384}
    assert "max_model_len: is 16384, longer than the draft's 8192" in refused(given)


@pytest.mark.parametrize(
    ("engine", "env", "given", "more", "batches"),
    [
        ("0.28", None, NGRAM, {}, 1),  # up to 0.30 batches wait for drafts by n-grams
        ("0.33", V2, NGRAM, {}, 2),
        ("0.33", V1, NGRAM, {}, 1),
        ("0.28", None, EAGLE, {}, 2),
        ("0.28", None, {**EAGLE, "disable_padded_drafter_batch": True}, {}, 1),
        ("0.33", V2, {**EAGLE, "disable_padded_drafter_batch": True}, {}, 2),
        ("0.33", V1, {**EAGLE, "disable_padded_drafter_batch": True}, {}, 1),
        ("0.28", V1, EAGLE, {"pipeline_parallel_size": 2}, 2),
        ("0.33", V2, EAGLE, {"pipeline_parallel_size": 2}, 3),
    ],
)
def test_batches_in_flight(engine, env, given, more, batches):
    planned = plan(given, engine=engine, env=env, **more).plan.planning
    assert planned["scheduler_config"]["max_concurrent_batches"] == batches


def test_batches_that_are_to_overlap_and_cannot_stop_the_engine():
    assert "async_scheduling does not go with method ngram" in refused(NGRAM, engine="0.28", async_scheduling=True)
    padded = {**EAGLE, "disable_padded_drafter_batch": True}
    assert "does not go with disable_padded_drafter_batch" in refused(padded, engine="0.30", async_scheduling=True)
    assert plan(NGRAM, env=V2, async_scheduling=True).plan.num_blocks


@pytest.mark.parametrize(
    ("engine", "batched", "fits"),
    [
        ("0.27", 80, False),
        ("0.27", 81, True),
        ("0.28", 6, False),
        ("0.28", 7, True),
        ("0.33", 7, False),
        ("0.33", 8, True),
    ],
)
def test_drafts_take_room_in_a_batch(draft, engine, batched, fits):
    drafts = {"model": draft("a-dflash", architectures=["DFlashDraftModel"]), "num_speculative_tokens": 6}
    seqs = 16 if engine == "0.27" else 1
    given = {"engine": engine, "max_num_batched_tokens": batched, "max_model_len": 64, "max_num_seqs": seqs}
    if fits:
        assert plan(drafts, **given).plan.num_blocks
    else:
        assert "leaves no token beside" in refused(drafts, **given)


SCHEDULE = [[1, 8, 3], [9, 64, 1]]


@pytest.mark.parametrize(
    ("engine", "env", "more", "mode", "left_out"),
    [
        ("0.28", V1, {}, "PIECEWISE", False),
        ("0.33", V2, {}, None, True),
        ("0.33", V1, {}, "PIECEWISE", False),
        ("0.28", V1, {"data_parallel_size": 2}, None, False),  # ranks would not agree, so the length is fixed
        ("0.25", V1, {"data_parallel_size": 2}, "PIECEWISE", False),
        ("0.28", V1, {"enforce_eager": True}, "NONE", False),
    ],
)
def test_drafts_whose_length_depends_on_the_batch(engine, env, more, mode, left_out):
    given = {**NGRAM, "num_speculative_tokens_per_batch_size": SCHEDULE}
    answer = plan(given, engine=engine, env=env, **more).plan
    assert answer.planning.get("compilation_config", {}).get("cudagraph_mode") == mode
    assert [one.name.rpartition(".")[2] for one in answer.not_modelled] == (
        ["num_speculative_tokens_per_batch_size"] if left_out else []
    )


def test_a_draft_of_several_modules_reads_tokens_behind_a_window_again():
    step = {
        **WINDOWS, "architectures": ["Step3p5ForCausalLM"], "model_type": "step3p5", "num_nextn_predict_layers": 3,
        "num_attention_groups": 8, "sliding_window": 512,
        "layer_types": [*WINDOWS["layer_types"], *["full_attention"] * 3],
    }  # fmt: skip
    given = {"method": "mtp", "num_speculative_tokens": 3}
    one, three = (plan({**given, "num_speculative_tokens": n}, model=step).plan for n in (1, 3))
    kept = [spec.get("extra_retained_tokens") for spec in three.to_dict()["groups"][0].get("specs", [])]
    assert one.planning["speculative_config"]["draft_model_config"]["num_nextn_predict_layers"] == 3
    assert not kept or set(kept) <= {2, None}


def test_a_name_with_dots_is_a_class_of_python():
    given = {"model": "my_drafts.Proposer", "num_speculative_tokens": 3}
    answer = plan(given, engine="0.28").plan
    assert answer.planning["speculative_config"]["method"] == "custom_class"
    assert [one.what for one in answer.not_modelled] == [
        "the layers of the custom class draft my_drafts.Proposer, of a kind that kvinspect does not know"
    ]
    named = plan({**given, "method": "eagle"}, engine="0.25").plan
    assert named.planning["speculative_config"]["method"] == "custom_class"


@pytest.mark.parametrize("version", catalogue.versions())
def test_every_key_of_a_draft_has_a_class(version):
    keys = {name for name in duties.names(version)[duties.KEYS] if name.startswith("speculative-config.")}
    assert keys
    assert keys <= duties.read(version)[duties.KEYS].keys()
