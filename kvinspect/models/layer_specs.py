"""The KV cache specs of a model: layers, their backends, the block size, and a release's spec of each layer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from kvinspect.backends.backend import Backend
from kvinspect.document.frozen import Frozen
from kvinspect.document.limits import MAX_LAYERS
from kvinspect.document.words import SPEC_CLASSES
from kvinspect.models.block_size import Blocks, blocks, window_block_size, window_block_size_within
from kvinspect.models.choose_backend import Chooser, SelectedBackend
from kvinspect.models.config import Model
from kvinspect.models.drafting import Drafting
from kvinspect.models.drafts import settled
from kvinspect.models.layers import Attention, Bare, Given, Latent, Layer, State
from kvinspect.models.overrides import overridden
from kvinspect.models.parallel import Heads, Uneven, heads, stage_layers
from kvinspect.models.resolve import scales_its_cache, stopped, torch_dtype
from kvinspect.models.scope import Scope
from kvinspect.models.setting import ModelSetting
from kvinspect.models.turboquant import slot_bytes
from kvinspect.specs.attention import AttentionSpec
from kvinspect.specs.kinds import LayerSpec, attention, class_of, recast
from kvinspect.specs.latent_rows import ROWS
from kvinspect.specs.mamba import MambaSpec


class LayerCache(NamedTuple):
    """A layer's spec, and the backend that was chosen for it."""

    name: str
    spec: LayerSpec
    page_size_bytes: int
    backend: SelectedBackend
    is_draft: bool = False

    @property
    def backend_word(self) -> str:
        """The backend as a document names it: by the kind of its states, where it keeps some."""
        return self.spec.mamba_type if self.spec.holds_states else self.backend.backend

    def fields(self, catalogue: Mapping[str, Any]) -> dict[str, Any]:
        """The spec as the release's dataclass holds it."""
        found = spec_fields(self.spec, catalogue)
        return found | {"is_draft": self.is_draft} if "is_draft" in found else found


class Specs(NamedTuple):
    """The cache of one pipeline stage, on each of its ranks alike."""

    setting: ModelSetting
    blocks: Blocks
    layers: tuple[LayerCache, ...]
    shared: Mapping[str, str]
    """KV-sharing layer → the layer whose cache it uses."""
    no_cache: tuple[str, ...]
    """Layers that attend without a cache."""
    left_out: str = ""
    """What of a draft has no layers here."""
    drafting: Drafting | None = None
    """How the engine drafts, None where it does not."""
    runner: str = ""
    """The model runner, where a draft or a pipeline hangs on it."""

    @property
    def method(self) -> str:
        """How the engine drafts, empty where it does not."""
        return self.drafting.method if self.drafting else ""


def make_specs(model: Model, setting: ModelSetting, stage: int = 0) -> Specs:
    """The specs of a stage of a model. Raises DocumentError where the engine would not start with it."""
    setting = overridden(model, setting)
    model = model.having(sliding_window=None) if setting.arguments.disable_sliding_window else model
    drafts = settled(Scope(model, setting, model.config, setting.architecture.name, setting.architecture.cls))
    scope, setting = drafts.scope, drafts.scope.setting
    own = _counted(scope.layers(), model)
    everywhere = _counted(chain(own, drafts.layers()), model)
    layers = tuple(_of_stage(everywhere, model, setting, stage))
    choosers = _Choosers.of(setting, drafts.setting, {layer.name for layer in everywhere[len(own) :]})
    chosen = {layer.name: _choice(layer, choosers.of_layer(layer)) for layer in layers}
    _check_scales(model, (layer for layer in layers if layer.name not in choosers.drafted), setting)
    choosers = choosers.in_latent_format(chosen)
    setting = choosers.target.setting
    states = [layer for layer in everywhere if isinstance(layer, State)]
    sizes = blocks(setting, choosers.backends(layers, chosen), states)
    leave_states = bool(states) and all(state.checkpoint for state in states)
    shared = {
        layer.name: layer.kv_sharing_target
        for layer in layers
        if isinstance(layer, Attention) and layer.kv_sharing_target
    }
    without = tuple(sorted(layer.name for layer in layers if _has_no_cache(layer)))

    def made(layer: Layer) -> LayerCache:
        """A layer under the settings of the model that it belongs to, the target or a draft."""
        chooser = choosers.of_layer(layer)
        make = _Maker(model, chooser.setting, chooser, sizes, leave_states)
        marked = setting.rules.marks_drafts and layer.name in choosers.drafted
        return make.cache(layer, chosen[layer.name])._replace(is_draft=marked)

    cached = tuple(made(layer) for layer in layers if layer.name not in shared and layer.name not in without)
    return Specs(setting, sizes, cached, Frozen(shared), without, drafts.left_out, drafts.drafting, drafts.runner)


class _Choosers(NamedTuple):
    """Who chooses backends: for the target's layers, and for the draft's, which may have settings of their own."""

    target: Chooser
    draft: Chooser
    drafted: frozenset[str]
    """The layers of the draft."""

    @classmethod
    def of(cls, setting: ModelSetting, under: ModelSetting, drafted: Iterable[str]) -> _Choosers:
        """The choosers for both settings, one for both where they are the same."""
        target = Chooser(setting)
        return cls(target, target if under is setting else Chooser(under), frozenset(drafted))

    def of_layer(self, layer: Layer) -> Chooser:
        """The chooser of a layer."""
        return self.draft if layer.name in self.drafted else self.target

    def backends(self, layers: Iterable[Layer], chosen: Mapping[str, SelectedBackend]) -> list[Backend]:
        """The backends of layers with attention, each once, the first layer's first."""
        used = {(chosen[one.name].backend, self.of_layer(one)): None for one in layers if not isinstance(one, State)}
        return [chooser.backend(name) for name, chooser in used]

    def in_latent_format(self, chosen: Mapping[str, SelectedBackend]) -> _Choosers:
        """The same under the cache dtype that a sparse MLA backend puts in place, for both where they share it."""
        shared = self.target.setting.cache_dtype == self.draft.setting.cache_dtype
        for draft in (False, True):
            mine = {name: one for name, one in chosen.items() if shared or (name in self.drafted) == draft}
            chooser = self.draft if draft else self.target
            chooser.setting = _in_latent_format(chooser.setting, mine)
        return self


def _counted(layers: Iterable[Layer], model: Model) -> tuple[Layer, ...]:
    """All layers. Raises DocumentError where there are more than a model may have."""
    found = tuple(islice(layers, MAX_LAYERS + 1))
    if len(found) > MAX_LAYERS:
        text = f"the model and its draft have more than {MAX_LAYERS} layers"
        model.text.refuse("num_hidden_layers", text, kind="limit")
    return found


def _has_no_cache(layer: Layer) -> bool:
    return isinstance(layer, Bare) or (isinstance(layer, Attention) and layer.attn_type == "encoder_only")


def _in_latent_format(setting: ModelSetting, chosen: Mapping[str, SelectedBackend]) -> ModelSetting:
    """The cache dtype that a sparse MLA backend puts in place (`_canonicalize_sparse_mla_kv_cache_dtype`)."""
    known = setting.release.catalogue["backends"]
    used = {choice.backend for choice in chosen.values()}
    packs = any(setting.cache_dtype in known.get(name, {}).get("packs_cache_dtypes", ()) for name in used)
    return setting._replace(cache_dtype="fp8_ds_mla") if packs else setting


def _of_stage(layers: Sequence[Layer], model: Model, setting: ModelSetting, stage: int) -> Iterator[Layer]:
    """The layers of a pipeline stage."""
    stages = setting.arguments.pipeline_parallel_size
    if stages == 1:
        yield from layers
        return
    partition = setting.arguments.variable("VLLM_PP_LAYER_PARTITION")
    try:
        mine, last = stage_layers(model.text.layers, stage, stages, partition), model.text.layers - 1
    except ValueError as error:
        raise stopped("VLLM_PP_LAYER_PARTITION", str(error)) from None
    yield from (layer for layer in layers if layer.number is None or min(layer.number, last) in mine)


def layer_cache_dtype(layer: Layer, setting: ModelSetting) -> str:
    """The cache dtype of a layer: the engine's, or the model's where the user leaves the layer unquantised."""
    skipped = setting.skip_layers
    if isinstance(layer, Latent) and str(layer.number) in skipped and setting.rules.latent_is_quantised:
        return "auto"
    if skipped and isinstance(layer, Attention):
        window = layer.sliding_window or setting.sliding_window
        if (window is not None and "sliding_window" in skipped) or str(layer.number) in skipped:
            return "auto"
    return setting.cache_dtype


def _check_scales(model: Model, layers: Iterable[Layer], setting: ModelSetting) -> None:
    """Scales that a checkpoint has for its cache are of e4m3. Raises DocumentError where an e5m2 cache is asked for."""
    if setting.cache_dtype != "fp8_e5m2" or not scales_its_cache(model):
        return
    if any(isinstance(layer, Attention) and layer_cache_dtype(layer, setting) == "fp8_e5m2" for layer in layers):
        text = "an fp8_e5m2 KV cache does not go with the scales of a quantized checkpoint; pass fp8_e4m3 or auto"
        raise stopped("kv_cache_dtype", text)


def _choice(layer: Layer, chooser: Chooser) -> SelectedBackend:
    setting = chooser.setting
    if isinstance(layer, State):
        return SelectedBackend(
            layer.backend or setting.release.catalogue["backends"][layer.mamba_type]["name"], "the layer's kind"
        )
    if isinstance(layer, (Given, Bare)):
        return SelectedBackend(layer.backend, "the model's own")
    return chooser.choose(layer, layer_cache_dtype(layer, setting))


class _Maker(NamedTuple):
    """Makes the specs of layers under one setting."""

    model: Model
    setting: ModelSetting
    chooser: Chooser
    blocks: Blocks
    all_leave_states: bool = False
    """Whether every layer with states can leave some on the way of a prefill."""

    def cache(self, layer: Layer, choice: SelectedBackend) -> LayerCache:
        """A layer with its spec, as the backend packs it, and its bytes a page."""
        release = self.setting.release
        spec = self._spec(layer, choice)
        if spec.is_attention:
            backend = self.chooser.backend(choice.backend)
            indexes = backend.entry.get("indexes_kv_by_block_stride", {}).get(self._layout(backend), False)
            spec = release.customized_spec(
                release.aligned_spec(spec._replace(indexes_kv_by_block_stride=indexes)), backend
            )
        return LayerCache(layer.name, spec, spec.page(release.reshape.unpadded_page), choice)

    def _layout(self, backend: Backend) -> str:
        return backend.required_layout or "NHD"

    def _spec(self, layer: Layer, choice: SelectedBackend) -> LayerSpec:
        if isinstance(layer, State):
            return self._state(layer)
        if isinstance(layer, Given):
            return self._given(layer)
        if isinstance(layer, Latent):
            return self._latent(layer)
        assert isinstance(layer, Attention), "a layer without a cache"
        return self._attention(layer, self.chooser.backend(choice.backend))

    def _given(self, layer: Given) -> AttentionSpec:
        fields = dict(layer.fields)
        role = fields.pop("cache_role", None)
        latent = class_of(layer.kind).latent
        if latent:
            fields["marks"] = self._marked((("cache_role", role), ("max_tp_shards", fields.pop("max_tp_shards", 1))))
        rows = fields.pop("state_content_bytes", None)
        given = {
            "block_size": self.blocks.block_size,
            "num_kv_heads": 1,
            "head_size_v": self.setting.latent_v(fields["head_size"]) if latent else fields["head_size"],
            "state_content_bytes": rows if self.setting.rules.names_rows else None,
        }
        return attention(layer.kind, **{**given, **fields})

    def _state(self, layer: State) -> MambaSpec:
        size = self.blocks.mamba_block_size
        if size is None:
            name = self.setting.architecture.name
            self.model.text.refuse(
                "model_type", f"{layer.name} keeps states, for which vLLM's {name} has no block size"
            )
        return MambaSpec(
            block_size=size,
            shapes=layer.shapes,
            dtypes=layer.dtypes,
            page_size_padded=self.blocks.mamba_page_size_padded,
            mamba_type=layer.mamba_type,
            mamba_cache_mode=self.setting.mamba_cache_mode,
            num_speculative_blocks=self.setting.arguments.num_speculative_tokens,
            marks=self._checkpoints(layer, size),
        )

    def _checkpoints(self, layer: State, size: int) -> tuple[tuple[str, Any], ...]:
        """What a spec says of states that a prefill leaves on its way."""
        if layer.checkpoint_alignment is not None:
            return self._marked(_checkpoints(layer.checkpoint_alignment), "MambaSpec")
        if layer.checkpoint is None or (layer.checkpoint > 1 and not self.all_leave_states):
            return ()
        return self._marked(_checkpoints(size if layer.checkpoint > 1 else layer.checkpoint), "MambaSpec")

    def _latent(self, layer: Latent) -> AttentionSpec:
        cache_dtype = layer_cache_dtype(layer, self.setting)
        given = {
            "kind": layer.kind or "mla_attention",
            "block_size": self.blocks.block_size,
            "num_kv_heads": 1,
            "head_size": layer.head_size,
            "head_size_v": self.setting.latent_v(layer.head_size),
            "dtype": torch_dtype(cache_dtype, self.setting.dtype),
            "kv_quant_mode": self.setting.quant_mode(cache_dtype) if self.setting.rules.latent_is_quantised else "NONE",
            "cache_dtype_str": cache_dtype,
            "sliding_window": layer.sliding_window,
            "state_content_bytes": ROWS.get(cache_dtype) if self.setting.rules.names_rows else None,
        }
        given["marks"] = self._marked(_latent_marks(layer))
        return attention(**{**given, **layer.fields})

    def _marked(self, marks: Iterable[tuple[str, Any]], cls: str = "MLAAttentionSpec") -> tuple[tuple[str, Any], ...]:
        """What is said of a cache beyond its size, as far as the release's spec has the field."""
        fields = self.setting.release.catalogue["spec_classes"][cls]["optional"]
        return tuple((key, value) for key, value in marks if value and key in fields)

    def _attention(self, layer: Attention, backend: Backend) -> AttentionSpec:
        cache_dtype = layer_cache_dtype(layer, self.setting)
        window = layer.sliding_window or self.setting.sliding_window
        kind = layer.kind or _kind(layer, window)
        spec = attention(
            kind,
            block_size=self.blocks.block_size,
            num_kv_heads=self._heads(layer).kv,
            head_size=layer.head_size,
            head_size_v=layer.head_size_v or layer.head_size,
            dtype=torch_dtype(cache_dtype, self.setting.dtype),
            kv_quant_mode=self.setting.quant_mode(cache_dtype),
            **layer.fields,
        )
        if kind == "full_attention" and cache_dtype.startswith("turboquant_"):
            return self._packed(spec, cache_dtype)
        if kind == "chunked_local_attention":
            return spec._replace(attention_chunk_size=layer.attention_chunk_size)
        if kind != "sliding_window":
            return spec
        shared = self.blocks.skip_page_size_padded
        one = spec._replace(block_size=1, sliding_window=window)
        if not self.setting.rules.window_knows_packing:
            one = one._replace(kv_quant_mode="NONE")
        token = self.setting.release.customized_spec(one, backend).page(self.setting.release.reshape.unpadded_page)
        if self.setting.rules.window_fills_the_page:
            size = window_block_size_within(backend, token, shared or token * self.blocks.block_size)
        else:
            size = window_block_size(backend, token, shared)
        return spec._replace(block_size=size, sliding_window=window, page_size_padded=shared)

    def _packed(self, spec: AttentionSpec, cache_dtype: str) -> AttentionSpec:
        """A TurboQuant layer's spec, a class of its own up to 0.27."""
        if not self.setting.rules.turboquant_has_a_spec:
            return spec
        slot = slot_bytes(cache_dtype, spec.head_size)
        return recast(spec, "tq_full_attention", head_size_v=spec.head_size, tq_slot_size=slot)

    def _heads(self, layer: Attention) -> Heads:
        try:
            return heads(layer.num_heads, layer.num_kv_heads, self.setting.ranks, layer.repeats_kv_heads)
        except Uneven as uneven:
            self.model.text.refuse("num_key_value_heads", f"{layer.name}: {uneven}")


def _checkpoints(alignment: int) -> tuple[tuple[str, Any], ...]:
    return (("num_prefill_checkpoint_blocks", 1), ("prefill_checkpoint_alignment", alignment))


def _latent_marks(layer: Latent) -> Iterator[tuple[str, Any]]:
    yield "is_index_group_leader", layer.picks
    yield "max_tp_shards", 1
    yield "topk_buffer_width", layer.facts.get("index_topk")


def _kind(layer: Attention, window: int | None) -> str:
    if layer.attn_type == "encoder_decoder":
        return "cross_attention"
    if layer.attention_chunk_size is not None:
        return "chunked_local_attention"
    return "full_attention" if window is None else "sliding_window"


UNUSED = {
    "is_draft": False,
    "bounded_replay": False,
    "is_index_group_leader": False,
    "cache_role": "sparse",
    "dcp_sharded": False,
    "tp_replicated": False,
    "num_heads": 1,
    "tokens_per_state": -1,
    "num_prefill_checkpoint_blocks": 0,
}
"""Fields of later releases' specs that a plain model leaves as they are."""


def spec_fields(spec: LayerSpec, catalogue: Mapping[str, Any]) -> dict[str, Any]:
    """A spec as the release's dataclass holds it: its class under `type`, then every field."""
    name = SPEC_CLASSES[spec.kind]
    fields: Mapping[str, Sequence[str]] = catalogue["spec_classes"][name]
    values = {**UNUSED, **spec._asdict(), **spec.marks_by_name}
    if spec.is_attention:
        values["tokens_per_state"] = spec.compress_ratio
    found = {"type": name, **{field: values.get(field) for field in (*fields["required"], *fields["optional"])}}
    if "cache_role" in found:
        found["cache_role"] = str(found["cache_role"]).upper()
    if spec.holds_states:
        found |= {"shapes": [list(shape) for shape in spec.shapes], "dtypes": list(spec.dtypes)}
    elif spec.latent_window and "state_content_bytes" not in found:
        found["head_size_v"] = None
    elif spec.is_attention and spec.latent and "state_content_bytes" in found:
        found["head_size_v"] = spec.head_size_v
    return found
