"""`plan`: groups, tensors, number of blocks and capacity from the release's own planner."""

import dataclasses
import enum
import importlib
import importlib.util

import pretend

from bridge import configuration, documents, layouts
from bridge.failures import reason
from bridge.names import expand


def answer(document):
    """The plan of the first worker; `error` says at which stage the engine refuses."""
    config = configuration.vllm_config(document)
    config.cache_config.num_gpu_blocks_override = document.get("num_gpu_blocks_override")
    config.max_in_flight_tokens = in_flight(config)
    configuration.set_current(config)
    out = {"schema_version": 1, "engine": pretend.version()}
    stage = "spec"
    try:
        specs, backends = layers(document)
        stage = "layout"
        layout = layouts.resolve(config, document.get("kv_cache_layout"), backends, specs.values())
        if layout is not None:
            out["kv_cache_layout"] = layout.name
        stage = "plan"
        memory = document["available_memory"]
        memory = memory if isinstance(memory, list) else [memory]
        planned = configs(config, [dict(specs) for _ in memory], memory)[0]
        stage = "capacity"
        tokens, concurrency = capacity(config, planned) if planned.kv_cache_groups else (None, None)
    except Exception as error:
        refused = {"groups": [], "kv_cache_tensors": [], "num_blocks": None, "num_tokens": None}
        out |= {**refused, "max_concurrency": None, "error": {"stage": stage, **reason(error)}}
    else:
        out |= {**plain_config(planned), "num_tokens": tokens, "max_concurrency": concurrency, "error": None}
    return {**out, "max_model_len": config.model_config.max_model_len}


def in_flight(config):
    """Tokens in flight, by the release's own rule where it has one."""
    from vllm.config import VllmConfig

    rule = getattr(VllmConfig, "max_in_flight_tokens", None)
    if isinstance(rule, property):
        return rule.fget(config)
    return config.max_concurrent_batches * config.scheduler_config.max_num_batched_tokens


def layers(document):
    """(layer → spec, backends) as the engine plans with them."""
    specs, backends = {}, []
    for key, described in document["kv_cache_specs"].items():
        described = dict(described)
        name = described.pop("backend", None)
        for layer in expand(key):
            spec = documents.build_spec(described)
            if name:
                backends.append(documents.backend_class(name, document))
                spec = layouts.customized(backends[-1], spec, document)
            specs[layer] = spec
    return specs, backends


def configs(config, workers, memory):
    """The configurations of all workers; from 0.33 on groups are made before them."""
    planning = home("kv_cache_planning")
    if planning is None:
        return home("kv_cache_utils").get_kv_cache_configs(config, workers, memory)
    groups = planning.get_global_kv_cache_groups(config, workers)
    return planning.get_kv_cache_configs(config, workers, memory, groups)


def home(name):
    """A module of the planner's, None where the release has none of that name."""
    name = f"vllm.v1.core.{name}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def capacity(config, planned):
    """(tokens, concurrency); older releases count no tokens."""
    from vllm.v1.core import kv_cache_utils as utils

    if hasattr(utils, "get_kv_cache_capacity"):
        return utils.get_kv_cache_capacity(config, planned)
    return None, utils.get_max_concurrency_for_kv_cache_config(config, planned)


def plain_config(planned):
    """A configuration as JSON."""
    groups = [
        {"layer_names": list(group.layer_names), "kv_cache_spec": plain_spec(group.kv_cache_spec)}
        for group in planned.kv_cache_groups
    ]
    tensors = [plain_tensor(tensor) for tensor in planned.kv_cache_tensors]
    return {"groups": groups, "kv_cache_tensors": tensors, "num_blocks": planned.num_blocks}


def plain_spec(spec):
    """A spec with the fields that are not as they are by default."""
    import vllm.v1.kv_cache_interface as interface

    if isinstance(spec, interface.UniformTypeKVCacheSpecs):
        return {
            "kind": "uniform_type",
            "type": type(spec).__name__,
            "block_size": spec.block_size,
            "page_size_bytes": spec.page_size_bytes,
            "kv_cache_specs": {name: plain_spec(inner) for name, inner in spec.kv_cache_specs.items()},
        }
    out = {"kind": documents.kind_of(spec), "type": type(spec).__name__}
    for field in dataclasses.fields(spec):
        value = getattr(spec, field.name)
        if said(field, value):
            out[field.name] = plain(value)
    return {**out, "page_size_bytes": spec.page_size_bytes}


def said(field, value):
    """Whether a field of a spec is worth a word."""
    if field.name == "kv_quant_mode":
        return value is not None and value.name != "NONE"
    by_default = field.default is not dataclasses.MISSING and value == field.default
    return not (value is None or field.name.startswith("_") or by_default)


def plain_tensor(tensor):
    """A tensor of the cache as JSON."""
    if hasattr(tensor, "shared_by"):
        names = ("size", "offset", "block_stride")
        return {**{name: getattr(tensor, name) for name in names}, "shared_by": list(tensor.shared_by)}
    names = ("size", "layer_stride", "block_stride", "offset")
    return {**{name: getattr(tensor, name) for name in names}, "layers": list(tensor.layers)}


def plain(value):
    """A value as JSON."""
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if value is None or isinstance(value, (int, float, str, bool)):
        return value
    return str(value).removeprefix("torch.")
