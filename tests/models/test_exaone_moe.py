"""K-EXAONE's windows, whose key differs from release to release (vLLM's ExaoneMoeAttention)."""

import pytest

import kvinspect
from kvinspect.models.memory import Memory

CONFIG = {
    "model_type": "exaone_moe",
    "hidden_size": 6144,
    "head_dim": 128,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "num_hidden_layers": 4,
    "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"],
    "max_position_embeddings": 4096,
    "dtype": "bfloat16",
    "vocab_size": 1000,
}
OLD, NEW = ({"architectures": [f"ExaoneMo{letter}ForCausalLM"]} for letter in "Ee")
LISTED = {"sliding_windows": [256, 256, 512, 1]}


def windows(engine, **config):
    found = kvinspect.plan_model({**CONFIG, **config}, Memory(1 << 40, "given"), engine=engine)
    return [getattr(layer.spec, "sliding_window", None) for layer in found.stages[0].layers]


@pytest.mark.parametrize(
    ("engine", "config", "expected"),
    [
        ("0.25", {**OLD, "sliding_window": 128}, [128, 128, 128, None]),
        ("0.26", {**OLD, "sliding_window": 128, **LISTED}, [128, 128, 128, None]),
        ("0.27", {**NEW, "sliding_window": 128, **LISTED}, [256, 256, 512, None]),
        ("0.30", {**NEW, "sliding_window": 128, **LISTED}, [256, 256, 512, None]),
        ("0.33", {**NEW, "sliding_window": 128, **LISTED}, [256, 256, 512, None]),
        ("0.33", {**OLD, "sliding_window": 128}, [128, 128, 128, None]),
    ],
)
def test_each_release_reads_its_own_key(engine, config, expected):
    assert windows(engine, **config) == expected


@pytest.mark.parametrize("engine", ["0.27", "0.30"])
def test_a_release_that_reads_the_list_alone_says_so(engine):
    with pytest.raises(kvinspect.DocumentError, match="sliding_windows"):
        windows(engine, **NEW, sliding_window=128)


@pytest.mark.parametrize(("engine", "config", "expected"), [("0.25", OLD, 128), ("0.26", OLD, 128), ("0.27", NEW, 64)])
def test_each_release_reads_its_own_keys_of_a_draft(engine, config, expected):
    draft = {"mtp_layer_types": ["sliding_attention"], "mtp_sliding_window": 64, "mtp_sliding_windows": [64]}
    model = {**CONFIG, **config, "sliding_window": 128, **LISTED, **draft, "num_nextn_predict_layers": 1}
    arguments = {"speculative_config": {"method": "mtp", "num_speculative_tokens": 1}}
    found = kvinspect.plan_model(model, Memory(1 << 40, "given"), engine=engine, engine_args=arguments)
    drafted = [layer for layer in found.stages[0].layers if layer.name.startswith("mtp.")]
    assert [layer.spec.sliding_window for layer in drafted] == [expected]
