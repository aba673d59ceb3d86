"""The cache's layout: by the environment up to 0.28, resolved by the engine's own function from 0.29 on."""

import dataclasses
import os


def force(layout, backends):
    """The layout in force up to 0.28: VLLM_KV_CACHE_LAYOUT is the document's, and a backend that requires one wins."""
    import vllm.v1.attention.backends.utils as utils

    _set_variable(layout)
    utils.set_kv_cache_layout(None)
    for backend in backends:
        required = backend.get_required_kv_cache_layout()
        if required is not None:
            utils.set_kv_cache_layout(required)
    return utils.get_kv_cache_layout()


def customized(backend, spec, document):
    """A spec as the engine plans with it, once the layer's backend has had its say."""
    import vllm.v1.kv_cache_interface as interface

    if not isinstance(spec, interface.AttentionSpec):
        return spec
    spec = published(backend, spec)
    if any(field.name == "indexes_kv_by_block_stride" for field in dataclasses.fields(spec)):
        force(document.get("kv_cache_layout") or "NHD", [backend])
        spec = dataclasses.replace(spec, indexes_kv_by_block_stride=backend.indexes_kv_by_block_stride())
    return spec


def published(backend, spec):
    """A spec with the packing that its backend publishes, from 0.28 on."""
    from vllm.v1.worker import utils

    if hasattr(utils, "customize_attention_spec"):
        return utils.customize_attention_spec(backend, spec)
    return backend.customize_spec(spec) if hasattr(backend, "customize_spec") else spec


def resolve(config, layout, backends, specs):
    """The layout from 0.29 on, None for releases that do not resolve it."""
    import vllm.v1.attention.backends.utils as utils

    if not hasattr(utils, "resolve_kv_cache_layout"):
        return None
    from vllm.config import CacheConfig

    _set_variable(layout)
    ours = config.cache_config
    ours.kv_cache_layout = None
    ours.get_resolved_kv_cache_layout = lambda: CacheConfig.get_resolved_kv_cache_layout(ours)
    return resolved(config, backends, specs)


def resolved(config, backends, specs):
    """What the engine resolves when all workers have the same backends; 0.32 hands names on, others enum members."""
    import vllm.v1.attention.backends.utils as utils

    supported = [getattr(one, "name", one) for one in utils.get_supported_kv_cache_layouts(backends)]
    return utils.resolve_kv_cache_layout(config, [supported], list(specs))


def _set_variable(layout):
    os.environ.pop("VLLM_KV_CACHE_LAYOUT", None)
    if layout:
        os.environ["VLLM_KV_CACHE_LAYOUT"] = layout
