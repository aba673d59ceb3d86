"""What a model's cache is planned from: values, which say what the planning document would say."""

import pytest

import golden
import kvinspect
from kvinspect.models.config import load_model
from kvinspect.models.memory import Memory
from kvinspect.planning.inputs import inputs_of
from kvinspect.question.model import ModelQuestion, Served, spoken
from kvinspect.question.question import Rules, under

CONFIGS = sorted(golden.models().glob("*.json"))
WITH = [
    {},
    {"pipeline_parallel_size": 2, "kv_cache_dtype": "fp8"},
    {"speculative_config": {"num_speculative_tokens": 2, "method": "mtp"}, "max_num_seqs": 7},
    {"kv_transfer_config": {"kv_connector": "NixlConnector", "kv_role": "kv_both"}},
    {"compilation_config": {"cudagraph_mode": "PIECEWISE", "mode": 3}, "num_gpu_blocks_override": 100},
    {"kernel_config": {"enable_jit_warmup": False}, "kv_cache_dtype": "fp8"},
]


@pytest.mark.parametrize("engine", ["0.25", "0.27", "0.28", "0.29", "0.33"])
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_values_say_what_the_document_would(path, engine):
    for given in WITH:
        asked = _asked(path, engine, given)
        if asked is not None:
            assert _of_values(asked) == _of_document(asked)


@pytest.mark.parametrize("variables", [{"VLLM_KV_CACHE_LAYOUT": "HND"}, {"VLLM_USE_V2_MODEL_RUNNER": "0"}])
def test_values_say_what_the_document_would_of_the_environment(variables):
    asked = _asked(golden.models() / "Qwen__Qwen3-8B.json", "0.27", {}, variables)
    assert _of_values(asked) == _of_document(asked)


def _asked(path, engine, given, variables=None):
    """The question about a model's cache, None where the engine would not start with it."""
    model = load_model(path)
    try:
        with spoken(model):
            served = Served.of(model, given, lambda: Rules.of(engine)).within(variables or {})
            return ModelQuestion(served, Memory(1 << 40, "given")).cache
    except kvinspect.DocumentError:
        return None


def _of_values(asked):
    inputs = asked.planning.inputs(asked.setting.kv_cache_layout)
    return asked.setting, asked.release.deployment(asked.said), *_comparable(inputs)


def _of_document(asked):
    document = asked.document
    release, setting = under(Rules.of(asked.setting.engine), document)
    return setting, release.deployment(document.model), *_comparable(inputs_of(document, release))


def _comparable(inputs):
    backends = {layer: (backend.name, backend.layouts) for layer, backend in inputs.backends.items()}
    specs, workers = list(inputs.specs.items()), [list(worker.items()) for worker in inputs.workers]
    return specs, workers, inputs.memory, backends
