"""What a model's cache is planned from, as values, and as the planning document that says the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

from kvinspect.connectors.configured import Transfer
from kvinspect.document.model import (
    BackendEntry,
    CacheEntry,
    DocumentModel,
    ModelEntry,
    ParallelEntry,
    SchedulerEntry,
)
from kvinspect.models import nested
from kvinspect.models.setting import ModelSetting
from kvinspect.models.specs_answer import SpecsAnswer
from kvinspect.planning.inputs import Inputs
from kvinspect.planning.inspection import in_order
from kvinspect.provenance import vllm

COMPILATION = (
    "mode", "cudagraph_mode", "use_inductor_graph_partition", "cudagraph_capture_sizes", "max_cudagraph_capture_size",
)  # fmt: skip
"""Of `--compilation-config` what a document says of CUDA graphs."""

WRITTEN = ("compilation_config", "speculative_config", "kernel_config", "kv_cache_layout", "kv_transfer_config")
"""Keys whose values are the user's own words, which are checked as those of a document."""

ENTRIES: Mapping[str, Any] = {
    "model_config": ModelEntry,
    "scheduler_config": SchedulerEntry,
    "cache_config": CacheEntry,
    "parallel_config": ParallelEntry,
}


class ModelPlanning(NamedTuple):
    """The stages of a model with `memory` bytes for the cache of each worker, one worker a stage.

    `engine_args` is what the user wrote, for what layers do not depend on: CUDA graphs and drafts; `transfer` is the KV
    connector, `layout` the one that it requires.
    """

    stages: tuple[SpecsAnswer, ...]
    memory: int
    engine_args: Mapping[str, Any] = {}
    transfer: Transfer | None = None
    layout: str | None = None

    @property
    def value(self) -> dict[str, Any]:
        """The planning document."""
        found = self._rest()
        found["kv_cache_specs"] = _in_runs({layer: spec for stage in self.stages for layer, spec in stage.entries()})
        if len(self.stages) > 1:
            found["worker_layers"] = [in_order([layer.name for layer in stage.layers]) for stage in self.stages]
        shared = self.shared
        return {**found, "shared_kv_cache_layers": shared} if shared else found

    @property
    def shared(self) -> dict[str, str]:
        """KV-sharing layer → the layer whose cache it uses."""
        return {alias: target for stage in self.stages for alias, target in stage.specs.shared.items()}

    @property
    def said(self) -> DocumentModel:
        """What the planning document says beside the specs. Raises DocumentError for words that none may say."""
        rest = self._rest()
        own = {key: rest.pop(key) for key in WRITTEN if key in rest}
        entries: dict[str, Any] = {key: ENTRIES[key](**rest[key]) for key in ENTRIES}
        if "backends" in rest:
            entries["backends"] = {name: BackendEntry(**entry) for name, entry in rest["backends"].items()}
        return replace(_checked(own, self.source), **{**rest, **entries, "shared_kv_cache_layers": self.shared})

    @property
    def source(self) -> str:
        """The model's name, for messages."""
        return self.stages[0].source

    def inputs(self, asked: str | None) -> Inputs:
        """The specs of the whole model and of each worker, with a layout that is asked for."""
        made = [dict(stage.planned(asked)) for stage in self.stages]
        backends = {name: backend for one in made for name, (_, backend) in one.items()}
        specs = {name: spec for one in made for name, (spec, _) in one.items()}
        workers = tuple({name: spec for name, spec in specs.items() if name in one} for one in made)
        return Inputs(specs, workers, (self.memory,) * len(made), backends)

    def _rest(self) -> dict[str, Any]:
        """The planning document without the layers."""
        memory = [self.memory] * len(self.stages)
        setting, said = self.stages[0].setting, self.stages[0].said(memory, self.transfer)
        model = {"architectures": [setting.architecture.name], "is_hybrid": setting.is_hybrid}
        found = {
            **said,
            "model_config": {**said["model_config"], **model},
            **_written(self.engine_args),
            **_of_environment(setting),
            **_without_warmup(setting, self.engine_args),
        }
        drafting = self.stages[0].specs.drafting
        if drafting and drafting.varies and drafting.runner == "v1":
            found = _in_pieces(found)
        if _without_graphs(setting):
            found["compilation_config"] = {**found.get("compilation_config", {}), "cudagraph_mode": "NONE"}
        if self.transfer is not None:
            found = _with_connector(found, self.transfer)
        if self.layout is not None:
            found.setdefault("kv_cache_layout", self.layout)
        return found


def _checked(own: Mapping[str, Any], name: str) -> DocumentModel:
    """The user's own words, as a document has them. Raises DocumentError for those that it may not say."""
    if not own:
        return DocumentModel()
    from kvinspect.document.load import load

    return load(own, name).model


def _in_runs(specs: Mapping[str, Any]) -> dict[str, Any]:
    """The layers in their order, neighbours with the same spec as one pattern: fewer entries to read again."""
    found: dict[str, Any] = {}
    for _, run in groupby(specs.items(), key=lambda pair: sorted(map(repr, pair[1].items()))):
        rows = list(run)
        found.update((pattern, rows[0][1]) for pattern in in_order([layer for layer, _ in rows]))
    return found


def _written(engine_args: Mapping[str, Any]) -> dict[str, Any]:
    """The user's arguments that a document has keys for."""
    compilation = nested.compilation(engine_args)
    found: dict[str, Any] = {}
    if compilation is not None:
        found["compilation_config"] = {key: compilation[key] for key in COMPILATION if key in compilation}
    if engine_args.get("enforce_eager") is True:
        found["compilation_config"] = {"mode": "NONE", "cudagraph_mode": "NONE"}
    return found


def _of_environment(setting: ModelSetting) -> dict[str, Any]:
    """The environment variables that a document has keys for."""
    found: dict[str, Any] = {}
    layout, runner = setting.arguments.variable("VLLM_KV_CACHE_LAYOUT"), "VLLM_USE_V2_MODEL_RUNNER"
    if layout:
        found["kv_cache_layout"] = layout
    if setting.arguments.is_on(runner) or setting.arguments.is_off(runner):
        found["model_runner"] = "v2" if setting.arguments.is_on(runner) else "v1"
    return found


@vllm("MLAAttention.bind_kv_cache", since="0.30")
def _without_warmup(setting: ModelSetting, engine_args: Mapping[str, Any]) -> dict[str, Any]:
    """That kernels are not compiled ahead, where the user or eager mode says so."""
    kernels = nested.kernels(engine_args)
    skipped = setting.rules.eager_skips_jit_warmup and engine_args.get("enforce_eager") is True
    if skipped and engine_args.get("enable_fault_tolerance") is not True:
        return {"kernel_config": {"enable_jit_warmup": False}}
    return {"kernel_config": kernels} if kernels else {}


def _without_graphs(setting: ModelSetting) -> bool:
    """Whether the platform captures nothing unless a variable says so: XPU up to 0.30."""
    asked = setting.arguments.is_on("VLLM_XPU_ENABLE_XPU_GRAPH")
    return setting.platform == "xpu" and setting.rules.xpu_graphs_are_asked_for and not asked


def _with_connector(document: Mapping[str, Any], transfer: Transfer) -> dict[str, Any]:
    """The document with the KV connector, and the CUDA graphs that it leaves."""
    found = {
        **document,
        "kv_transfer_config": {"kv_connector": transfer.name, "kv_connector_extra_config": _plain(transfer)},
    }
    return _in_pieces(found) if transfer.in_pieces else found


def _in_pieces(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document without full CUDA graphs."""
    graphs = document.get("compilation_config") or {}
    if not str(graphs.get("cudagraph_mode", "FULL")).upper().startswith("FULL"):
        return dict(document)
    return {**document, "compilation_config": {**graphs, "cudagraph_mode": "PIECEWISE"}}


def _plain(transfer: Transfer) -> dict[str, Any]:
    return {str(key): value for key, value in transfer.extra.items()}
