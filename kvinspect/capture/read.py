"""From the objects of a running engine to an inspection document.

What a document needs is read without a net: where it is not as expected there is no document. The rest is left out
where an engine does not have it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from kvinspect.capture import backends, settings
from kvinspect.capture.spec_entries import if_there, plain, spec_entry
from kvinspect.capture.tensors import Storages, captured_layers
from kvinspect.capture.write import Rank
from kvinspect.version import __version__

RUNNERS = {"vllm.v1.worker.gpu_model_runner": "v1", "vllm.v1.worker.gpu.model_runner": "v2"}
"""The module of a model runner, or of a class that it is made of → what it is called."""


class Requested(NamedTuple):
    """What the engine was asked for, read before it decides."""

    cudagraph_mode: Any


def requested_of(wrapper: Any) -> Requested:
    """The CUDA graph mode before the backends have a say in it."""
    return Requested(wrapper.vllm_config.compilation_config.cudagraph_mode)


class Engine(NamedTuple):
    """A worker whose KV cache is there."""

    vllm_config: Any
    runner: Any
    kv_cache_config: Any

    @property
    def layers(self) -> Mapping[str, Any]:
        """Layer name → the layer."""
        layers: Mapping[str, Any] = self.vllm_config.compilation_config.static_forward_context
        return layers

    @property
    def attention_groups(self) -> list[Any]:
        """The runner's attention groups, all KV cache groups' in one list."""
        return [group for groups in self.runner.attn_groups for group in groups]

    @property
    def num_groups(self) -> int:
        """KV cache groups; the older runner puts encoder-only layers behind them in its own copy."""
        return len(self.kv_cache_config.kv_cache_groups)

    @property
    def shared_kv_cache_layers(self) -> dict[str, str]:
        """KV-sharing layer → the layer whose cache it uses."""
        targets = {name: getattr(layer, "kv_sharing_target_layer_name", None) for name, layer in self.layers.items()}
        return {name: target for name, target in targets.items() if isinstance(target, str)}


def document_of(wrapper: Any, kv_cache_config: Any, requested: Requested, rank: Rank) -> dict[str, Any]:
    """The inspection document of a worker, what its tensors really are under `captured`."""
    engine = Engine(wrapper.vllm_config, wrapper.worker.model_runner, kv_cache_config)
    inside = [group for group in engine.attention_groups if group.kv_cache_group_id < engine.num_groups]
    outside = [group for group in engine.attention_groups if group.kv_cache_group_id >= engine.num_groups]
    document = {
        **_header(engine),
        "kv_cache_config": _cache(kv_cache_config),
        "attention_groups": backends.attention_groups(inside, engine.layers),
        "encoder_attention_groups": backends.encoder_groups(outside),
        "shared_kv_cache_layers": engine.shared_kv_cache_layers,
        "backends": if_there(lambda: backends.foreign_backends(engine.attention_groups, engine.vllm_config)),
        **settings.of(engine.vllm_config, requested.cudagraph_mode),
        "captured": _captured(engine, requested, rank),
    }
    return {key: value for key, value in document.items() if value not in (None, {}, [])}


def _header(engine: Engine) -> dict[str, Any]:
    platform = sys.modules["vllm.platforms"].current_platform
    words = [word for word in ("cuda", "rocm", "xpu", "cpu") if if_there(getattr(platform, f"is_{word}", None) or bool)]
    capability = if_there(platform.get_device_capability)
    return {
        "engine": ".".join(version().split(".")[:2]),
        "model_runner": runner_of(engine.runner),
        "platform": words[0] if words else None,
        "device_capability": f"{capability[0]}.{capability[1]}" if capability else None,
        "cache_dtype": plain(engine.vllm_config.cache_config.cache_dtype),
        "kv_cache_layout": layout(engine.vllm_config),
    }


def version() -> str:
    """The release of the engine."""
    return str(sys.modules["vllm"].__version__)


def runner_of(runner: Any) -> str | None:
    """v1 or v2 by the module that a runner's class comes from, None where it is neither."""
    return next((RUNNERS[cls.__module__] for cls in type(runner).__mro__ if cls.__module__ in RUNNERS), None)


def layout(vllm_config: Any) -> str | None:
    """The layout in force: resolved in the configuration from 0.29 on, a function's answer before."""
    resolved = getattr(vllm_config.cache_config, "get_resolved_kv_cache_layout", None)
    module = sys.modules.get("vllm.v1.attention.backends.utils")
    word = if_there(resolved or getattr(module, "get_kv_cache_layout", None) or str)
    return str(getattr(word, "name", word)) if word else None


def _cache(config: Any) -> dict[str, Any]:
    groups = [
        {
            "layer_names": list(group.layer_names),
            "kv_cache_spec": spec_entry(group.kv_cache_spec),
            **({"is_eagle_group": True} if getattr(group, "is_eagle_group", False) else {}),
        }
        for group in config.kv_cache_groups
    ]
    tensors = [_tensor(tensor) for tensor in config.kv_cache_tensors]
    return {"num_blocks": config.num_blocks, "kv_cache_groups": groups, "kv_cache_tensors": tensors}


def _tensor(tensor: Any) -> dict[str, Any]:
    """An allocation; its layers are called `layers`, and have a stride of their own, from 0.29 on."""
    names = "layers" if hasattr(tensor, "layers") else "shared_by"
    strides = {key: getattr(tensor, key, 0) for key in ("offset", "layer_stride", "block_stride")}
    return {"size": tensor.size, names: list(getattr(tensor, names)), **{k: v for k, v in strides.items() if v}}


def _captured(engine: Engine, requested: Requested, rank: Rank) -> dict[str, Any]:
    names = [name for group in engine.kv_cache_config.kv_cache_groups for name in group.layer_names]
    wanted = {name: engine.layers[name] for name in (*names, *engine.shared_kv_cache_layers) if name in engine.layers}
    storages = Storages()
    layers = captured_layers(wanted, getattr(engine.runner, "kv_caches", ()), storages)
    sizes = getattr(engine.runner, "kernel_block_sizes", None) or getattr(engine.runner, "_kernel_block_sizes", None)
    facts = {
        "kvinspect": __version__,
        "vllm": version(),
        "torch": if_there(lambda: str(sys.modules["torch"].__version__)),
        "model_runner": f"{type(engine.runner).__module__}.{type(engine.runner).__qualname__}",
        "device": if_there(lambda: str(engine.runner.device)),
        "device_name": if_there(lambda: str(sys.modules["vllm.platforms"].current_platform.get_device_name())),
        "rank": rank._asdict(),
        "kernel_block_sizes": list(sizes)[: engine.num_groups] if sizes else None,
        "cudagraph": _cudagraph(engine, requested),
        "storages": storages.sizes,
        "layers": layers,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _cudagraph(engine: Engine, requested: Requested) -> dict[str, Any]:
    groups = [
        {
            "kv_cache_group_id": group.kv_cache_group_id,
            "backend": backends.name_of(group.backend),
            "support": if_there(partial(backends.cudagraph_support, group, engine.vllm_config)),
        }
        for group in engine.attention_groups
    ]
    resolved = engine.vllm_config.compilation_config.cudagraph_mode
    return {"requested_mode": plain(requested.cudagraph_mode), "resolved_mode": plain(resolved), "groups": groups}
