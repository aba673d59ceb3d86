"""Families that do not cache keys and values of heads alone: latent attention, states, encoders, drafts."""

import json
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvinspect

BASE = {
    "vocab_size": 1024, "hidden_size": 1024, "intermediate_size": 2048, "torch_dtype": "bfloat16",
    "num_attention_heads": 16, "num_key_value_heads": 4, "num_hidden_layers": 4, "max_position_embeddings": 8192,
}  # fmt: skip
LATENT = {"q_lora_rank": 384, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}
BYTES = {"bfloat16": 2, "float16": 2, "float32": 4, "uint8": 1}


def config(architecture, model_type, **more):
    return {**BASE, "architectures": [architecture], "model_type": model_type, **more}


def deepseek(kind="deepseek_v3", architecture="DeepseekV3ForCausalLM", **more):
    return config(architecture, kind, **{**LATENT, **more})


def asked(model, engine="0.27.1", stage=0, capability="9.0", **arguments):
    return kvinspect.specs(model, engine=engine, stage=stage, device_capability=capability, engine_args=arguments)


def layers(model, **how):
    """Layer name → (backend, spec)."""
    rows = asked(model, **how).to_dict()["layers"]
    return {name: (row["backend"], row["kv_cache_spec"]) for row in rows for name in row["layer_names"]}


def spec_of(model, name, **how):
    return layers(model, **how)[name][1]


class TestLatent:
    def test_one_row_a_token_whatever_the_ranks(self):
        for ranks in (1, 2, 8):
            spec = spec_of(deepseek(), "model.layers.0.self_attn.attn", tensor_parallel_size=ranks)
            assert (spec["num_kv_heads"], spec["head_size"]) == (1, 576)
            assert spec["page_size_bytes"] == spec["block_size"] * 576 * 2

    def test_heads_where_the_model_type_is_not_taken_for_latent(self):
        spec = spec_of(deepseek("some_type"), "model.layers.0.self_attn.attn")
        assert (spec["num_kv_heads"], spec["head_size"]) == (16, 192)

    def test_the_first_deepseek_has_heads(self):
        model = config("DeepseekForCausalLM", "deepseek")
        assert spec_of(model, "model.layers.3.self_attn.attn")["num_kv_heads"] == 4

    @pytest.mark.parametrize(
        ("fields", "with_indexer"),
        [
            ({}, [0, 1, 2, 3]),
            ({"index_topk_freq": 2}, [0, 1, 3]),
            ({"index_topk_freq": 4, "index_skip_topk_offset": 1}, [0]),
            ({"index_topk_pattern": "FSSF"}, [0, 3]),
        ],
    )
    def test_which_layers_have_an_indexer(self, fields, with_indexer):
        model = deepseek("deepseek_v32", "DeepseekV32ForCausalLM", index_topk=2048, index_head_dim=128, **fields)
        found = [name for name in layers(model) if name.endswith("indexer.k_cache")]
        assert found == [f"model.layers.{i}.self_attn.indexer.k_cache" for i in with_indexer]

    def test_sparse_rows_take_their_own_format(self):
        model = deepseek("deepseek_v32", "DeepseekV32ForCausalLM", index_topk=2048, index_head_dim=128)
        answer = asked(model, kv_cache_dtype="fp8").to_dict()
        assert answer["cache_dtype"] == "fp8_ds_mla"
        backend, spec = layers(model, kv_cache_dtype="fp8")["model.layers.0.self_attn.attn"]
        assert (backend, spec["page_size_bytes"]) == ("FLASHMLA_SPARSE", 64 * 656)

    def test_the_release_says_how_many_bytes_a_row_has(self):
        model = deepseek("deepseek_v32", "DeepseekV32ForCausalLM", index_topk=2048, index_head_dim=128)
        spec = spec_of(model, "model.layers.0.self_attn.attn", engine="0.28.0", kv_cache_dtype="fp8")
        assert (spec["state_content_bytes"], spec["head_size_v"]) == (656, 0)

    def test_two_attentions_a_layer(self):
        model = config("LongcatFlashForCausalLM", "longcat_flash", num_layers=2, **LATENT)
        del model["num_hidden_layers"]
        assert list(layers(model)) == [f"model.layers.{i}.self_attn.{half}.attn" for i in (0, 1) for half in (0, 1)]

    def test_latent_vectors_made_into_heads(self):
        model = config("MiniCPM3ForCausalLM", "minicpm3", **LATENT)
        spec = spec_of(model, "model.layers.0.self_attn.attn", tensor_parallel_size=4)
        assert (spec["num_kv_heads"], spec["head_size"]) == (4, 192)


class TestDeepseekV4:
    MODEL = config(
        "DeepseekV4ForCausalLM", "deepseek_v4", head_dim=512, qk_rope_head_dim=64, index_head_dim=128,
        sliding_window=128, compress_ratios=[0, 4, 128, 4], num_key_value_heads=1,
    )  # fmt: skip

    def test_caches_by_ratio(self):
        found = layers(self.MODEL, kv_cache_dtype="fp8")
        prefix = "model.layers.{}.attn"
        assert {name for name in found if name.startswith(prefix.format(0))} == {"model.layers.0.attn.swa_cache"}
        assert {name.removeprefix(prefix.format(1)) for name in found if name.startswith(prefix.format(1))} == {
            "", ".swa_cache", ".compressor.state_cache", ".indexer.k_cache", ".indexer.compressor.state_cache",
        }  # fmt: skip
        assert "model.layers.2.attn.indexer.k_cache" not in found
        assert found["model.layers.2.attn"][1]["compress_ratio"] == 128

    def test_layers_without_compression_attend_without_a_cache_of_their_own(self):
        assert asked(self.MODEL, kv_cache_dtype="fp8").to_dict()["no_cache"] == ["model.layers.0.attn"]

    def test_pages_of_window_and_compressed_layers_are_equal(self):
        found = layers(self.MODEL, kv_cache_dtype="fp8")
        sizes = {found[f"model.layers.1.attn{end}"][1]["page_size_bytes"] for end in ("", ".swa_cache")}
        assert len(sizes) == 1
        assert sizes.pop() % 576 == 0

    def test_only_fp8_is_taken(self):
        with pytest.raises(kvinspect.DocumentError, match="only an fp8 KV cache"):
            asked(self.MODEL)

    @pytest.mark.parametrize("engine", ["0.30.0", "0.33.0"])
    def test_fp8_is_taken_where_nobody_says_which(self, engine):
        found = asked(self.MODEL, engine=engine)
        assert found.to_dict()["cache_dtype"] == "fp8_ds_mla"
        assert found.to_dict() == asked(self.MODEL, engine=engine, kv_cache_dtype="fp8").to_dict()
        with pytest.raises(kvinspect.DocumentError, match="only an fp8 KV cache"):
            asked(self.MODEL, engine=engine, kv_cache_dtype="bfloat16")

    @pytest.mark.parametrize("engine", ["0.29.0", "0.33.0"])
    def test_its_index_wants_the_layers_inside_each_block(self, engine):
        found = asked(self.MODEL, engine=engine, kv_cache_dtype="fp8")
        plan = kvinspect.plan(found.to_planning_document([10**9])).to_dict()
        assert found.layout == plan["kv_cache_layout"] == "BLHNC"
        assert plan["error"] is None
        assert plan["num_blocks"] > 0

    def test_windows_are_not_replayed(self):
        window = spec_of(self.MODEL, "model.layers.0.attn.swa_cache", engine="0.33.0")
        assert window["bounded_replay"] is False

    def test_ratios_that_no_compressor_has(self):
        with pytest.raises(kvinspect.DocumentError, match="compress_ratios"):
            asked({**self.MODEL, "compress_ratios": [0, 4, 8, 4]}, kv_cache_dtype="fp8")

    def test_its_plan_is_made_with_backends_of_its_own(self):
        document = asked(self.MODEL, kv_cache_dtype="fp8").to_planning_document([10**9])
        assert set(document["backends"]) == {
            "DEEPSEEK_SPARSE_SWA", "DEEPSEEK_V4_INDEXER", "CompressorBackend",
        }  # fmt: skip
        assert kvinspect.plan(document).to_dict()["num_blocks"] > 0


def mamba2(**more):
    sizes = {"num_heads": 32, "head_dim": 64, "state_size": 128, "n_groups": 8, "conv_kernel": 4, "expand": 2}
    return config("Mamba2ForCausalLM", "mamba2", **{**sizes, "chunk_size": 256, "intermediate_size": None, **more})


def granite(**more):
    sizes = {
        "mamba_n_heads": 32, "mamba_d_head": 64, "mamba_n_groups": 1, "mamba_d_state": 128, "mamba_d_conv": 4,
        "mamba_expand": 2, "mamba_chunk_size": 256, "layer_types": ["mamba", "mamba", "attention", "mamba"],
    }  # fmt: skip
    return config("GraniteMoeHybridForCausalLM", "granitemoehybrid", **{**sizes, **more})


def delta(**more):
    sizes = {
        "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128, "head_dim": 128,
        "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
    }  # fmt: skip
    return config("Qwen3NextForCausalLM", "qwen3_next", **{**sizes, **more})


def nemotron(**more):
    sizes = {
        "hybrid_override_pattern": "M-M*", "mamba_num_heads": 32, "mamba_head_dim": 64, "n_groups": 8,
        "ssm_state_size": 128, "conv_kernel": 4, "head_dim": 64,
    }  # fmt: skip
    return config("NemotronHForCausalLM", "nemotron_h", **{**sizes, **more})


class TestStates:
    @given(st.sampled_from([1, 2, 4, 8]), st.sampled_from([1, 8]), st.sampled_from([64, 128]))
    def test_ranks_share_heads_and_repeat_a_single_group(self, ranks, groups, state):
        model = mamba2(n_groups=groups, state_size=state)
        spec = spec_of(model, "backbone.layers.0.mixer", tensor_parallel_size=ranks)
        everyone = ranks if groups == 1 else groups
        assert spec["shapes"] == [[3, (2048 + 2 * everyone * state) // ranks], [32 // ranks, 64, state]]

    def test_groups_that_cannot_be_shared(self):
        with pytest.raises(kvinspect.DocumentError, match="mamba groups"):
            asked(mamba2(n_groups=2), tensor_parallel_size=4)

    def test_a_cache_that_is_asked_for_in_another_dtype(self):
        spec = spec_of(mamba2(), "backbone.layers.0.mixer", mamba_ssm_cache_dtype="float32")
        assert spec["dtypes"] == ["bfloat16", "float32"]
        spec = spec_of(mamba2(), "backbone.layers.0.mixer", mamba_cache_dtype="float32")
        assert spec["dtypes"] == ["float32", "float32"]

    def test_nemotron_keeps_states_in_float32_unless_told_otherwise(self):
        name = "model.layers.0.mixer"
        assert spec_of(nemotron(), name)["dtypes"][1] == "float32"
        assert spec_of(nemotron(mamba_ssm_cache_dtype="float16"), name)["dtypes"][1] == "float16"
        assert spec_of(nemotron(), name, mamba_ssm_cache_dtype="bfloat16")["dtypes"][1] == "bfloat16"

    def test_a_pattern_in_words(self):
        words = ["linear_attention", "mlp", "linear_attention", "full_attention"]
        named = nemotron(layers_block_type=words)
        del named["hybrid_override_pattern"]
        assert layers(named).keys() == layers(nemotron()).keys()

    def test_linear_attention_has_no_spec_of_heads(self):
        found = layers(delta())
        assert list(found) == [
            *(f"model.layers.{i}.linear_attn" for i in range(3)), "model.layers.3.self_attn.attn",
        ]  # fmt: skip
        assert found["model.layers.0.linear_attn"][1]["shapes"] == [[3, 8192], [32, 128, 128]]

    def test_mixers_of_falcon_h1_are_numbered_after_the_layers(self):
        sizes = {"mamba_d_ssm": 1024, "mamba_n_heads": 16, "mamba_d_head": 64, "mamba_n_groups": 1}
        model = config("FalconH1ForCausalLM", "falcon_h1", mamba_d_state=128, mamba_d_conv=4, head_dim=64, **sizes)
        assert {"model.layers.0.attn", "model.4.mixer", "model.7.mixer"} <= layers(model).keys()

    @pytest.mark.parametrize(("blocks", "numbers"), [(1, [0, 1, 2]), (2, [0, 1, 2]), (3, [0, 1, 3])])
    def test_uses_of_shared_blocks_are_numbered_block_by_block(self, blocks, numbers):
        kinds = ["linear_attention", "hybrid", "hybrid", "hybrid"]
        sizes = {"mamba_d_state": 64, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_ngroups": 1, "n_mamba_heads": 32}
        model = config("Zamba2ForCausalLM", "zamba2", layers_block_type=kinds, num_mem_blocks=blocks, **sizes)
        found = [name for name in layers(model) if ".attn." in name]
        assert found == [f"model.attn.{number}" for number in numbers]

    def test_short_convolutions_are_renamed(self):
        kinds = ["conv", "conv", "full_attention", "conv"]
        model = config("Lfm2ForCausalLM", "lfm2", layer_types=kinds, conv_L_cache=3, conv_dim=1024)
        assert layers(model)["model.layers.0.conv"][1]["shapes"] == [[2, 1024]]
        assert "model.layers.0.short_conv" in layers(model, engine="0.28.0")

    def test_replayssm_is_for_few(self):
        with pytest.raises(kvinspect.DocumentError, match="Nemotron-H"):
            asked(mamba2(), use_replayssm=True)
        shapes = spec_of(nemotron(), "model.layers.0.mixer", use_replayssm=True, replayssm_buffer_len=16)["shapes"]
        assert shapes[2:] == [[32, 16, 64], [32, 16], [8, 16, 128]]

    def test_layers_left_over_behind_the_last_group_are_latent(self):
        more = {"layer_group_size": 4, "short_conv_kernel_size": 4, "num_hidden_layers": 6, **LATENT}
        model = config("BailingMoeV3ForCausalLM", "bailing_hybrid", **more)
        found = [name for name in layers(model, engine="0.28.0") if name.endswith(".attn")]
        assert found == [f"model.layers.{i}.self_attn.attn" for i in (3, 4, 5)]

    @pytest.mark.parametrize(("count", "attending"), [(6, [2]), (2, [1])])
    def test_the_middle_of_every_few_layers_attends(self, count, attending):
        sizes = {"hidden_size_per_head": 64, "mamba_num_heads": 16, "mamba_d_state": 64, "mamba_d_conv": 4}
        model = config("Plamo2ForCausalLM", "plamo2", mamba_step=5, num_hidden_layers=count, **sizes)
        found = [name for name in layers(model, engine="0.26.0") if name.endswith(".attn")]
        assert found == [f"model.layers.layers.{i}.mixer.attn" for i in attending]


class TestAlignment:
    MODELS = st.sampled_from([granite(), delta(), nemotron(), granite(mamba_d_state=64)])

    @given(MODELS, st.sampled_from(["none", "align", "all"]), st.sampled_from([1, 2, 4]), st.sampled_from([None, 64]))
    def test_pages_come_out_equal(self, model, mode, ranks, block):
        caching = {} if mode == "none" else {"enable_prefix_caching": True, "mamba_cache_mode": mode}
        found = layers(model, tensor_parallel_size=ranks, block_size=block, max_model_len=4096, **caching)
        specs = [spec for _, spec in found.values()]
        assert len({spec["page_size_bytes"] for spec in specs}) == 1
        for spec in specs:
            if spec["type"] == "MambaSpec":
                states = zip(spec["shapes"], spec["dtypes"], strict=True)
                assert sum(prod(shape) * BYTES[dtype] for shape, dtype in states) <= spec["page_size_bytes"]

    def test_what_a_state_stands_for(self):
        def block_of(**how):
            return asked(granite(), **how).to_dict()["mamba_block_size"]

        size = asked(granite()).to_dict()["block_size"]
        assert block_of(max_model_len=4096) == 4096
        assert block_of(enable_prefix_caching=True, mamba_cache_mode="align") == size
        assert block_of(enable_prefix_caching=True) % 256 == 0
        assert block_of(engine="0.28.0") == size, "hybrids cache prefixes by default"

    def test_blocks_of_latent_hybrids_are_multiples_of_128(self):
        linear = {"kda_layers": [1, 2, 3], "num_heads": 16, "head_dim": 128, "short_conv_kernel_size": 4}
        model = config("KimiLinearForCausalLM", "kimi_linear", mla_use_nope=True, linear_attn_config=linear, **LATENT)
        assert asked(model).to_dict()["block_size"] % 128 == 0
        assert asked(model, engine="0.26.0").to_dict()["block_size"] % 128
        assert "model.layers.3.self_attn.attn" in layers(model, engine="0.26.0")

    @pytest.mark.parametrize(("cache_dtype", "a_token"), [("auto", 2 * 4 * 128 * 2), ("fp8", 2 * 4 * 128)])
    def test_a_quantised_cache_needs_longer_blocks(self, cache_dtype, a_token):
        answer = asked(delta(), kv_cache_dtype=cache_dtype).to_dict()
        page = 3 * 8192 * 2 + 32 * 128 * 128 * 2
        assert answer["block_size"] == -(-page // (16 * a_token)) * 16

    def test_packed_tokens_beside_states(self):
        found = layers(delta(), kv_cache_dtype="turboquant_k8v4")
        spec = found["model.layers.3.self_attn.attn"][1]
        assert spec["page_size_bytes"] == found["model.layers.0.linear_attn"][1]["page_size_bytes"]
        assert spec["page_size_bytes"] == spec["block_size"] * 4 * spec["tq_slot_size"]

    def test_blocks_keep_to_states_that_a_prefill_leaves(self):
        found = asked(delta(), engine="0.33.0").to_dict()
        assert found["block_size"] % 64 == 0
        spec = found["layers"][0]["kv_cache_spec"]
        assert (spec["num_prefill_checkpoint_blocks"], spec["prefill_checkpoint_alignment"]) == (1, found["block_size"])
        older = asked(delta(), engine="0.33.0", capability="8.0").to_dict()
        assert older["layers"][0]["kv_cache_spec"]["num_prefill_checkpoint_blocks"] == 0

    @pytest.mark.parametrize(
        ("engine", "capability", "more", "blocks"),
        [
            ("0.29.0", "9.0", {"gate_lower_bound": -5.0}, 1),
            ("0.33.0", "12.0", {"gate_lower_bound": -5.0}, 1),
            ("0.33.0", "8.0", {"gate_lower_bound": -5.0}, 0),
            ("0.33.0", "9.0", {}, 0),
            ("0.33.0", "9.0", {"gate_lower_bound": -5.0, "head_dim": 64}, 0),
        ],
    )
    def test_flash_kda_leaves_states_that_blocks_do_not_keep_to(self, engine, capability, more, blocks):
        sizes = {"num_heads": 16, "head_dim": 128, "short_conv_kernel_size": 4, "use_full_rank_gate": True, **more}
        linear = {"kda_layers": [1, 2, 3], **sizes}
        model = config("KimiLinearForCausalLM", "kimi_linear", mla_use_nope=True, linear_attn_config=linear, **LATENT)
        spec = spec_of(model, "model.layers.0.self_attn", engine=engine, capability=capability)
        assert spec["num_prefill_checkpoint_blocks"] == blocks
        assert spec.get("prefill_checkpoint_alignment") == (16 if blocks and engine != "0.29.0" else None)


WHISPER = {
    "architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper", "torch_dtype": "float16",
    "d_model": 512, "encoder_layers": 4, "decoder_layers": 2, "encoder_attention_heads": 8,
    "decoder_attention_heads": 8, "max_target_positions": 448, "max_source_positions": 1500,
}  # fmt: skip


class TestEncoderDecoder:
    def test_every_layer_attends_to_the_text_and_across(self):
        found = layers(WHISPER, tensor_parallel_size=2)
        kinds = {name: spec["type"] for name, (_, spec) in found.items()}
        assert kinds == {
            ".decoder.layers.0.layers.self_attn.attn": "FullAttentionSpec",
            ".decoder.layers.0.layers.encoder_attn.attn": "CrossAttentionSpec",
            ".decoder.layers.1.layers.self_attn.attn": "FullAttentionSpec",
            ".decoder.layers.1.layers.encoder_attn.attn": "CrossAttentionSpec",
        }
        assert {(spec["num_kv_heads"], spec["head_size"]) for _, spec in found.values()} == {(4, 64)}


MTP = {"speculative_config": {"method": "mtp", "num_speculative_tokens": 2}}


class TestDrafts:
    def test_layers_behind_the_last(self):
        found = layers(deepseek(num_nextn_predict_layers=1), **MTP)
        assert list(found)[-1] == "model.layers.4.self_attn.attn"

    def test_the_draft_has_an_indexer_whatever_the_pattern(self):
        fields = {"index_topk": 2048, "index_head_dim": 128, "index_topk_pattern": "FSSS"}
        model = deepseek("deepseek_v32", "DeepseekV32ForCausalLM", num_nextn_predict_layers=1, **fields)
        assert "model.layers.4.self_attn.indexer.k_cache" in layers(model, **MTP)

    def test_the_last_stage_has_the_draft(self):
        model = deepseek(num_nextn_predict_layers=1)
        stages = [layers(model, stage=i, pipeline_parallel_size=2, **MTP) for i in (0, 1)]
        assert list(stages[0]) == [f"model.layers.{i}.self_attn.attn" for i in (0, 1)]
        assert list(stages[1]) == [f"model.layers.{i}.self_attn.attn" for i in (2, 3, 4)]

    def test_states_keep_what_may_have_to_be_taken_back(self):
        found = layers(delta(), **MTP)
        spec = found["model.layers.0.linear_attn"][1]
        assert (spec["shapes"][0][0], spec["num_speculative_blocks"]) == (3 + 2, 2)
        assert "mtp.layers.0.self_attn.attn" in found

    def test_a_target_without_a_draft_of_its_own(self):
        with pytest.raises(kvinspect.DocumentError, match="no draft"):
            asked(config("LlamaForCausalLM", "llama"), **MTP)

    @pytest.mark.parametrize(
        ("method", "architecture", "name"),
        [
            ("eagle", "LlamaForCausalLM", "model.layers.4.self_attn.attn"),
            ("eagle3", "LlamaForCausalLMEagle3", "model.layers.4.self_attn.attn"),
            ("draft_model", "LlamaForCausalLM", "draft_model.model.layers.0.self_attn.attn"),
        ],
    )
    def test_a_draft_in_a_folder(self, tmp_path, method, architecture, name):
        draft = config(architecture, "llama", num_hidden_layers=1, head_dim=32)
        (tmp_path / "config.json").write_text(json.dumps(draft))
        speculation = {"method": method, "model": str(tmp_path), "num_speculative_tokens": 3}
        found = layers(config("LlamaForCausalLM", "llama"), speculative_config=speculation)
        assert found[name][1]["head_size"] == 32

    def test_a_draft_that_is_not_here_is_left_out_and_said_so(self):
        speculation = {"method": "eagle3", "model": "some/draft", "num_speculative_tokens": 3}
        answer = asked(config("LlamaForCausalLM", "llama"), speculative_config=speculation)
        assert len(answer.layers) == 4
        assert "some/draft" in answer.specs.left_out


def test_a_field_that_is_no_number_is_named():
    with pytest.raises(kvinspect.DocumentError, match="ssm_state_size"):
        asked(nemotron(ssm_state_size="many"))


@pytest.mark.parametrize(("engine", "window"), [("0.28", 4096), ("0.29", 4097), ("0.33", 4097)])
def test_a_window_of_cohere_counts_its_own_token(engine, window):
    config = {"architectures": ["Cohere2ForCausalLM"], "model_type": "cohere2", "sliding_window": 4096, **COHERE}
    first = kvinspect.specs(config, engine=engine).to_dict()["layers"][0]["kv_cache_spec"]
    assert first["sliding_window"] == window


COHERE = {
    "hidden_size": 4096, "num_hidden_layers": 4, "num_attention_heads": 32, "num_key_value_heads": 8,
    "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
}  # fmt: skip
