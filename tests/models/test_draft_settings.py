"""Which backend and cache dtype a draft's layers have beside their target's, by release and model runner.

The answers are those of the releases' own loaders, asked through `tools/bridge`.
"""

import pytest

import kvinspect
from conftest import ROOT

HYBRID = ROOT / "tests/cases/connectors/hybrid.json"
LAST = "mtp.layers.0.self_attn.attn"


def plan(engine, env=None, tokens=3, **more):
    own = more.pop("own", {})
    given = {
        "max_model_len": 32768,
        "max_num_seqs": 4,
        "kv_cache_dtype": "fp8",
        "speculative_config": {"method": "mtp", "num_speculative_tokens": tokens, **own},
        **more,
    }
    return kvinspect.plan_model(HYBRID, 4 << 30, engine=engine, device_capability="8.9", engine_args=given, env=env)


def draft(answer):
    (layer,) = (layer for layer in answer.stages[0].layers if layer.name == LAST)
    return layer.backend.backend, layer.spec.dtype


V1, V2 = {"VLLM_USE_V2_MODEL_RUNNER": "0"}, {"VLLM_USE_V2_MODEL_RUNNER": "1"}


@pytest.mark.parametrize(
    ("engine", "env", "target", "own", "backend"),
    [
        ("0.28", None, "TRITON_ATTN", None, "FLASHINFER"),  # runner V1 is the release's, and never inherits
        ("0.28", V2, "TRITON_ATTN", None, "TRITON_ATTN"),
        ("0.30", None, "TRITON_ATTN", None, "TRITON_ATTN"),
        ("0.30", V1, "TRITON_ATTN", None, "FLASHINFER"),
        ("0.28", None, None, "TRITON_ATTN", "TRITON_ATTN"),
        ("0.28", V2, None, "TRITON_ATTN", "FLASHINFER"),  # this loader reads no backend of the draft's own
        ("0.30", None, None, "TRITON_ATTN", "TRITON_ATTN"),
        ("0.28", None, "TRITON_ATTN", "FLASHINFER", "FLASHINFER"),
        ("0.28", V2, "TRITON_ATTN", "FLASHINFER", "TRITON_ATTN"),
        ("0.33", None, "TRITON_ATTN", "FLASHINFER", "FLASHINFER"),
    ],
)
def test_the_backend_of_a_draft(engine, env, target, own, backend):
    answer = plan(engine, env, attention_backend=target, own={"attention_backend": own} if own else {})
    assert draft(answer) == (backend, "uint8")
    assert not answer.plan.not_modelled


@pytest.mark.parametrize("engine", ["0.27", "0.28", "0.30", "0.33"])
def test_the_cache_dtype_of_a_draft(engine):
    answer = plan(engine, own={"kv_cache_dtype": "bfloat16"}, block_size=None)
    assert draft(answer)[1] == "bfloat16"
    assert {layer.spec.dtype for layer in answer.stages[0].layers if "self_attn" in layer.name} == {"uint8", "bfloat16"}


def test_a_draft_that_drafts_at_once_runs_under_v1():
    answer = plan("0.30", attention_backend="TRITON_ATTN", own={"parallel_drafting": True})
    assert answer.plan.setting.model_runner == "v1"
    assert draft(answer)[0] == "FLASHINFER"


def test_a_draft_is_cut_as_its_target_or_not_at_all():
    with pytest.raises(kvinspect.DocumentError, match="draft_tensor_parallel_size: is 1 or 2"):
        plan("0.30", tensor_parallel_size=2, own={"draft_tensor_parallel_size": 4})
    assert plan("0.30", tensor_parallel_size=2, own={"draft_tensor_parallel_size": 1}).plan.num_blocks
