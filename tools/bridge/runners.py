"""Which model runner a release picks: its real `VllmConfig.use_v2_model_runner`, asked of made-up configurations.

Triton is taken to be there; `without_triton` says what happens where it is not.
"""

import contextlib
import importlib
import os

import pretend

from bridge.configuration import Part

MODELS = {
    "dense": {},
    "moe": {"model_config": {"is_moe": True}},
    "hybrid": {"model_config": {"is_hybrid": True}},
    "hybrid_moe": {"model_config": {"is_hybrid": True, "is_moe": True}},
    "attention_free": {"model_config": {"is_attention_free": True}},
    "pooling": {"model_config": {"runner_type": "pooling"}},
    "diffusion": {"model_config": {"is_diffusion": True}},
}
METHODS = (
    "eagle",
    "eagle3",
    "mtp",
    "dflash",
    "dspark",
    "ngram",
    "ngram_gpu",
    "draft_model",
    "suffix",
    "medusa",
    "mlp_speculator",
    "custom_class",
    "extract_hidden_states",
)
FEATURES = {
    "compilation_config.mode=STOCK_TORCH_COMPILE": {"compilation_config": {"mode": "STOCK_TORCH_COMPILE"}},
    "pass_config.enable_sp, tensor_parallel_size>1": {
        "pass_config": {"enable_sp": True},
        "parallel_config": {"tensor_parallel_size": 2},
    },
    "distributed_executor_backend=external_launcher, pipeline_parallel_size>1": {
        "parallel_config": {"distributed_executor_backend": "external_launcher", "pipeline_parallel_size": 2}
    },
    "prefill_context_parallel_size>1": {"parallel_config": {"prefill_context_parallel_size": 2}},
    "prefill_context_parallel_size>1, MLA": {
        "parallel_config": {"prefill_context_parallel_size": 2},
        "model_config": {"use_mla": True},
    },
    **{f"speculative_config.method={m}": {"speculative_config": {"method": m}} for m in METHODS},
    "speculative_config.method=eagle, parallel_drafting": {
        "speculative_config": {"method": "eagle", "parallel_drafting": True}
    },
    "speculative_config.method=eagle3, pipeline_parallel_size>1": {
        "speculative_config": {"method": "eagle3"},
        "parallel_config": {"pipeline_parallel_size": 2},
    },
    "speculative_config.method=dflash, draft with sliding and full layers": {
        "speculative_config": {"method": "dflash", "draft": {"layer_types": ["sliding_attention", "full_attention"]}}
    },
    "speculative_config.method=dflash, DFlash2DraftModel": {
        "speculative_config": {"method": "dflash", "draft": {"architectures": ["DFlash2DraftModel"]}}
    },
    "speculative_config.use_heterogeneous_vocab": {
        "speculative_config": {"method": "draft_model", "use_heterogeneous_vocab": True}
    },
    "speculative_config.enable_adaptive_verification, LoRA": {
        "speculative_config": {"method": "eagle", "enable_adaptive_verification": True},
        "lora_config": {},
    },
    "enable_dbo": {"parallel_config": {"enable_dbo": True, "use_ubatching": True}},
    "enable_elastic_ep": {"parallel_config": {"enable_elastic_ep": True}},
    "enable_return_routed_experts": {"model_config": {"enable_return_routed_experts": True}},
    "logits_processors": {"model_config": {"logits_processors": ["mine"]}},
    "enable_prompt_embeds": {"model_config": {"enable_prompt_embeds": True}},
    "logprobs_mode=raw_logits": {"model_config": {"logprobs_mode": "raw_logits"}},
    "kv_sharing_fast_prefill": {"cache_config": {"kv_sharing_fast_prefill": True}},
    "mamba_cache_mode=all": {"cache_config": {"mamba_cache_mode": "all"}},
    "ec_transfer_config": {"ec_transfer_config": {}},
}
PARTS = {
    "model_config": {
        "runner_type": "generate", "architectures": ["SomeForCausalLM"], "architecture": "SomeForCausalLM",
        "is_moe": False, "is_hybrid": False, "is_attention_free": False, "is_diffusion": False, "use_mla": False,
        "logits_processors": None, "enable_return_routed_experts": False, "enable_prompt_embeds": False,
        "logprobs_mode": "raw_logprobs",
    },
    "parallel_config": {
        "prefill_context_parallel_size": 1, "tensor_parallel_size": 1, "pipeline_parallel_size": 1,
        "decode_context_parallel_size": 1, "distributed_executor_backend": "mp", "enable_dbo": False,
        "use_ubatching": False, "enable_elastic_ep": False, "enable_batch_sharded_sampling": False,
    },
    "scheduler_config": {"async_scheduling": False},
    "cache_config": {"kv_sharing_fast_prefill": False, "mamba_cache_mode": "none"},
    "attention_config": {"hisparse_config": None},
    "pass_config": {"enable_sp": False},
    "compilation_config": {"mode": "VLLM_COMPILE"},
    "speculative_config": None, "lora_config": None, "ec_transfer_config": None, "diffusion_config": None,
    "watermark_config": None,
}  # fmt: skip
"""What the choice asks of a configuration, as it is by default."""
SPECULATIVE = {
    "method": None, "is_xpress": lambda: False, "parallel_drafting": False, "enable_adaptive_verification": False,
    "use_heterogeneous_vocab": False, "num_speculative_tokens": 3, "draft_lm_head_quantization": None, "draft": None,
}  # fmt: skip


def configuration(changes):
    """A VllmConfig made without its checks, with what the choice of the runner asks for."""
    from vllm.config import VllmConfig
    from vllm.config.compilation import CompilationMode, CUDAGraphMode

    parts = dict(PARTS)
    for part, values in changes.items():
        parts[part] = {**(parts[part] or (SPECULATIVE if part == "speculative_config" else {})), **values}
    if parts["speculative_config"] is not None:
        parts["speculative_config"] = with_draft(parts["speculative_config"])
    made = {name: None if values is None else Part(_of=name, **values) for name, values in parts.items()}
    compilation = made["compilation_config"]
    compilation.mode, compilation.pass_config = CompilationMode[compilation.mode], made.pop("pass_config")
    compilation.cudagraph_mode = CUDAGraphMode.FULL_AND_PIECEWISE
    config = object.__new__(VllmConfig)
    for name, part in made.items():
        object.__setattr__(config, name, part)
    return config


def with_draft(speculative):
    """Speculative decoding with the configuration of its draft."""
    described = {"layer_types": [], "architectures": [], **(speculative["draft"] or {})}
    model = Part(
        _of="draft ModelConfig",
        architectures=described["architectures"],
        hf_config=Part(_of="draft hf_config", layer_types=described["layer_types"]),
    )
    return {**{name: value for name, value in speculative.items() if name != "draft"}, "draft_model_config": model}


@contextlib.contextmanager
def triton(there):
    """With or without Triton."""
    home = importlib.import_module("vllm.config.vllm")
    old, home.HAS_TRITON = home.HAS_TRITON, there
    try:
        yield
    finally:
        home.HAS_TRITON = old


def picked(changes, variable=None, has_triton=True):
    """'v1', 'v2' or, where the release refuses even to choose, the exception's type."""
    os.environ.pop("VLLM_USE_V2_MODEL_RUNNER", None)
    if variable is not None:
        os.environ["VLLM_USE_V2_MODEL_RUNNER"] = variable
    try:
        with triton(has_triton):
            return "v2" if configuration(changes).use_v2_model_runner else "v1"
    except (AttributeError, TypeError, KeyError):
        raise  # a stand-in's fault
    except Exception as error:
        return type(error).__name__
    finally:
        os.environ.pop("VLLM_USE_V2_MODEL_RUNNER", None)


def started(changes, runner):
    """Whether the release's check of what that runner can't do lets it pass; None where there is no such check."""
    with triton(True):
        config = configuration(changes)
        check = getattr(type(config), f"_get_{runner}_model_runner_unsupported_features", None)
        return None if check is None else not check(config)


LISTS = {
    "default_v2": "DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES",
    "default_v1_on_rocm": "ROCM_DEFAULT_MRV1_ARCHITECTURES",
    "not_v2_on_rocm": "ROCM_EXCLUDED_V2_MODEL_RUNNER_ARCHITECTURES",
}


def answer(document):
    """What the release picks for every model, architecture and feature; the document says nothing."""
    home = importlib.import_module("vllm.config.vllm")
    listed = {key: sorted(getattr(home, name)) for key, name in LISTS.items() if hasattr(home, name)}
    names = sorted({one for several in listed.values() for one in several} | {"DeepseekV4ForCausalLM"})
    return {
        "engine": pretend.version(),
        "listed": listed,
        "architectures": {name: picked(of_experts(name)) for name in names},
        "hybrid_architectures": {name: picked(of_experts(name, is_hybrid=True)) for name in names},
        "models": {name: picked(change) for name, change in MODELS.items()},
        "features": {name: feature(change) for name, change in FEATURES.items()},
        "environment": {variable: picked({}, variable) for variable in ("0", "1")},
        "without_triton": {name: picked(change, has_triton=False) for name, change in MODELS.items()},
    }


def of_experts(name, **more):
    """A mixture of experts of an architecture."""
    return {"model_config": {"is_moe": True, "architectures": [name], "architecture": name, **more}}


def feature(change):
    """What is picked with a feature, and whether either runner can do it."""
    hybrid = {**change, "model_config": {**change.get("model_config", {}), "is_hybrid": True}}
    return {
        "dense": picked(change), "hybrid": picked(hybrid),
        "v2_can": started(change, "v2"), "v1_can": started(change, "v1"),
    }  # fmt: skip
