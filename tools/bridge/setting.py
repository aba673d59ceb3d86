"""A document turned into the engine's objects, up to and including its own `init_attn_backend`."""

import importlib

from bridge import configuration, documents, layouts
from bridge.failures import Refused
from bridge.names import expand, expand_all
from bridge.plan import home

ENOUGH = 1 << 44
"""Memory for the planner, which the document's number of blocks overrides."""


class Recorder:
    """In place of a module's logger."""

    def __init__(self):
        self.messages = []

    def __getattr__(self, level):
        def log(message, *arguments, **more):
            self.messages.append((level, message % arguments if arguments else message))

        return log


class Setting:
    """The engine's objects for a document."""

    def __init__(self, document):
        self.document = document
        self.interface = importlib.import_module("vllm.v1.kv_cache_interface")
        self.utils = importlib.import_module("vllm.v1.worker.gpu.attn_utils")
        self.config = configuration.vllm_config(document)
        configuration.set_current(self.config)
        self.cache = document["kv_cache_config"]
        self.num_blocks = self.cache["num_blocks"]
        self.group_names = [expand_all(group["layer_names"]) for group in self.cache["kv_cache_groups"]]
        self.read_names()
        self.specs = self.at("spec", self.build_specs)
        self.name_states()
        self.at("customize_spec", self.customize)
        self.backend_of = {name: documents.backend_class(self.names_of[name], document) for name in self.all_names()}
        self.layout = self.at("layout", self.resolve_layout)
        self.groups = self.planned_groups()
        self.planned = self.at("placement", self.place)
        self.make_layers()
        self.init_backends()

    def at(self, stage, function):
        """A step's result; what it raises is a refusal at a stage."""
        try:
            return function()
        except Exception as error:
            raise Refused(stage, error) from error

    def all_names(self):
        """Every layer, those that share another's cache last."""
        return [name for names in self.group_names for name in names] + list(self.shared)

    def read_names(self):
        """Backends and query heads by layer."""
        document, by_default = self.document, (self.document.get("model_config") or {}).get("num_attention_heads", 0)
        sharing = document.get("shared_kv_cache_layers") or {}
        self.shared = {name: target for key, target in sharing.items() for name in expand(key)}
        self.names_of, self.heads_of = {}, {}
        for group, names in zip(self.cache["kv_cache_groups"], self.group_names, strict=True):
            self.heads_of |= dict.fromkeys(names, by_default)
            if group.get("backend"):
                self.names_of |= dict.fromkeys(names, group["backend"])
        for group in document.get("attention_groups") or []:
            names = expand_all(group["layer_names"])
            self.names_of |= dict.fromkeys(names, group["backend"])
            self.heads_of |= dict.fromkeys(names, group.get("num_heads_q", by_default))
        for name, target in self.shared.items():
            self.names_of.setdefault(name, self.names_of.get(target))
            self.heads_of.setdefault(name, self.heads_of.get(target, by_default))

    def build_specs(self):
        """A spec for each group."""
        return [documents.build_spec(group["kv_cache_spec"]) for group in self.cache["kv_cache_groups"]]

    def name_states(self):
        """State-space layers without a backend have the one of their kind."""
        for spec, names in zip(self.specs, self.group_names, strict=True):
            for name in names:
                if self.names_of.get(name) is None and isinstance(spec, self.interface.MambaSpec):
                    self.names_of[name] = spec.mamba_type.name

    def customize(self):
        """What a backend does to a layer's spec before the engine plans; nothing to one that is customized."""
        for i, spec in enumerate(self.specs):
            if isinstance(spec, self.interface.UniformTypeKVCacheSpecs):
                for name, inner in spec.kv_cache_specs.items():
                    spec.kv_cache_specs[name] = self.customized(inner, name)
            elif self.group_names[i]:
                self.specs[i] = self.customized(spec, self.group_names[i][0])

    def customized(self, spec, name):
        """A spec with what its backend publishes; backends with a V head of its own are told its size first."""
        if not isinstance(spec, self.interface.AttentionSpec) or not self.names_of.get(name):
            return spec
        backend = documents.backend_class(self.names_of[name], self.document)
        if hasattr(backend, "set_head_size_v"):
            backend.set_head_size_v(getattr(spec, "head_size_v", None) or spec.head_size)
        return layouts.published(backend, spec)

    @property
    def older(self):
        """Whether the release reshapes by backends, as up to 0.28."""
        return hasattr(self.utils, "_reshape_kv_cache")

    def resolve_layout(self):
        """The name of the layout in force."""
        backends = list(dict.fromkeys(self.backend_of[name] for name in self.all_names()))
        if self.older:
            return layouts.force(self.document.get("kv_cache_layout"), backends)
        attention = [backend for backend in backends if not backend.is_ssm()]
        specs = [inner for spec in self.specs for inner in self.parts(spec)]
        return layouts.resolve(self.config, self.document.get("kv_cache_layout"), attention, specs).name

    def parts(self, spec):
        """The specs of a group's layers."""
        if isinstance(spec, self.interface.UniformTypeKVCacheSpecs):
            return list(spec.kv_cache_specs.values())
        return [spec]

    def planned_groups(self):
        """Groups as the planner makes them; the engine itself appends layers that share another's cache."""
        return [
            self.interface.KVCacheGroupSpec([name for name in names if name not in self.shared], spec)
            for names, spec in zip(self.group_names, self.specs, strict=True)
        ]

    def place(self):
        """The cache's configuration: the document's tensors, or the planner's."""
        if self.cache.get("kv_cache_tensors") is not None:
            tensors = [self.make_tensor(tensor) for tensor in self.cache["kv_cache_tensors"]]
            return self.interface.KVCacheConfig(
                num_blocks=self.num_blocks, kv_cache_tensors=tensors, kv_cache_groups=self.groups
            )
        planner = home("kv_cache_planning") or home("kv_cache_utils")
        self.config.cache_config.num_gpu_blocks_override = self.num_blocks
        return planner.get_kv_cache_config_from_groups(self.config, self.groups, ENOUGH)

    def make_tensor(self, tensor):
        """A tensor of the document as the release's own."""
        names = expand_all(tensor["shared_by"] if self.older else tensor.get("layers") or tensor["shared_by"])
        where = {"size": tensor["size"], "offset": tensor.get("offset", 0)}
        if self.older:
            where["block_stride"] = tensor.get("block_stride", 0)
            return self.interface.KVCacheTensor(shared_by=names, **where)
        strides = {name: tensor[name] for name in ("layer_stride", "block_stride")}
        return self.interface.KVCacheTensor(layers=names, **where, **strides)

    def make_layers(self):
        """Layers in the forward context, where the engine looks for them."""
        attention, state = documents.layer_classes()
        context = self.config.compilation_config.static_forward_context
        for names, spec in zip(self.group_names, self.specs, strict=True):
            for name in names:
                uniform = isinstance(spec, self.interface.UniformTypeKVCacheSpecs)
                inner = spec.kv_cache_specs.get(name) if uniform else spec
                if isinstance(inner, self.interface.MambaSpec):
                    context[name] = state(self.backend_of[name], inner)
                else:
                    heads, target = self.heads_of[name], self.shared.get(name)
                    context[name] = attention(self.backend_of[name], heads, target, inner)
        for name, target in self.shared.items():
            context[name] = attention(self.backend_of[name], self.heads_of[name], target, None)

    def init_backends(self):
        """The real function; only the metadata builders, which want device buffers, are not built."""
        import torch
        from vllm.v1.worker.utils import AttentionGroup

        sizes = self.document.get("kernel_block_sizes")
        group = {
            "create_metadata_builders": lambda self, *a, **k: None,
            "get_metadata_builder": lambda self, *a, **k: ByClass(self),
        }
        given = {} if sizes is None else {"prepare_kernel_block_sizes": lambda *a, **k: list(sizes)}
        with replaced(AttentionGroup, **group), replaced(self.utils, **given):
            made = self.at(
                "init_attn_backend",
                lambda: self.utils.init_attn_backend(self.planned, self.config, torch.device("cpu")),
            )
        self.attn_groups, self.support, self.kernel_block_sizes = made
        self.index_groups()

    def index_groups(self):
        """Attention groups in one list, and by layer."""
        self.flat = [group for several in self.attn_groups for group in several]
        self.group_of_layer = {name: group for group in self.flat for name in group.layer_names}


class ByClass:
    """A metadata builder whose support is its class's."""

    def __init__(self, group):
        self.get_cudagraph_support = group.backend.get_builder_cls().get_cudagraph_support


class replaced:
    """Attributes replaced for a while; those that the release does not have are left out."""

    def __init__(self, owner, **values):
        self.owner = owner
        self.values = {name: value for name, value in values.items() if hasattr(owner, name)}

    def __enter__(self):
        self.olds = {name: getattr(self.owner, name) for name in self.values}
        for name, value in self.values.items():
            setattr(self.owner, name, value)
        return self

    def __exit__(self, *error):
        for name, value in self.olds.items():
            setattr(self.owner, name, value)
