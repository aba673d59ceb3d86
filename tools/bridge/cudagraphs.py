"""`cg-support`: what the real builder classes support, the real fold over groups, the real choice of a mode."""

import importlib
from contextlib import contextmanager

import pretend

from bridge import configuration, documents
from bridge.failures import BridgeFailure, Refused, fail_if_ours, reason
from bridge.setting import Recorder, Setting


class Wrapped(Setting):
    """The engine's objects with the backends that it wraps for some kinds of layers, and without any views."""

    def init_backends(self):
        """Attention groups over the wrapped backends."""
        context = self.config.compilation_config.static_forward_context
        for name, layer in context.items():
            backend, spec = layer.described
            judged = spec if spec is not None else context[self.shared[name]].described[1]
            layer.described = (wrapped(backend, judged), spec)
        super().init_backends()


def wrapped(backend, spec):
    """The class that a layer of such a spec really has."""
    import vllm.v1.kv_cache_interface as interface

    if not isinstance(spec, interface.ChunkedLocalAttentionSpec):
        return backend
    home = importlib.import_module("vllm.model_executor.layers.attention.chunked_local_attention")
    return home.create_chunked_local_attention_backend(backend, spec.attention_chunk_size)


def answer(document):
    """Levels of all groups, their fold, and the steps from the mode that is asked for to the one that is taken."""
    if documents.model_runner(document) != "v2":
        raise BridgeFailure("cg-support is asked of model runner V2 only")
    document = {"kv_cache_layout": None, **document}
    asked = (document.get("compilation_config") or {}).get("cudagraph_mode", "FULL_AND_PIECEWISE")
    out = {"schema_version": 1, "engine": pretend.version()}
    try:
        setting = Wrapped(document)
    except Refused as refused:
        empty = {"groups": [], "min_cg_support": None, "min_cg_attn_backend": None, "resolved_mode": None, "steps": []}
        return {
            **out, **empty, "requested_mode": asked, "stage": refused.stage, "error": reason(refused.error),
        }  # fmt: skip
    info, encoders = with_encoders(setting.support, document, setting.config)
    rows = [*attention_rows(setting), *encoders]
    narrow(rows)
    folded = {"min_cg_support": info.min_cg_support.name, "min_cg_attn_backend": info.min_cg_attn_backend}
    return {**out, "groups": rows, **folded, **resolved(document, info, setting)}


def attention_rows(setting):
    """A row for each attention group."""
    return [
        {
            "kv_cache_group_id": group.kv_cache_group_id,
            "backend": setting.names_of[group.layer_names[0]],
            "backend_class": group.backend.__name__,
            "layer_names": list(group.layer_names),
            "support": group.backend.get_builder_cls().get_cudagraph_support(setting.config, group.kv_cache_spec).name,
        }
        for group in setting.flat
    ]


def narrow(rows):
    """Note in each row whether it narrows what the rows before it leave."""
    from vllm.v1.attention.backend import AttentionCGSupport

    running = AttentionCGSupport.ALWAYS
    for row in rows:
        if "support" in row:
            level = AttentionCGSupport[row["support"]]
            row["narrowed"] = level.value < running.value
            running = min(running, level, key=lambda one: one.value)


class EncoderGroup:
    """A group of encoder-only layers, as far as its model state asks."""

    def __init__(self, described, document):
        self.name = described["backend"]
        self.backend = documents.backend_class(self.name, document)
        spec = described.get("kv_cache_spec")
        self.kv_cache_spec = documents.build_spec(spec) if spec else None

    def get_metadata_builder(self, index=0):
        """The class does for the builder: its support is asked of the class."""
        return self.backend.get_builder_cls()


def with_encoders(info, document, config):
    """(support narrowed by encoder-only groups, their rows)."""
    groups = [EncoderGroup(one, document) for one in document.get("encoder_attention_groups") or []]
    if not groups:
        return info, []
    rows = [
        {
            "kv_cache_group_id": None, "encoder": True, "backend": group.name,
            "support": group.get_metadata_builder().get_cudagraph_support(config, group.kv_cache_spec).name,
        }
        for group in groups
    ]  # fmt: skip
    try:
        home = importlib.import_module("vllm.v1.worker.gpu.model_states.encoder_only")
        narrowed = home.EncoderOnlyModelState.get_additional_cg_support
    except (ImportError, AttributeError):
        return info, [*rows, {"note": "this release has no place where encoder groups narrow the support"}]
    state = configuration.Part(_of="EncoderOnlyModelState", encoder_attn_groups=groups, vllm_config=config)
    return info.narrow(*narrowed(state)), rows


def resolved(document, info, setting):
    """The mode that the release takes, with what it logs on the way."""
    compilation = compilation_config(document.get("compilation_config") or {})
    requested, recorder, error, mode = compilation.cudagraph_mode, Recorder(), None, None
    tokens = (document.get("speculative_config") or {}).get("num_speculative_tokens") or 0
    try:
        with logged(recorder):
            mode = compilation.resolve_cudagraph_mode_and_sizes(
                info.min_cg_support,
                info.min_cg_attn_backend,
                1 + tokens,
                use_v2_model_runner=True,
                kv_cache_config=setting.planned,
                max_num_reqs=(document.get("scheduler_config") or {}).get("max_num_seqs", 256),
            )
    except Exception as refusal:
        fail_if_ours(refusal)
        error = {"type": type(refusal).__name__, "text": str(refusal)}
    return {
        "requested_mode": None if requested is None else requested.name,
        "resolved_mode": None if mode is None else mode.name,
        "error": error,
        "steps": steps(requested, recorder),
    }


def steps(mode, recorder):
    """Each change of the mode that was logged, with the sentence."""
    found, at = [], None if mode is None else mode.name
    for _, message in recorder.messages:
        _, sign, rest = message.partition("setting cudagraph_mode=")
        if sign:
            to = rest.split()[0].strip(".;,")
            found.append({"from": at, "to": to, "why": message})
            at = to
    return found


@contextmanager
def logged(recorder):
    """The module's log, kept."""
    home = importlib.import_module("vllm.config.compilation")
    old, home.logger = home.logger, recorder
    try:
        yield
    finally:
        home.logger = old


def compilation_config(asked):
    """vLLM's own configuration of compilation."""
    from vllm.config import CompilationConfig
    from vllm.config.compilation import CompilationMode, CUDAGraphMode

    made = CompilationConfig()
    mode = asked.get("mode", "VLLM_COMPILE")
    made.mode = CompilationMode[mode] if isinstance(mode, str) else CompilationMode(mode)
    graphs = asked.get("cudagraph_mode", "FULL_AND_PIECEWISE")
    made.cudagraph_mode = None if graphs is None else CUDAGraphMode[graphs]
    contains = asked.get("splitting_ops_contain_attention", True)
    made.splitting_ops = list(CompilationConfig._attention_ops) if contains else []
    made.use_inductor_graph_partition = bool(asked.get("use_inductor_graph_partition", False))
    return made
