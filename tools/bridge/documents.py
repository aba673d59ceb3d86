"""Documents as vLLM's own objects: specs, backends and layers."""

from functools import cache

import pretend

from bridge.failures import Missing
from bridge.names import expand

KINDS = {
    "full_attention": "FullAttentionSpec",
    "mla_attention": "MLAAttentionSpec",
    "sliding_window": "SlidingWindowSpec",
    "sliding_window_mla": "SlidingWindowMLASpec",
    "mamba": "MambaSpec",
    "chunked_local_attention": "ChunkedLocalAttentionSpec",
    "sink_full_attention": "SinkFullAttentionSpec",
    "encoder_only_attention": "EncoderOnlyAttentionSpec",
    "cross_attention": "CrossAttentionSpec",
    "uniform_type": "UniformTypeKVCacheSpecs",
    "tq_full_attention": "TQFullAttentionSpec",
    "rswa": "RSWASpec",
    "hidden_state_cache": "HiddenStateCacheSpec",
    "circular_buffer": "CircularBufferSpec",
    "kpool_tail": "KpoolTailSpec",
    "hisparse_hot": "HiSparseHotSpec",
    "hisparse_resident": "HiSparseResidentSpec",
}
LATENT = ("MLAAttentionSpec", "SlidingWindowMLASpec", "HiddenStateCacheSpec")


def model_runner(document):
    """'v2' (the default) or 'v1'."""
    word = str(document.get("model_runner") or "v2").lower()
    if word not in ("v1", "v2"):
        raise ValueError(f"model_runner is v1 or v2, not {word!r}")
    return word


def dtype_of(name):
    """A dtype of torch's by its name or vLLM's."""
    import torch

    name = str(name).removeprefix("torch.")
    return getattr(torch, {"half": "float16", "float": "float32"}.get(name, name))


def enum_of(enum, value):
    """A member by its name, with or without the enum's, or by its number."""
    if isinstance(value, bool) or not isinstance(value, int):
        return enum[str(value).rsplit(".", 1)[-1].upper()]
    return enum(value)


def build_spec(described):
    """The spec that a document describes. What vLLM raises while it is built is let through."""
    import vllm.v1.kv_cache_interface as interface
    from vllm.v1.attention.backends.registry import MambaAttentionBackendEnum

    fields = dict(described)
    kind = fields.pop("kind", None) or fields.get("type")
    fields.pop("type", None)
    name = KINDS.get(kind, kind)
    cls = getattr(interface, name, None)
    if cls is None:
        raise ValueError(f"this release has no {name}")
    if name == "UniformTypeKVCacheSpecs":
        inner = {one: build_spec(spec) for key, spec in fields["kv_cache_specs"].items() for one in expand(key)}
        return cls(block_size=fields.get("block_size", next(iter(inner.values())).block_size), kv_cache_specs=inner)
    readers = {
        "dtype": dtype_of,
        "dtypes": lambda value: tuple(map(dtype_of, value)),
        "shapes": lambda value: tuple(map(tuple, value)),
        "kv_quant_mode": lambda value: None if value is None else enum_of(interface.KVQuantMode, value),
        "mamba_type": lambda value: enum_of(MambaAttentionBackendEnum, value),
    }
    fields = {key: readers[key](value) if key in readers else value for key, value in fields.items()}
    if name in LATENT:
        fields.setdefault("num_kv_heads", 1)
    return cls(**fields)


def kind_of(spec):
    """The document's word for a spec's kind."""
    import vllm.v1.kv_cache_interface as interface

    if isinstance(spec, interface.UniformTypeKVCacheSpecs):
        return "uniform_type"
    found = interface.get_kv_cache_spec_kind(spec).value
    if found != "unknown":
        return found
    return next((kind for kind, name in KINDS.items() if name == type(spec).__name__), found)


def backend_class(name, document):
    """A backend by vLLM's name, by its class's name, or one of the document's own."""
    if name in (document.get("backends") or {}):
        made = document.setdefault("_backend_classes", {})
        if name not in made:
            made[name] = out_of_tree(name, document["backends"][name])
        return made[name]
    return known_backend(name)


@cache
def known_backend(name):
    """A backend that the release has."""
    for member_name, member in members():
        path = member.value or ""
        if name == member_name or (path and path.rsplit(".", 1)[-1] == name):
            return pretend.load(member.get_class)
    raise KeyError(f"unknown backend {name}")


def backend_name(cls, document):
    """vLLM's name of a backend's class."""
    found = (name for name, member in members() if (member.value or "").endswith("." + cls.__name__))
    return next(found, cls.__name__)


def members():
    """(name, member) of every backend in vLLM's two lists."""
    from vllm.v1.attention.backends import registry

    for enum in (registry.AttentionBackendEnum, registry.MambaAttentionBackendEnum):
        yield from enum.__members__.items()


def out_of_tree(name, described):
    """A backend that a document describes, as a real AttentionBackend."""
    from vllm.v1.attention.backend import AttentionBackend, AttentionCGSupport, AttentionMetadataBuilder, MultipleOf

    class Builder(AttentionMetadataBuilder):
        _cudagraph_support = AttentionCGSupport[described.get("cudagraph_support", "NEVER")]

        def __init__(self, *a, **k):
            pass

        def build(self, *a, **k):
            raise NotImplementedError

    def shape(num_blocks, block_size, num_kv_heads, head_size, cache_dtype_str="auto"):
        names = {
            "num_blocks": num_blocks, "block_size": block_size, "num_kv_heads": num_kv_heads, "head_size": head_size,
        }  # fmt: skip
        return tuple(product(entry, names) for entry in described["kv_cache_shape"])

    def order(include_num_layers_dimension=False):
        given = described.get("kv_cache_stride_order")
        if given is None or include_num_layers_dimension:
            raise NotImplementedError
        if isinstance(given, dict):
            from vllm.v1.attention.backends.utils import get_kv_cache_layout

            given = given[get_kv_cache_layout()]
        return tuple(given)

    written = [str(size) for size in described.get("supported_kernel_block_sizes", ["1n"])]
    sizes = [MultipleOf(int(size[:-1])) if size.endswith("n") else int(size) for size in written]
    answers = {
        "get_name": lambda: name,
        "get_impl_cls": lambda: None,
        "get_builder_cls": lambda: Builder,
        "get_kv_cache_shape": shape,
        "get_kv_cache_stride_order": order,
        "get_supported_kernel_block_sizes": lambda *a: list(sizes),
    }
    home = {"__module__": "out_of_tree", "__qualname__": name}
    return type(name, (AttentionBackend,), {**home, **{key: staticmethod(value) for key, value in answers.items()}})


def product(entry, names):
    """A number of a shape: `2*head_size` with the names' values."""
    if isinstance(entry, int):
        return entry
    value = 1
    for factor in entry.replace(" ", "").split("*"):
        value *= int(factor) if factor.isdigit() else names[factor]
    return value


@cache
def layer_classes():
    """(attention, state): layers that answer with a document's backend and spec."""
    import torch
    from vllm.model_executor.layers.attention import Attention
    from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase

    class AttentionLayer(Attention):  # vLLM asks isinstance; its set-up is left out
        def __init__(self, backend, num_heads, target, spec):
            torch.nn.Module.__init__(self)
            self.described = (backend, spec)
            self.num_heads = num_heads
            self.kv_sharing_target_layer_name = target

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                raise Missing(f"the stand-in for an attention layer has no {name!r}") from None

        def get_attn_backend(self):
            return self.described[0]

        def get_kv_cache_spec(self, vllm_config):
            return self.described[1]

    class StateLayer(AttentionLayerBase):
        def __init__(self, backend, spec):
            self.described = (backend, spec)

        def __getattr__(self, name):
            raise Missing(f"the stand-in for a state-space layer has no {name!r}")

        def get_attn_backend(self):
            return self.described[0]

        def get_kv_cache_spec(self, vllm_config):
            return self.described[1]

    return AttentionLayer, StateLayer
