"""YaRN and the longest context: from 0.30 on the length that a model writes is taken as scaled already."""

import pytest

import kvinspect

QWEN = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 512, "num_hidden_layers": 2,
    "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000, "torch_dtype": "bfloat16",
    "max_position_embeddings": 40000, "rope_theta": 10000,
    "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
}  # fmt: skip


@pytest.mark.parametrize(("release", "longest"), [("0.28", 131072), ("0.33", 40000)])
def test_the_longest_context_of_yarn(release, longest):
    assert kvinspect.specs(kvinspect.load_model(QWEN), engine=release).to_dict()["max_model_len"] == longest
