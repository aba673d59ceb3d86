"""What `specs` answers: a model's layers with their specs, and the planning document that they make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kvinspect.backends.backend import Backend, Backends, from_catalogue
from kvinspect.connectors.configured import Transfer
from kvinspect.document.refusal import Refused
from kvinspect.document.words import KIND_OF_WORD
from kvinspect.models.draft_checks import overlaps
from kvinspect.models.hybrid_manager import hybrid_manager_is_off
from kvinspect.models.inner_backends import INNER, as_document
from kvinspect.models.layer_specs import LayerCache, Specs
from kvinspect.models.setting import ModelSetting
from kvinspect.planning.inputs import Inputs, declared
from kvinspect.planning.placement import layout
from kvinspect.releases.model_rules import ModelRules
from kvinspect.specs.kinds import LayerSpec


class SpecsAnswer(NamedTuple):
    """The KV cache specs of a model under a release: one of its pipeline stages, each rank alike."""

    source: str
    engine: str
    specs: Specs

    @property
    def setting(self) -> ModelSetting:
        """The settings that the model and the arguments come to."""
        return self.specs.setting

    @property
    def layers(self) -> tuple[LayerCache, ...]:
        """The layers with a cache of their own, as the engine makes them."""
        return self.specs.layers

    @property
    def layout(self) -> str | None:
        """The layout of the whole cache, None where the release has none or the backends do not agree on one."""
        setting = self.setting
        release = setting.release
        attention = [layer for layer in self.layers if not layer.spec.holds_states]
        made = self._backends({layer.backend.backend for layer in attention})
        backends = {layer.name: made[layer.backend.backend] for layer in attention}
        inputs = Inputs({layer.name: layer.spec for layer in self.layers}, (), (), backends)
        try:
            found = layout(inputs, None, release)
        except Refused:
            return None
        return found.name if found else None

    def _backends(self, names: Iterable[str]) -> dict[str, Backend]:
        """Name → what a backend of the release, or one that a model's classes bring along, answers."""
        setting = self.setting
        facts = setting.deployment.facts()
        known = Backends(setting.release.catalogue, {}, facts)
        return {
            name: from_catalogue(name, INNER[name], facts) if name in INNER else known.named(name, ()) for name in names
        }

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain values. Sizes in tokens and bytes; alike neighbours share a row."""
        setting, specs = self.setting, self.specs
        return {
            "schema_version": 1,
            "source": self.source,
            "engine": self.engine,
            "architecture": setting.architecture.name,
            "dtype": setting.dtype,
            "block_size": specs.blocks.block_size,
            "mamba_block_size": specs.blocks.mamba_block_size,
            "cache_dtype": setting.cache_dtype,
            "max_model_len": setting.max_model_len,
            "kv_cache_layout": self.layout,
            "layers": _rows(specs.layers, setting.release.catalogue),
            "shared_kv_cache_layers": dict(specs.shared),
            "no_cache": list(specs.no_cache),
        }

    def to_planning_document(self, available_memory: Sequence[int]) -> dict[str, Any]:
        """The planning document of these specs. `available_memory` is bytes for the cache, one entry a worker."""
        return {**self.said(available_memory), "kv_cache_specs": dict(self.entries())}

    def said(self, available_memory: Sequence[int], transfer: Transfer | None = None) -> dict[str, Any]:
        """What the planning document says beside the specs. Raises DocumentError where it refuses them."""
        setting, arguments = self.setting, self.setting.arguments
        batched, seqs = scheduler_defaults(setting)
        document: dict[str, Any] = {
            "engine": self.engine,
            "platform": setting.platform,
            "device_capability": setting.capability,
            "cache_dtype": setting.cache_dtype,
            "backends": self._inner_backends(),
            "available_memory": list(available_memory),
            "model_config": {
                "max_model_len": setting.max_model_len,
                "original_max_model_len": arguments.max_model_len,
                "num_attention_heads": max(1, setting.shape.heads // setting.ranks),
                "num_key_value_heads": setting.deployment.num_kv_heads,
            },
            "scheduler_config": {
                "max_num_batched_tokens": batched,
                "max_num_seqs": seqs,
                "max_num_encoder_input_tokens": batched,
                "max_concurrent_batches": concurrent_batches(setting, self.specs.method, self.specs.runner),
                "disable_hybrid_kv_cache_manager": hybrid_manager_is_off(setting, self.specs.method, transfer),
            },
            "cache_config": {"mamba_cache_mode": setting.mamba_cache_mode},
            "parallel_config": {"decode_context_parallel_size": arguments.decode_context_parallel_size},
            "num_gpu_blocks_override": arguments.num_gpu_blocks_override,
        }
        for key, entry in self.specs.drafting.said.items() if self.specs.drafting else ():
            document[key] = {**document.get(key, {}), **entry}
        return {key: value for key, value in document.items() if value is not None}

    def _inner_backends(self) -> dict[str, Any] | None:
        """Backends of the model's own classes, which a release's catalogue does not have."""
        setting = self.setting
        names = {layer.backend.backend for layer in self.layers} & INNER.keys()
        return {name: as_document(name, setting.cache_dtype, setting.platform) for name in sorted(names)} or None

    def planned(self, asked: str | None) -> Iterator[tuple[str, tuple[LayerSpec, Backend]]]:
        """(layer, (its spec as the planner gets it, its backend)), with a layout that is asked for."""
        made = self._backends({layer.backend_word for layer in self.layers})
        for layer in self.layers:
            backend = made[layer.backend_word]
            yield layer.name, (declared(layer.spec, backend, asked), backend)

    def entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """(layer, its spec as a document writes it)."""
        return ((layer.name, self._entry(layer)) for layer in self.layers)

    def _entry(self, layer: LayerCache) -> dict[str, Any]:
        fields = layer.fields(self.setting.release.catalogue)
        written = {key: value for key, value in fields.items() if value is not None and key != "type"}
        if "cache_role" in written:
            written["cache_role"] = written["cache_role"].lower()
        return {"kind": KIND_OF_WORD[fields["type"]], **written, "backend": layer.backend_word}


def _rows(layers: Sequence[LayerCache], catalogue: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of neighbouring layers with the same spec and backend."""
    rows: list[dict[str, Any]] = []
    last = None
    for layer in layers:
        key = (layer.spec, layer.backend.backend, layer.is_draft)
        if key != last:
            spec = {**layer.fields(catalogue), "page_size_bytes": layer.page_size_bytes}
            rows.append({"backend": layer.backend.backend, "kv_cache_spec": spec, "layer_names": []})
            last = key
        rows[-1]["layer_names"].append(layer.name)
    return rows


def scheduler_defaults(setting: ModelSetting) -> tuple[int, int]:
    """(max_num_batched_tokens, max_num_seqs) (`_set_default_max_num_seqs_and_batched_tokens_args`)."""
    arguments = setting.arguments
    twice = 2 if arguments.performance_mode == "throughput" else 1
    seqs = arguments.max_num_seqs or setting.default_seqs * twice
    batched = arguments.max_num_batched_tokens
    if batched is None:
        batched = setting.default_batched_tokens * twice
        if not setting.chunked_prefill:
            batched = max(setting.max_model_len, batched)
        batched = max(batched, setting.shape.largest_item)
        batched = min(seqs * setting.max_model_len, batched)
    return batched, seqs if arguments.max_num_seqs else min(seqs, batched)


def as_served(answer: SpecsAnswer, gpu: int | None = None, name: str = "") -> SpecsAnswer:
    """The answer with the batches that `vllm serve` takes by default on a GPU of `gpu` bytes, or on the usual one."""
    setting = answer.setting
    memory = USUAL_MEMORY.get(setting.capability or "", 0) << 30 if gpu is None else gpu
    name = name or ("a100" if setting.capability == "8.0" else "")
    batched, seqs = server_defaults(setting.rules, memory, name, setting.capability)
    served = setting._replace(default_batched_tokens=batched, default_seqs=seqs)
    return answer._replace(specs=answer.specs._replace(setting=served))


USUAL_MEMORY = {"8.0": 80, "9.0": 80, "9.4": 192, "9.5": 288, "10.0": 180, "10.3": 270}
"""Compute capability → GiB of the GPU that serves models with it; others have less than the least that matters."""


def server_defaults(
    rules: ModelRules, memory: int, device_name: str = "", capability: str | None = None
) -> tuple[int, int]:
    """(tokens, sequences) of a batch that `vllm serve` takes on a GPU of a given size in bytes (`get_batch_defaults`).

    >>> rules = ModelRules()
    >>> server_defaults(rules, 80 << 30), server_defaults(rules, 80 << 30, "A100"), server_defaults(rules, 0)
    ((8192, 1024), (2048, 256), (2048, 256))
    """
    small = "a100" in device_name.lower() or capability in rules.small_capabilities
    for least, batched in rules.server_sizes:
        if memory >= least << 30 and not (small and least < SURELY_LARGE):
            return batched, 1024
    return 2048, 256


SURELY_LARGE = 160
"""GiB from which the device's name does not matter."""


def concurrent_batches(setting: ModelSetting, method: str, runner: str = "") -> int:
    """Batches that are under way at once (`max_concurrent_batches`); `method` is how the engine drafts, if it does, and
    `runner` the model runner where it counts.
    """
    stages, wanted = setting.arguments.pipeline_parallel_size, setting.arguments.async_scheduling
    overlap = _overlap(setting, method, runner) if wanted is None else wanted
    return stages + 1 if overlap and (runner != "v1" or stages == 1) else stages


def _overlap(setting: ModelSetting, method: str, runner: str) -> bool:
    """Whether a batch is prepared while another runs, where no flag says."""
    return setting.architecture.runner != "pooling" and (not method or overlaps(setting, method, runner))
