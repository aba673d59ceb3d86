"""What the configuration refuses of the model runner that the environment names."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.backends.model_runner import unfit
from kvinspect.document.load import load
from kvinspect.models.configuration.call import Call, Rule, Stop
from kvinspect.models.drafting import has_experts
from kvinspect.provenance import vllm

NAME = "VLLM_USE_V2_MODEL_RUNNER"


@vllm("VllmConfig._validate_v2_model_runner")
def runner_of_the_environment(call: Call) -> Iterator[Stop]:
    """The runner that the environment names can do what is asked for, as far as a document says it."""
    runner = call.arguments.forced_runner
    if runner is None:
        return
    drafting, arguments = call.stage.specs.drafting, call.arguments
    said = {
        "platform": call.setting.platform,
        "model_config": {
            "architectures": [call.setting.architecture.name],
            "is_hybrid": call.setting.is_hybrid,
            "is_moe": has_experts(call.text),
        },
        **(drafting.said if drafting else {}),
        "parallel_config": {
            "tensor_parallel_size": arguments.tensor_parallel_size,
            "pipeline_parallel_size": arguments.pipeline_parallel_size,
            "prefill_context_parallel_size": arguments.prefill_context_parallel_size,
        },
    }
    for feature in unfit(load(said, call.stage.source), call.setting.release.version, runner):
        yield Stop(NAME, f"model runner {runner}, which {NAME} names, does not support {feature}")


RULES: tuple[Rule, ...] = (runner_of_the_environment,)
