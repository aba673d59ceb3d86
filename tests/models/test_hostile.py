"""config.json files that are wrong: one clear message, whatever stands in them."""

import json
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kvinspect

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "num_hidden_layers": 2,
    "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 1024, "torch_dtype": "bfloat16",
}  # fmt: skip
GEMMA = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "text_config": {"num_hidden_layers": 6},
}
WRONG = ["", "x", -1, 0, 1.5, True, [], {}, [1], {"a": 1}, 10**30, math.inf, "Infinity", [None], None]
FIELDS = [
    "architectures", "model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
    "max_position_embeddings", "torch_dtype", "rope_scaling", "sliding_window", "layer_types", "quantization_config",
    "attention_chunk_size", "text_config", "is_causal", "rope_parameters",
]  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_a_field_of_the_wrong_kind(field, value):
    try:
        kvinspect.specs({**LLAMA, field: value}, engine="0.27").to_dict()
    except kvinspect.DocumentError as error:
        assert len(error.errors) == 1
        assert error.errors[0].text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"num_attention_heads": 0}, "num_attention_heads: expected a whole number from 1 on, found 0"),
        ({"num_key_value_heads": 0}, "num_key_value_heads: expected a whole number from 1 on"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers: expected a whole number from 1 on up to"),
        ({"num_key_value_heads": 3}, "3 KV heads"),
        ({"max_position_embeddings": math.inf}, "max_position_embeddings: expected a whole number"),
        ({"architectures": ["LlamaForCausalLN"]}, "did you mean LlamaForCausalLM"),
        ({"architectures": []}, "layers can be written by hand"),
        ({"torch_dtype": 3}, "the name of a dtype"),
        ({"layer_types": ["full_attention"]}, "a list of 2 entries"),
    ],
)
def test_what_is_said(change, said):
    config = {key: value for key, value in {**LLAMA, **change}.items() if value != []}
    config = config if "architectures" in config else {**config, "model_type": "nobody_knows"}
    with pytest.raises(kvinspect.DocumentError, match=said):
        kvinspect.specs(config, engine="0.27", engine_args={"tensor_parallel_size": 2})


def test_ranks_that_do_not_divide():
    with pytest.raises(
        kvinspect.DocumentError, match="8 attention heads cannot be divided among tensor_parallel_size 3"
    ):
        kvinspect.specs(LLAMA, engine="0.27", engine_args={"tensor_parallel_size": 3})


def test_a_context_that_is_too_long():
    with pytest.raises(kvinspect.DocumentError, match="max_model_len 4096 is longer than the model's 1024 tokens"):
        kvinspect.specs(LLAMA, engine="0.27", engine_args={"max_model_len": 4096})


def test_an_architecture_that_only_another_release_has():
    with pytest.raises(kvinspect.DocumentError, match=r"vLLM 0\.27\.1 has no architecture NobodysForCausalLM"):
        kvinspect.specs({**LLAMA, "architectures": ["NobodysForCausalLM"]}, engine="0.27")


def test_a_backend_that_is_none():
    with pytest.raises(kvinspect.DocumentError, match="did you mean FLASH_ATTN"):
        kvinspect.specs(LLAMA, engine="0.27", engine_args={"attention_backend": "FLASH_ATTEN"})


@pytest.mark.parametrize("text", ["", "[]", "null", "3", '"x"', "{", '{"a": 1, "a": 2}'])
def test_files_that_hold_no_model(tmp_path, text):
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(kvinspect.DocumentError):
        kvinspect.specs(file, engine="0.27")


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(kvinspect.DocumentError, match=r"config\.json"):
        kvinspect.load_model(tmp_path)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 70)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "full_attention", "auto"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([LLAMA, GEMMA]), st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4))
def test_nothing_but_an_answer_or_a_message(base, changes):
    config = json.loads(json.dumps({**base, **changes}))
    try:
        kvinspect.specs(config, engine="0.27").to_dict()
    except kvinspect.DocumentError as error:
        assert error.errors


@pytest.mark.parametrize("name", ["InternVLForConditionalGeneration", "InternVLChatModel", "UltravoxModel", "Ovis"])
def test_a_wrapper_without_its_language_model_lacks_a_key(name, tmp_path):
    """The wrapper would be its own language model, and that one's again."""
    config = {"architectures": [name], "model_type": "x", "hidden_size": 1024, "num_hidden_layers": 4,
              "num_attention_heads": 8, "num_key_value_heads": 8, "max_position_embeddings": 4096}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(kvinspect.DocumentError, match=f"text_config: is missing; expected .* in {name}"):
        kvinspect.plan_model(tmp_path, 1 << 30, engine="0.33")
