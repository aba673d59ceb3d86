"""What a config.json says, and what its model type says for it."""

import json

import pytest

import kvinspect
from kvinspect.models.config import load_model
from kvinspect.models.fields import Fields
from kvinspect.models.rope import rope_parameters, scaled_length, starts_long
from kvinspect.models.shape import shape_of

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "num_hidden_layers": 2,
    "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 1024, "torch_dtype": "bfloat16",
}  # fmt: skip


def text_of(**changes):
    return load_model({**LLAMA, **changes}).text


def test_a_file_a_folder_and_a_mapping_are_the_same_model(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(LLAMA))
    answers = [kvinspect.specs(origin, engine="0.27").to_dict()["layers"] for origin in (file, tmp_path, LLAMA)]
    assert answers[0] == answers[1] == answers[2]


def test_a_value_has_a_place(tmp_path):
    file = tmp_path / "config.json"
    file.write_text('{"model_type": "llama",\n "architectures": ["LlamaForCausalLM"],\n "num_hidden_layers": "two"}')
    with pytest.raises(kvinspect.DocumentError, match=r"config\.json:3:23: num_hidden_layers: expected a whole number"):
        kvinspect.specs(file, engine="0.27")


def test_what_is_left_out_is_the_model_types_own():
    text = load_model({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text"}}).text
    assert (text.heads, text.kv_heads, text.head_dim, text.layers) == (8, 4, 256, 26)


def test_a_nested_part_that_is_missing_altogether():
    text = load_model({"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"]}).text
    assert text.model_type == "llama"
    assert text.layers == 32


def test_older_files_with_the_language_model_at_the_top():
    text = load_model({**LLAMA, "model_type": "qwen2_vl", "num_hidden_layers": 3}).text
    assert (text.model_type, text.layers, text.kv_heads) == ("qwen2_vl_text", 3, 2)


def test_other_names_of_a_field():
    text = load_model({"model_type": "gpt2", "n_layer": 3, "n_head": 4, "n_embd": 64}).text
    assert (text.layers, text.heads, text.hidden_size, text.count("num_hidden_layers")) == (3, 4, 64, 3)


def test_null_keeps_the_default_away():
    assert text_of(num_key_value_heads=None).kv_heads == 8
    assert text_of(head_dim=None).head_dim == 64


def test_patterns_that_the_configuration_class_works_out():
    gemma2 = load_model({"model_type": "gemma2", "num_hidden_layers": 3}).text
    assert gemma2.layer_types() == ["sliding_attention", "full_attention", "sliding_attention"]
    gemma3 = load_model({"model_type": "gemma3_text", "num_hidden_layers": 7, "sliding_window_pattern": 3}).text
    assert [i for i, kind in enumerate(gemma3.layer_types()) if kind == "full_attention"] == [2, 5]


def test_a_window_that_is_not_used():
    text = load_model({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": False}).text
    assert "sliding_window" not in text


@pytest.mark.parametrize("where", ["text_config", "llm_config", "language_config", "llm_cfg", "thinker_config"])
def test_where_the_language_model_lies(where):
    assert load_model({"model_type": "something_new", where: {**LLAMA, "hidden_size": 96}}).text.hidden_size == 96


@pytest.mark.parametrize(
    ("scaling", "length"),
    [
        ({"type": "linear", "factor": 2.0}, 2048),
        ({"rope_type": "llama3", "factor": 8.0}, 1024),
        ({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256}, 1024),
        ({"rope_type": "dynamic", "factor": None}, 1024),
        ({"type": "mrope", "mrope_section": [1, 2]}, 1024),
    ],
)
def test_scaling_of_the_longest_context(scaling, length):
    text = text_of(rope_scaling=scaling)
    assert scaled_length(text, 1024, yarn_scales=True) == length


def test_long_rope_starts_with_the_length_that_it_was_trained_for():
    scaling = {"rope_type": "longrope", "long_factor": [], "short_factor": []}
    text = text_of(rope_scaling=scaling, original_max_position_embeddings=512)
    assert starts_long(text) == 512
    assert (
        kvinspect.specs(
            {**LLAMA, "rope_scaling": scaling, "original_max_position_embeddings": 512}, engine="0.27"
        ).to_dict()["max_model_len"]
        == 512
    )


def test_rotary_parameters_by_layer_type():
    text = text_of(
        rope_parameters={"full_attention": {"rope_type": "default"}, "sliding_attention": {"type": "linear"}}
    )
    assert [part.kind for part in rope_parameters(text)] == ["default", "linear"]


def test_falcon_with_one_kv_head():
    falcon = load_model({"model_type": "falcon", "multi_query": True, "new_decoder_architecture": False})
    assert shape_of(falcon).kv_heads == 1


def test_fields_that_are_set_win():
    text = text_of()
    assert isinstance(text, Fields)
    assert text.having(head_dim=16).head_dim == 16
    assert text.head_dim == 64


def test_overrides_add_to_nested_objects():
    model = load_model({"architectures": ["A"], "text_config": {"num_hidden_layers": 4, "hidden_size": 64}})
    found = model.overridden({"architectures": ["B"], "text_config": {"num_hidden_layers": 2}})
    assert (list(found.architectures), found.text.count("num_hidden_layers"), found.text.count("hidden_size")) == (
        ["B"],
        2,
        64,
    )
    assert list(model.architectures) == ["A"]
    with pytest.raises(kvinspect.DocumentError, match="hf_overrides: expected a JSON object"):
        model.overridden("word")
