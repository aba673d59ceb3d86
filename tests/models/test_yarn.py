"""YaRN and the longest context: from 0.30 on the length that a model writes is taken as scaled already."""

import json
import re
import shlex

import pytest

import kvinspect
from kvinspect.bundled.lookup import bundled

QWEN = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 512, "num_hidden_layers": 2,
    "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000, "torch_dtype": "bfloat16",
    "max_position_embeddings": 40000, "rope_theta": 10000,
    "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
}  # fmt: skip


@pytest.mark.parametrize(("release", "longest"), [("0.28", 131072), ("0.33", 40000)])
def test_the_longest_context_of_yarn(release, longest):
    assert kvinspect.specs(kvinspect.load_model(QWEN), engine=release).to_dict()["max_model_len"] == longest


def overrides_in(model, **arguments):
    """The `--hf-overrides` that the refusal of a length names, with the base that a file leaves out filled in."""
    with pytest.raises(kvinspect.DocumentError) as caught:
        kvinspect.plan_model(model, 1 << 50, **arguments)
    words = re.search(
        r"--hf-overrides ('.*?')( \(THETA|) ?extends|$",
        str(caught.value).replace("(THETA: rope_theta of its config.json) ", ""),
    )
    return json.loads(shlex.split(words[1])[0].replace('"THETA"', "1e6")) if words and words[1] else None


@pytest.mark.parametrize("release", ["0.25", "0.28", "0.30", "0.33"])
@pytest.mark.parametrize(
    "name",
    ["Qwen/Qwen3-32B", "Qwen/Qwen2.5-7B-Instruct", "openai/gpt-oss-20b", "deepseek-ai/DeepSeek-V3"],
)
def test_the_override_that_a_refused_length_names_works(name, release):
    model = kvinspect.load_model(bundled(name).config)
    given = {"engine": release, "engine_args": {"max_model_len": 3_000_000}}
    found = overrides_in(model, **given)
    given["engine_args"]["hf_overrides"] = found
    assert kvinspect.plan_model(model, 1 << 50, **given).plan.deployment.max_model_len == 3_000_000
    rope = found.get("rope_scaling") or found["rope_parameters"]
    assert {"rope_theta", "rope_type", "factor", "original_max_position_embeddings"} <= set(rope)


def test_yarn_of_the_file_stays_as_it_is_where_it_reaches_far_enough():
    found = overrides_in(QWEN, engine="0.33", engine_args={"max_model_len": 100_000})
    assert found["max_position_embeddings"] == 131072
    assert found["rope_scaling"]["factor"] == 4.0


@pytest.mark.parametrize(
    "more",
    [
        {"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}},
        {"rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}},
        {"rope_scaling": None, "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1e4}}},
    ],
)
def test_other_scalings_are_left_alone(more):
    found = overrides_in({**QWEN, **more}, engine="0.33", engine_args={"max_model_len": 3_000_000})
    assert found is None or "full_attention" in str(more)
