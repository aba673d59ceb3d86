"""Latent layers whose kernels see the cache as rows of tokens are bound only where blocks lie whole rows apart."""

from dataclasses import replace

import pytest

import golden
import kvinspect
from kvinspect.document.model import KernelEntry
from kvinspect.models.config import load_model
from kvinspect.models.memory import Memory
from kvinspect.question.model import ModelQuestion, Served
from kvinspect.question.question import Question, Rules

MODEL = golden.models() / "deepseek-ai__DeepSeek-V3.2.json"
LAYERS_INSIDE = {"VLLM_KV_CACHE_LAYOUT": "BLHNC"}
SPARSE = {"attention_backend": "FLASHMLA_SPARSE"}
COLD = {"kernel_config": {"enable_jit_warmup": False}}


def refusal(engine, given, env=LAYERS_INSIDE):
    return plan(engine, given, env).refusal


def plan(engine, given, env=LAYERS_INSIDE):
    return kvinspect.plan_model(
        MODEL, 40 << 30, engine=engine, device_capability="9.0", engine_args=given, env=env
    ).plan


def test_packed_rows_do_not_divide_a_block_of_all_layers():
    found = refusal("0.30", {"kv_cache_dtype": "fp8"})
    assert (found.type, found.stage, found.kind) == ("AssertionError", "bind", "partial-row")
    assert "3076352 bytes apart" in found.text
    assert "656 bytes (368 are left over)" in found.text
    assert "LBNHC" in found.text


def test_plain_rows_do_not_either():
    assert "1152 bytes (384 are left over)" in refusal("0.30", SPARSE).text


@pytest.mark.parametrize(
    ("engine", "given", "env"),
    [
        pytest.param("0.30", {"kv_cache_dtype": "fp8"}, {}, id="each layer has a region of its own"),
        pytest.param("0.29", {"kv_cache_dtype": "fp8"}, LAYERS_INSIDE, id="nothing is asserted up to 0.29"),
        pytest.param("0.33", {"kv_cache_dtype": "fp8"}, LAYERS_INSIDE, id="packed rows are read otherwise in 0.33"),
        pytest.param("0.33", SPARSE, LAYERS_INSIDE, id="0.33 makes the stride a multiple"),
        pytest.param("0.30", {"kv_cache_dtype": "fp8", **COLD}, LAYERS_INSIDE, id="no warm-up"),
        pytest.param("0.30", {}, LAYERS_INSIDE, id="another backend"),
    ],
)
def test_what_is_bound(engine, given, env):
    assert refusal(engine, given, env) is None


@pytest.mark.parametrize(
    ("engine", "given", "warm"),
    [
        ("0.30", {}, True),
        ("0.30", {"enforce_eager": True}, True),
        ("0.33", {}, True),
        ("0.33", {"enforce_eager": True}, False),
        ("0.33", {"enforce_eager": True, "enable_fault_tolerance": True}, True),
        ("0.33", COLD, False),
    ],
)
def test_which_engine_warms_up(engine, given, warm):
    assert plan(engine, given, {}).deployment.jit_warmup == warm


def test_a_cache_that_is_given_is_refused_as_its_plan_is():
    served = Served.of(load_model(MODEL), {"kv_cache_dtype": "fp8", **COLD}, lambda: Rules.of("0.30"))
    asked = ModelQuestion(served.within(LAYERS_INSIDE), Memory(40 << 30, "given")).cache
    cold = asked.cache_of(asked.plan)
    warm = cold._replace(model=replace(cold.model, kernel_config=KernelEntry()))
    setting = asked.setting._replace(num_blocks=cold.num_blocks)
    refusals = [Question(one, asked.release, setting).align.refusal for one in (cold, warm)]
    assert [found and found.kind for found in refusals] == [None, "partial-row"]
