"""`specs`: what a release's own model classes derive from a `config.json`, and the plan made of it.

The configuration and model classes run on torch's meta device behind a made-up CUDA platform, so that neither weights
nor a GPU are needed. Each model is built in a child of this process, for a model leaves traces.
"""

import json
import os
import pathlib
import signal
import tempfile

from bridge import device, plan
from bridge.failures import is_ours, told

SECONDS = 150
"""How long one model may take."""
REFUSALS = (ValueError, AssertionError, NotImplementedError, ZeroDivisionError)
"""What vLLM refuses a model with while it is built; anything else there is a stand-in's failure."""


def prepare(platform, capability):
    """Be a machine with such a GPU."""
    device.be(tuple(map(int, capability.split("."))))


def answer(document):
    """The specs of every layer, and the plan; `error` where the engine refuses the model."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        signal.alarm(SECONDS)
        with os.fdopen(write, "w") as file:
            file.write(json.dumps(built(document)))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    _, status = os.waitpid(child, 0)
    if status or not text:
        signal_name = signal.Signals(status & 127).name if status & 127 else status >> 8
        return {"bridge_failure": f"the model's process ended with {signal_name}"}
    return json.loads(text)


def built(document):
    """The answer, made in this process."""
    stage = ["configuration"]
    try:
        with tempfile.TemporaryDirectory() as folder:
            files = {"config.json": json.dumps(document["config"]), **document.get("files", {})}
            for name, text in files.items():
                (pathlib.Path(folder) / name).write_text(text, encoding="utf-8")
            return specs(document, folder, stage)
    except BaseException as error:
        if is_ours(error) or (stage[0] == "model" and not isinstance(error, REFUSALS)):
            return {"bridge_failure": f"{stage[0]}: {told(error)}"}
        return {"error": {"type": type(error).__name__, "text": str(error)[:800], "stage": stage[0]}}


def specs(document, folder, stage):
    """What the engine derives; `stage` says how far it came."""
    from vllm.config import set_current_vllm_config

    ranks = document["engine_args"].get("pipeline_parallel_size", 1)
    stages, configs, workers, backends = [], [], [], []
    for rank in range(ranks):
        stage[0] = "configuration"
        config = engine_config(document, folder, ranks)
        stage[0] = "model"
        with set_current_vllm_config(config):
            device.join(config, rank, ranks)
            build(config, last=rank == ranks - 1)
            row, found, used = layers(config)
        stages.append(row)
        configs.append(config)
        workers.append(found)
        backends.append(used)
    out = {**stages[0], **({"stages": stages} if ranks > 1 else {})}
    if not document.get("available_memory") or not any(workers):
        return out
    with set_current_vllm_config(configs[0]):
        return {**out, **planned(configs[0], workers, backends, [document["available_memory"]] * ranks)}


def engine_config(document, folder, ranks):
    """The engine's own configuration."""
    from vllm.engine.arg_utils import EngineArgs

    arguments = dict(document["engine_args"])
    several = ranks * arguments.get("tensor_parallel_size", 1) > 1
    executor = {"distributed_executor_backend": "mp"} if several else {}
    made = EngineArgs(model=folder, load_format="dummy", skip_tokenizer_init=True, **{**executor, **arguments})
    return made.create_engine_config()


def build(config, last):
    """The model's modules, and a draft's behind the last stage."""
    import torch
    from vllm.model_executor.model_loader.utils import initialize_model
    from vllm.utils.torch_utils import set_default_torch_dtype

    from bridge import drafts

    with set_default_torch_dtype(config.model_config.dtype), torch.device("meta"), device.CudaIsMeta():
        target = initialize_model(config)
        if config.speculative_config is not None and last:
            drafts.load(config, target)


def layers(config):
    """(what is said of a stage, layer → spec, layer → backend)."""
    from vllm.config import get_layers_from_vllm_config
    from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase
    from vllm.platforms import current_platform
    from vllm.v1.worker.gpu.attn_utils import get_kv_cache_spec, get_shared_kv_cache_layers

    device.as_many_ranks(config)
    made = get_layers_from_vllm_config(config, AttentionLayerBase)
    used = {name: layer.get_attn_backend() for name, layer in made.items()}
    if hasattr(current_platform, "update_block_size_for_backend"):
        # Attention's and state-space layers' pages are aligned once the backends are known.
        current_platform.update_block_size_for_backend(config)
    found, sharing = get_kv_cache_spec(config), get_shared_kv_cache_layers(config)
    row = {
        "block_size": config.cache_config.block_size,
        "mamba_block_size": getattr(config.cache_config, "mamba_block_size", None),
        "cache_dtype": config.cache_config.cache_dtype,
        "max_model_len": config.model_config.max_model_len,
        "layers": {
            name: {**device.plain_spec(spec), "backend": used[name].get_name() if name in used else None}
            for name, spec in found.items()
        },
        "shared_kv_cache_layers": sharing,
        "no_cache": sorted(name for name in used if name not in found and name not in sharing),
    }
    return row, found, used


def planned(config, workers, backends, memory):
    """The layout and the first worker's plan, or what the engine refuses them with."""
    import vllm.v1.attention.backends.utils as utils

    from bridge.layouts import resolved

    layout = {}
    try:
        if hasattr(utils, "resolve_kv_cache_layout"):
            for specs, used in zip(workers, backends, strict=True):
                mine = [used[name] for name in specs if name in used]
                layout = {"kv_cache_layout": resolved(config, mine, specs.values()).name}
        made = plan.configs(config, workers, memory)[0]
        tokens, concurrency = plan.capacity(config, made)
    except Exception as error:
        if is_ours(error):
            raise
        return {**layout, "plan": {"error": {"type": type(error).__name__, "text": str(error)[:600]}}}
    groups = [
        {"layer_names": group.layer_names, "spec": device.plain_spec(group.kv_cache_spec)}
        for group in made.kv_cache_groups
    ]
    tensors = [plan.plain_tensor(tensor) for tensor in made.kv_cache_tensors]
    found = {"num_blocks": made.num_blocks, "groups": groups, "tensors": tensors}
    return {**layout, "plan": {**found, "tokens": tokens, "max_concurrency": concurrency}}
