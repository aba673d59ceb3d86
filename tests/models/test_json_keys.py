"""Keys of flags that take JSON: the engine refuses one that the configuration of its release lacks."""

import json

import pytest

import kvinspect

DENSE = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 4, "hidden_size": 4096,
    "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
    "vocab_size": 32000, "intermediate_size": 11008,
}  # fmt: skip


def plan(engine="0.33", **given):
    return kvinspect.plan_model(DENSE, 1 << 31, engine=engine, engine_args=given)


def problems(engine="0.33", **given):
    with pytest.raises(kvinspect.DocumentError) as found:
        plan(engine, **given)
    return [(problem.path, problem.nearest, problem.kind) for problem in found.value.errors]


@pytest.mark.parametrize("engine", ["0.25", "0.33"])
@pytest.mark.parametrize(
    ("flag", "value", "key", "near"),
    [
        ("speculative_config", {"method": "ngram", "num_speculative_tokens": 2}, "num_speculativ_tokens",
         "num_speculative_tokens"),
        ("compilation_config", {}, "cudagraph_mod", "cudagraph_mode"),
        ("compilation_config", {}, "cudagraph-mode", "cudagraph_mode"),
        ("attention_config", {}, "bakend", "backend"),
        ("kv_transfer_config", {"kv_connector": "NixlConnector", "kv_role": "kv_both"}, "kv_rol", "kv_role"),
        ("mamba_config", {}, "bakend", "backend"),
    ],
)  # fmt: skip
def test_a_key_that_the_release_lacks_is_an_error_with_the_nearest_one(engine, flag, value, key, near):
    assert problems(engine, **{flag: {**value, key: 1}}) == [((flag, key), near, "unknown-key")]


def test_a_key_of_other_releases_is_told_with_the_first_that_has_it():
    given = {"speculative_config": {"method": "ngram", "num_speculative_tokens": 2, "kv_cache_dtype": "fp8"}}
    plan("0.33", **given)
    with pytest.raises(
        kvinspect.DocumentError, match=r"kv_cache_dtype: is no key of .* in vLLM 0\.25\.1; 0\.\d+\.\d is"
    ):
        plan("0.25", **given)


def test_dashes_stand_for_underscores_in_a_drafts_keys_from_the_release_on_that_takes_them():
    given = {"speculative_config": {"method": "ngram", "num-speculative-tokens": 2}}
    assert plan("0.26", **given).plan.planning["speculative_config"]["num_speculative_tokens"] == 2
    assert [path for path, _, _ in problems("0.25", **given)] == [("speculative_config", "num-speculative-tokens")]


def test_a_connector_inside_another_one_is_held_to_the_same_keys():
    inner = {"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_rol": "x"}
    extra = {"connectors": [inner]}
    given = {"kv_connector": "MultiConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra}
    ((path, near, _),) = problems(kv_transfer_config=given)
    assert (path[-2:], near) == ((0, "kv_rol"), "kv_role")


def test_a_dotted_flag_and_a_serve_file_are_held_to_the_same_keys(run, tmp_path):
    model = tmp_path / "config.json"
    model.write_text(json.dumps(DENSE), encoding="utf-8")
    found = run("plan", model, "--kv-cache-memory-bytes", "1GiB", "-cc.cudagraph_mod=FULL")
    assert found.returncode == 2
    assert "did you mean cudagraph_mode" in found.stderr
    file = tmp_path / "serve.yaml"
    file.write_text("model: config.json\ncompilation-config: {cudagraph_mod: FULL}\n", encoding="utf-8")
    found = run("lint", file)
    assert (found.returncode, "KV005" in found.stdout) == (1, True)
    found = run("plan", file, "--kv-cache-memory-bytes", "1GiB")
    assert (found.returncode, "serve.yaml:2:22: compilation-config.cudagraph_mod: is no key" in found.stderr) == (
        2,
        True,
    )


def test_what_a_connector_or_a_model_takes_freely_is_let_pass():
    extra = {"anything": 1}
    transfer = {"kv_connector": "NixlConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra}
    plan(kv_transfer_config=transfer, hf_overrides={"anything": 1}, additional_config={"anything": 1})
