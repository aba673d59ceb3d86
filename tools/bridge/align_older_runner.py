"""`align` of model runner V1: the platform's real runner class of vllm/v1/worker, watched.

An instance is made without the engine's __init__, which allocates device buffers and loads a model, and is given what
its KV-cache steps ask for. Then its own `initialize_kv_cache` runs: encoder-only and KV-sharing layers join the groups,
attention groups, kernel block sizes, allocation, reshape, layout step, KV sharing. Left out are the metadata builders,
the input batch and the binding of the finished views to layers.
"""

import contextlib
import copy
import dataclasses
import importlib
from functools import cache

import pretend

from bridge import align_older, align_standard, documents, report, views
from bridge.configuration import Part
from bridge.failures import Missing, Refused, fail_if_ours
from bridge.setting import Recorder, replaced

MIXED, HYBRID = "_has_mixed_attention_kv_layout", "_update_hybrid_attention_mamba_layout"
"""Whether there is a layout step, and the step."""


def runner_module():
    """The module of the runner."""
    return pretend.load(lambda: importlib.import_module("vllm.v1.worker.gpu_model_runner"))


@cache
def watched_class():
    """The runner class that the platform's worker makes, with its stage kept and the layout step optional."""
    from vllm.platforms import current_platform

    base, device = runner_module().GPUModelRunner, current_platform.device_type
    if device in ("cpu", "xpu"):
        home = pretend.load(lambda: importlib.import_module(f"vllm.v1.worker.{device}_model_runner"))
        base = getattr(home, f"{device.upper()}ModelRunner")

    class Watched(base):
        def __init__(self, setting, aligned=True):
            for name, value in attributes(setting).items():
                setattr(self, name, value)
            self.aligned, self.stage, self.steps, self.views = aligned, "init_attn_backend", [], {}

        def __getattr__(self, name):
            raise Missing(f"the stand-in for {base.__name__} has no {name!r}")

        @contextlib.contextmanager
        def at(self, stage):
            """The stage is kept where an exception leaves it."""
            old, self.stage = self.stage, stage
            yield
            self.stage = old

        def initialize_metadata_builders(self, *arguments, **more):
            pass

        def may_reinitialize_input_batch(self, *arguments, **more):
            pass

        def initialize_kv_cache_tensors(self, *arguments, **more):
            with self.at("allocate"):
                self.views = super().initialize_kv_cache_tensors(*arguments, **more)
            return self.views

        def _reshape_kv_cache_tensors(self, *arguments, **more):
            with self.at("reshape"):
                return super()._reshape_kv_cache_tensors(*arguments, **more)

        def _has_mixed_attention_kv_layout(self, *arguments, **more):
            with self.at("align"):
                self.steps.append(MIXED)
                return self.aligned and super()._has_mixed_attention_kv_layout(*arguments, **more)

        def _update_hybrid_attention_mamba_layout(self, *arguments, **more):
            with self.at("align"):
                self.steps.append(HYBRID)
                if self.aligned:
                    super()._update_hybrid_attention_mamba_layout(*arguments, **more)

    return Watched


def attributes(setting):
    """What the runner's KV-cache steps ask of it."""
    import torch

    config = setting.config
    parts = ("compilation_config", "cache_config", "model_config", "parallel_config", "scheduler_config")
    return {
        **{part: getattr(config, part) for part in parts},
        "vllm_config": config,
        "device": torch.device("cpu"),
        "speculative_config": None,  # drafters make groups of their own, which are not asked for here
        "uniform_decode_query_len": 1 + config.num_speculative_tokens,
        "max_num_reqs": config.scheduler_config.max_num_seqs,
        "kv_cache_dtype": setting.encoder_only_dtype,
        "attn_groups": [],
        "kv_caches": [],
        "shared_kv_cache_layers": {},
        "runner_only_attn_layers": set(),
        "kv_sharing_fast_prefill_eligible_layers": set(),
        "cross_layers_kv_cache": None,
        "cross_layers_attn_backend": None,
        "cudagraph_dispatcher": Part(_of="CudagraphDispatcher", initialize_cudagraph_keys=lambda *a, **k: None),
        "jit_warmup_registry": Part(_of="JitWarmupRegistry", activate=contextlib.nullcontext),
    }


class ByRunner:
    """How this runner prepares itself; stands before a kind of `Setting`."""

    keeps_allocation_errors = False

    def planned_groups(self):
        """Groups without encoder-only ones, which have no cache: the runner itself appends theirs."""
        encoder = self.interface.EncoderOnlyAttentionSpec
        rows = list(zip(self.group_names, self.specs, strict=True))
        self.encoder_only = [(names, spec) for names, spec in rows if isinstance(spec, encoder)]
        return [
            self.interface.KVCacheGroupSpec([name for name in names if name not in self.shared], spec)
            for names, spec in rows
            if not isinstance(spec, encoder)
        ]

    def init_backends(self):
        """The runner's own initialization, without its layout step."""
        import torch

        self.config.compilation_config.resolve_cudagraph_mode_and_sizes = lambda *a, **k: None
        self.config.cache_config.use_replayssm = False
        self.encoder_only_dtype = self.encoder_only[0][1].dtype if self.encoder_only else torch.float16
        if self.encoder_only:
            self.config.cache_config.block_size = self.encoder_only[0][1].block_size
        self.mark_layers()
        self.as_planned = self.planned
        self.unaligned, self.error, _ = self.run_engine(aligned=False)
        allocating = self.unaligned.stage == "allocate" and self.keeps_allocation_errors
        if self.error is not None and not allocating:
            raise Refused(self.unaligned.stage, self.error)
        self.adopt(self.unaligned)

    def mark_layers(self):
        """What the runner asks a layer besides."""
        from vllm.v1.attention.backend import AttentionType

        context = self.config.compilation_config.static_forward_context
        for layer in context.values():
            layer.is_draft_layer = False
            if isinstance(layer, documents.layer_classes()[0]):
                layer.attn_type = AttentionType.DECODER
        for names, spec in self.encoder_only:
            for name in names:
                layer = context[name]
                layer.attn_type = AttentionType.ENCODER_ONLY
                layer.num_kv_heads, layer.head_size = spec.num_kv_heads, spec.head_size

    def adopt(self, runner):
        """The groups as the runner left them."""
        self.planned, self.attn_groups = runner.kv_cache_config, runner.attn_groups
        self.kernel_block_sizes = runner._kernel_block_sizes
        self.index_groups()

    def configuration(self, runner):
        """The cache's configuration for the runner, which first walks over the layers and notes who shares.

        A document gives the specs; only the mark that a cross-layer allocation wants is taken from the runner's.
        """
        with runner.at("customize_spec"):
            specs = runner.get_kv_cache_spec()
        planned = copy.deepcopy(self.as_planned)
        if self.document.get("kv_transfer_config") is None or not hasattr(type(runner), "use_uniform_kv_cache"):
            return planned
        for group in planned.kv_cache_groups:
            spec = group.kv_cache_spec
            if isinstance(spec, self.interface.UniformTypeKVCacheSpecs):
                inner = spec.kv_cache_specs
                inner.update({name: marked(one, specs.get(name)) for name, one in inner.items()})
            elif group.layer_names:
                group.kv_cache_spec = marked(spec, specs.get(group.layer_names[0]))
        return planned

    def run_engine(self, aligned):
        """(runner, what it was refused with, its log) of `initialize_kv_cache` on a fresh runner."""
        runner, recorder, error = watched_class()(self, aligned), Recorder(), None
        with contextlib.ExitStack() as stack:
            for owner, values in self.patches(recorder):
                stack.enter_context(replaced(owner, **values))
            try:
                runner.initialize_kv_cache(self.configuration(runner))
            except Exception as refusal:
                fail_if_ours(refusal)
                error = refusal
        return runner, error, recorder.messages

    def patches(self, recorder):
        """(module, what is replaced in it) while the runner works."""
        home = runner_module()
        nothing = dict.fromkeys(("bind_kv_cache", "initialize_mamba_ssu_backend"), lambda *a, **k: None)
        yield home, {**nothing, "logger": recorder}
        yield self.utils, {"logger": recorder}
        sizes = self.document.get("kernel_block_sizes")
        if sizes is not None:
            yield home, {"prepare_kernel_block_sizes": lambda *a, **k: list(sizes)}
        transfer = self.document.get("kv_transfer_config")
        if transfer is not None and hasattr(home.GPUModelRunner, "use_uniform_kv_cache"):
            mixin = importlib.import_module("vllm.v1.worker.kv_connector_model_runner_mixin")
            group = Part(_of="KVConnector", prefer_cross_layer_blocks=prefers_cross_layers(transfer))
            yield mixin, {"has_kv_transfer_group": lambda: True, "get_kv_transfer_group": lambda: group}


def prefers_cross_layers(transfer):
    """What a connector answers, by default what its configuration says."""
    wants = transfer.get("prefer_cross_layer_blocks")
    if wants is None:
        extra = transfer.get("kv_connector_extra_config") or {}
        wants = str(extra.get("enable_cross_layers_blocks", "False")).lower() == "true"
    return bool(wants)


def marked(spec, theirs):
    """A spec with the runner's mark for block strides."""
    if theirs is None or not hasattr(spec, "indexes_kv_by_block_stride"):
        return spec
    return dataclasses.replace(spec, indexes_kv_by_block_stride=theirs.indexes_kv_by_block_stride)


class Older(ByRunner, align_older.Older):
    """Releases up to 0.28."""

    def kernel_blocks(self, spec, group, kernel_block_size):
        """A block is so many kernel blocks, for compressed latents too."""
        return spec.block_size // self.kernel_block_sizes[group]

    def backing(self):
        """Bytes of a cross-layer allocation."""
        cache = self.unaligned.cross_layers_kv_cache
        return None if cache is None else cache.numel() * cache.element_size()

    def observed(self):
        """What the engine did, as `report` takes it."""
        before = dict(self.unaligned.views)
        runner, error, messages = self.run_engine(aligned=True)
        if error is not None and runner.stage != "align":
            raise Refused(runner.stage, error)
        outcome = [self.alone(tensor, runner.steps) for tensor in self.planned.kv_cache_tensors]
        after = {name: view for entry in outcome for name, view in entry["views"].items()}
        if error is None:
            own = {name: view for name, view in runner.views.items() if name not in self.shared}
            after = {**runner.views, **align_older.agreed(own, after)}
        return report.Observed(before, after, error, outcome, messages, set())

    def alone(self, tensor, steps):
        """The layout step layer by layer, so that a refusal of one allocation does not hide the others."""
        runner, _, _ = self.run_engine(aligned=False)
        runner.aligned = True
        mine = {name: view for name, view in runner.views.items() if name in tensor.shared_by}
        old = {name: views.strides(view) for name, view in mine.items()}
        entry = {"views": mine, "layers": {}, "error": None}
        aliases = [name for name, target in self.shared.items() if target in tensor.shared_by]
        own = {name: view for name, view in runner.views.items() if name not in self.shared}  # sharing comes later
        for name in (*mine, *aliases):
            error = self.step(runner, steps, name, own)
            if error is not None:
                entry["error"] = entry["error"] or error
                if name in mine:
                    entry["layers"][name] = "refused"
        return align_older.with_moves(entry, old)

    def step(self, runner, steps, name, own):
        """What the layout step is refused with when one layer is the only one; None where it is not."""
        if not steps or name not in self.group_of_layer:
            return None
        one = copy.copy(self.group_of_layer[name])
        one.layer_names = [name]
        runner.attn_groups = [[one]]
        try:
            if HYBRID in steps:
                runner._update_hybrid_attention_mamba_layout(own, self.kernel_block_sizes)
            else:
                runner._has_mixed_attention_kv_layout(self.kernel_block_sizes)
        except Exception as error:
            fail_if_ours(error)
            return error
        return None


class Standard(ByRunner, align_standard.Standard):
    """Releases from 0.29 on: the runner calls the allocation that both runners have."""

    keeps_allocation_errors = True

    def allocate(self):
        """The views that the runner made."""
        if self.error is not None:
            raise self.error
        return self.with_aliases(dict(self.unaligned.views))


def answer(document):
    """The answer to a document."""
    utils = importlib.import_module("vllm.v1.worker.gpu.attn_utils")
    if hasattr(utils, "_reshape_kv_cache"):
        return align_older.answer(document, Older)
    return align_standard.answer(document, Standard)
