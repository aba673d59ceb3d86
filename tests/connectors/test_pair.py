"""What NIXL makes of a prefill and a decode instance, above what is said of the bytes."""

import json

import pytest

import kvinspect
from kvinspect.connectors.catalogue import nixl
from kvinspect.connectors.pair import End, verdict
from kvinspect.data.catalogue import versions

DENSE = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 4096, "num_hidden_layers": 2,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 40960,
    "vocab_size": 1000, "torch_dtype": "bfloat16",
}  # fmt: skip
LATENT = {
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_size": 7168,
    "num_hidden_layers": 2, "num_attention_heads": 128, "num_key_value_heads": 128, "max_position_embeddings": 4096,
    "vocab_size": 1000, "torch_dtype": "bfloat16", "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256, "num_experts_per_tok": 8,
    "n_shared_experts": 1, "moe_intermediate_size": 2048, "intermediate_size": 18432, "first_k_dense_replace": 1,
}  # fmt: skip


def pair(prefill, decode, engine="0.33", model=DENSE, connector="nixl", env=None):
    answer = kvinspect.diff(
        model, model, engines=[engine], engine_args=prefill, other_engine_args=decode, connector=connector, env=env
    )
    return answer.connector


@pytest.mark.parametrize("engine", versions())
def test_heads_are_re_sharded(engine):
    for prefill, decode in ((2, 4), (4, 2), (1, 8)):
        found = pair({"tensor_parallel_size": prefill}, {"tensor_parallel_size": decode}, engine)
        assert (found.compatible, found.connector) == (True, "NixlConnector")
        assert found.why == (f"KV heads are re-sharded from tensor_parallel_size {prefill} to {decode}",)


@pytest.mark.parametrize(
    ("prefill", "decode", "said"),
    [
        ({"kv_cache_dtype": "fp8"}, {}, "hashes differ: cache dtype fp8 and auto"),
        ({"dtype": "float16"}, {}, "hashes differ: dtype float16 and bfloat16"),
        ({"attention_backend": "TRITON_ATTN"}, {}, "attention backend TRITON_ATTN and FLASH_ATTN"),
        ({"disable_hybrid_kv_cache_manager": True}, {}, "hybrid KV cache manager off and on"),
        ({"block_size": 32}, {"block_size": 16}, "decode's block is no multiple of prefill's"),
        ({"tensor_parallel_size": 16}, {"tensor_parallel_size": 4}, "above its 8 KV heads"),
        ({"block_size": 16, "tensor_parallel_size": 4}, {"block_size": 32}, "block sizes may differ only where"),
    ],
)
def test_what_the_handshake_refuses(prefill, decode, said):
    found = pair(prefill, decode)
    assert found.compatible is False
    assert said in "; ".join(found.why)


def test_blocks_of_several_sizes():
    found = pair({"block_size": 16}, {"block_size": 32})
    assert found.compatible
    assert found.why == ("a block of decode is 2 blocks of prefill (32 and 16 tokens)",)


def test_a_hash_that_is_not_enforced():
    given = {
        "kv_transfer_config": {
            "kv_connector": "NixlConnector",
            "kv_role": "kv_consumer",
            "kv_connector_extra_config": {"enforce_handshake_compat": False},
        }
    }
    assert pair({"attention_backend": "TRITON_ATTN"}, given).compatible


def test_latents_are_the_same_on_every_rank():
    found = pair({"tensor_parallel_size": 8}, {"tensor_parallel_size": 4}, model=LATENT)
    assert (found.compatible, found.why) == (True, ())
    contexts = {"tensor_parallel_size": 8, "decode_context_parallel_size": 8}
    assert pair({"tensor_parallel_size": 8}, contexts, model=LATENT).compatible
    before = pair({"tensor_parallel_size": 8}, contexts, "0.28", LATENT)
    assert (before.compatible, "not known" in before.why[0]) == (None, True)


def test_other_connectors_are_not_known():
    for word, name in (("lmcache", "LMCacheConnectorV1"), ("MooncakeConnector", "MooncakeConnector")):
        found = pair({}, {}, connector=word)
        assert (found.compatible, found.connector) == (None, name)


def test_a_connector_that_no_release_has():
    with pytest.raises(kvinspect.DocumentError, match="nixxl"):
        pair({}, {}, connector="nixxl")


END = End({}, "0.33.0", 1, 1, 1, 8, 16, 1, (65536,), "LBHNC", False, False, False, True)


@pytest.mark.parametrize(
    ("prefill", "decode", "said"),
    [
        ({"ranks": 2}, {"ranks": 3}, "no multiple of 2"),
        ({"contexts": 2}, {"contexts": 3}, "decode_context_parallel_size 3"),
        ({"contexts": 2}, {"contexts": 4, "has_states": True}, "a hybrid needs one"),
        ({"layout": "LBNHC"}, {}, "the layouts differ (prefill LBNHC, decode LBHNC)"),
        ({}, {"layout": "LBNHC", "permutes": True, "several_kinds": True}, "enable_permute_local_kv"),
        ({"layout": "LBNHC", "ranks": 2}, {"layout": "LBNHC", "pages": (131072,)}, "heads are split between ranks"),
        ({}, {"stages": 2}, "NIXL needs 1 there"),
        ({"blocks_of_one": 2}, {"has_states": True}, "prefix caching of a hybrid"),
        ({"pages": (1, 2)}, {}, "prefill has 2 layers with a cache, decode 1"),
        ({"pages": (1,)}, {}, "a block of prefill has 1 bytes"),
        ({"ranks": 2, "pages": (32768,)}, {"hashed": {"cache_dtype": "nvfp4"}}, "not re-sharded"),
    ],
)
def test_each_rule_of_the_handshake(prefill, decode, said):
    hashed = decode.get("hashed", {})
    found = verdict("NixlConnector", END._replace(**prefill, hashed=hashed), END._replace(**decode))
    assert found.compatible is False
    assert said in "; ".join(found.why)


def test_layouts_that_are_permuted():
    assert verdict("NixlConnector", END, END._replace(layout="LBNHC", permutes=True)).compatible


def test_layers_in_groups_of_several_kinds_have_one_block_size_up_to_0_26():
    decode = END._replace(block_size=32, pages=(131072,), several_kinds=True)
    assert verdict("NixlConnector", END, decode).compatible
    assert not verdict("NixlConnector", END, decode._replace(version="0.26.0")).compatible


@pytest.mark.parametrize("version", versions())
def test_each_release_says_what_its_hash_has(version):
    assert {"model", "dtype", "attn_backend_name", "cache_dtype"} <= set(nixl(version).hashed)


def test_the_page_and_the_exit_code(run, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(DENSE))
    words = ("diff", str(path), "-tp", "2", "--", str(path), "-tp", "4", "--engine", "0.33")
    plain, with_nixl = run(*words), run(*words, "--connector", "nixl")
    assert (plain.returncode, with_nixl.returncode) == (1, 0)
    lines = with_nixl.stdout.splitlines()
    assert lines[0] == "✓ Compatible: NixlConnector transfers blocks from A (prefill) to B (decode)"
    assert lines[2].startswith("Bytes: ✗ Not compatible")
    assert run(*words, "--connector", "lmcache").returncode == 2
    found = json.loads(run(*words, "--connector", "nixl", "-f", "json").stdout)
    assert (found["compatible"], found["verdict"], found["connector"]["compatible"]) == (True, "different", True)


def test_documents_do_not_say_enough():
    cache = {"num_blocks": 8, "kv_cache_groups": [{"layer_names": ["a.0"], "backend": "FLASH_ATTN", "kv_cache_spec": {
        "kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype": "bfloat16"}}]}  # fmt: skip
    document = {"engine": "0.33", "kv_cache_config": cache}
    found = kvinspect.diff(document, document, connector="nixl")
    assert (found.compatible, found.bytes_compatible) == (None, True)
