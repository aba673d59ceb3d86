"""Engine arguments: vLLM's names, and one message for each that is wrong."""

import pytest

import kvinspect
from kvinspect.models.arguments import EngineArguments, engine_arguments, human_number


def test_names_with_dashes_and_numbers_as_people_write_them():
    found = engine_arguments({"max-model-len": "32k", "tensor_parallel_size": 4, "kv-cache-dtype": "fp8"})
    assert (found.max_model_len, found.tensor_parallel_size, found.kv_cache_dtype) == (32000, 4, "fp8")


def test_what_vllm_has_beside_is_let_pass():
    assert engine_arguments({"trust_remote_code": True, "seed": 3}) == EngineArguments()


@pytest.mark.parametrize("name", ["port", "host", "api_key", "enable-auto-tool-choice", "tool_call_parser", "headless"])
def test_flags_of_the_server_are_let_pass(name):
    assert engine_arguments({name: "8000"}) == EngineArguments()


@pytest.mark.parametrize("value", ["auto", "AUTO", "-1", -1])
def test_a_length_that_is_found_by_the_engine(value):
    assert engine_arguments({"max_model_len": value}).max_model_len == -1


@pytest.mark.parametrize("value", ["{", "[]", [], 3, True])
def test_a_nested_configuration_that_is_no_object(value):
    with pytest.raises(kvinspect.DocumentError, match="speculative_config: expected a JSON object"):
        engine_arguments({"speculative_config": value})


def test_nested_configurations():
    nested = {
        "speculative_config": {"method": "mtp", "num_speculative_tokens": 2},
        "attention_config": {"backend": "TRITON_ATTN"},
    }
    found = engine_arguments(nested)
    assert (found.num_speculative_tokens, found.attention_backend) == (2, "TRITON_ATTN")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tensor_paralel_size": 2}, "did you mean tensor_parallel_size"),
        ({"tensor_parallel_size": 0}, "a whole number from 1 on"),
        ({"tensor_parallel_size": True}, "a whole number"),
        ({"block_size": "many"}, "a whole number"),
        ({"enable_prefix_caching": "yes"}, "true or false"),
        ({"mamba_cache_mode": "alll"}, "one of none, align, all"),
        ({"dtype": 16}, "a word"),
        ({"max_model_len": 0}, "a whole number"),
        ({"tensor_parallel_size": 10**9}, "up to 4096"),
        ({"pipeline_parallel_size": 4096}, "up to 256"),
        ({"max_num_seqs": 2**64}, "a number of at most"),
        ({"num_gpu_blocks_override": 0}, "a whole number from 1 on"),
        ({"hf_overrides": {"a": [float("nan")]}}, "hf_overrides.a.0.: expected a finite number"),
        ({"hf_overrides": {"a": "\ud800"}}, "text in UTF-8"),
        ({"hf_overrides": {"\ud800": 1}}, "text in UTF-8"),
        ({"hf_overrides": list(range(60_000))}, "at most 50000 values"),
    ],
)
def test_one_message_for_what_is_wrong(given, said):
    with pytest.raises(kvinspect.DocumentError, match=said) as error:
        engine_arguments(given)
    assert len(error.value.errors) == 1


def test_a_mapping_that_contains_itself():
    endless: dict[str, object] = {}
    endless["a"] = endless
    with pytest.raises(kvinspect.DocumentError, match="at most 50 levels"):
        engine_arguments({"hf_overrides": endless})


@pytest.mark.parametrize("engine", ["0.25", "0.28", "0.33"])
@pytest.mark.parametrize("name", ["CUSTOM", "custom", "TORCH_SDPA", "NO_ATTENTION", "CUSTOM_MAMBA"])
def test_a_backend_that_only_a_plugin_can_add(engine, name, root):
    with pytest.raises(kvinspect.DocumentError, match="unless a plugin registers one"):
        kvinspect.specs(root / "examples/models/qwen3-8b", engine=engine, engine_args={"attention_backend": name})


@pytest.mark.parametrize("name", ["MAMBA1", "GDN_ATTN", "NONSENSE", ""])
def test_a_name_that_is_no_attention_backend(name, root):
    with pytest.raises(kvinspect.DocumentError, match="expected a backend of the release"):
        kvinspect.specs(root / "examples/models/qwen3-8b", engine_args={"attention_backend": name})


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(kvinspect.DocumentError) as error:
        engine_arguments({"tensor_parallel_size": -1, "nonsense": 1, "dtype": "float8"})
    assert len(error.value.errors) == 3


@pytest.mark.parametrize(("text", "number"), [("7", 7), ("1k", 1000), ("1K", 1024), ("25.6k", 25600), ("2M", 2 << 20)])
def test_numbers_as_the_command_line_takes_them(text, number):
    assert human_number(text) == number


@pytest.mark.parametrize("text", ["", "k", "1.5K", "1e3", "-3", "1kk"])
def test_numbers_that_it_does_not_take(text):
    with pytest.raises(ValueError, match="whole number"):
        human_number(text)
