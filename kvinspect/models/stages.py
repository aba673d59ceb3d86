"""The pipeline stages of a model, each with its layers, and the one planning document that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from kvinspect.connectors.transfer import Transfer, refused
from kvinspect.models import nested
from kvinspect.models.answer import SpecsAnswer
from kvinspect.models.arguments import EngineArguments
from kvinspect.models.config import Model
from kvinspect.models.registry import architecture
from kvinspect.models.setting import Setting, settle
from kvinspect.models.specs import make_specs
from kvinspect.planning.inspection import in_order
from kvinspect.releases.release import Release

COMPILATION = (
    "mode", "cudagraph_mode", "use_inductor_graph_partition", "cudagraph_capture_sizes", "max_cudagraph_capture_size",
)  # fmt: skip
"""Of `--compilation-config` what a document says of CUDA graphs."""


def stage_of(
    model: Model,
    release: Release,
    called: str,
    device: tuple[str, str | None],
    arguments: EngineArguments,
    stage: int = 0,
) -> SpecsAnswer:
    """The specs of one stage; `device` is platform and capability.

    Raises DocumentError, Unknown or Refused where the model cannot be used or the engine stops.
    """
    known = architecture(model, release.version, arguments.runner, arguments.model_impl)
    setting = settle(model, release, *device, arguments, known)
    return SpecsAnswer(model.name, called, make_specs(model, setting, stage))


def planning_document(
    stages: Sequence[SpecsAnswer],
    memory: int,
    engine_args: Mapping[str, Any] | None = None,
    transfer: Transfer | None = None,
) -> dict[str, Any]:
    """The planning document of all stages, one worker of `memory` bytes for each of them.

    `engine_args` is what the user wrote, for what layers do not depend on: CUDA graphs and drafts; `transfer` is the KV
    connector.
    """
    documents = [stage.to_planning_document(available_memory=[memory] * len(stages)) for stage in stages]
    specs = [document["kv_cache_specs"] for document in documents]
    merged = _in_runs({layer: spec for one in specs for layer, spec in one.items()})
    shared = {alias: target for stage in stages for alias, target in stage.specs.shared.items()}
    setting = stages[0].setting
    model = {"architectures": [setting.architecture.name], "is_hybrid": setting.is_hybrid}
    found = {
        **documents[0],
        "model_config": {**documents[0]["model_config"], **model},
        "kv_cache_specs": merged,
        **_written(engine_args or {}),
        **_of_environment(setting),
    }
    if transfer is not None:
        found = _with_connector(found, transfer, setting)
    if len(documents) > 1:
        found["worker_layers"] = [in_order(list(one)) for one in specs]
    return {**found, "shared_kv_cache_layers": shared} if shared else found


def _in_runs(specs: Mapping[str, Any]) -> dict[str, Any]:
    """The layers in their order, neighbours with the same spec as one pattern: fewer entries to read again."""
    found: dict[str, Any] = {}
    for _, run in groupby(specs.items(), key=lambda pair: sorted(map(repr, pair[1].items()))):
        rows = list(run)
        found.update((pattern, rows[0][1]) for pattern in in_order([layer for layer, _ in rows]))
    return found


def _written(engine_args: Mapping[str, Any]) -> dict[str, Any]:
    """What of the user's arguments a document has keys of its own for."""
    compilation, speculative = nested.compilation(engine_args), nested.speculative(engine_args)
    found: dict[str, Any] = {}
    if compilation is not None:
        found["compilation_config"] = {key: compilation[key] for key in COMPILATION if key in compilation}
    if engine_args.get("enforce_eager") is True:
        found["compilation_config"] = {"mode": "NONE", "cudagraph_mode": "NONE"}
    if speculative is not None and speculative.get("num_speculative_tokens"):
        found["speculative_config"] = {
            key: speculative[key] for key in ("num_speculative_tokens", "method") if key in speculative
        }
    return found


def _of_environment(setting: Setting) -> dict[str, Any]:
    """What of the environment a document has keys of its own for."""
    found: dict[str, Any] = {}
    layout, runner = setting.arguments.variable("VLLM_KV_CACHE_LAYOUT"), "VLLM_USE_V2_MODEL_RUNNER"
    if layout:
        found["kv_cache_layout"] = layout
    if setting.arguments.is_on(runner) or setting.arguments.is_off(runner):
        found["model_runner"] = "v2" if setting.arguments.is_on(runner) else "v1"
    return found


def _with_connector(document: Mapping[str, Any], transfer: Transfer, setting: Setting) -> dict[str, Any]:
    """The document with what the KV connector makes of it. Raises DocumentError where it does not take the groups."""
    found = {
        **document,
        "kv_transfer_config": {"kv_connector": transfer.name, "kv_connector_extra_config": _plain(transfer)},
    }
    if not transfer.takes_groups:
        if setting.arguments.disable_hybrid_kv_cache_manager is False:
            raise refused(f"{transfer.name} does not take the hybrid manager, which is asked for")
        found["scheduler_config"] = {**found["scheduler_config"], "disable_hybrid_kv_cache_manager": True}
    graphs = found.get("compilation_config") or {}
    if transfer.in_pieces and str(graphs.get("cudagraph_mode", "FULL")).upper().startswith("FULL"):
        found["compilation_config"] = {**graphs, "cudagraph_mode": "PIECEWISE"}
    return found


def _plain(transfer: Transfer) -> dict[str, Any]:
    return {str(key): value for key, value in transfer.extra.items()}
