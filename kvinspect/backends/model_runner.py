"""The model runner whose rules apply: the document's, or the one that the release picks for the document's model.

Follows `VllmConfig.use_v2_model_runner` and `_is_default_v2_model_runner_model` (0.25 on), Triton being there and
`VLLM_USE_V2_MODEL_RUNNER` unset. What each release picks is data, `runners.json`, written by `tools/runners.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from kvinspect.backends.conditions import holds
from kvinspect.backends.model_facts import Facts, cases, is_named, open_keys, state_kind
from kvinspect.data.catalogue import read_file
from kvinspect.document.document import Document
from kvinspect.document.problem import Path

NEWER, OLDER = "v2", "v1"
KINDS = {
    "dense": "dense models that generate text",
    "moe": "mixture-of-experts models",
    "hybrid": "hybrid models",
    "hybrid_moe": "hybrid mixture-of-experts models",
    "attention_free": "models without attention",
    "pooling": "pooling models",
    "diffusion": "diffusion models",
}


class RunnerChoice(NamedTuple):
    """A runner, and why it is this one."""

    runner: str
    source: str
    """`document`, `release` (what the release picks) or `default` (the document does not say enough)."""
    why: str


@cache
def rules_of(version: str) -> Mapping[str, Any]:
    """How a release picks its runner."""
    return read_file(version, "runners")


def choose(document: Document, version: str) -> RunnerChoice:
    """The runner for a document under a release: the document's, the release's own choice, else v2."""
    written = document.model.model_runner
    if written != "auto":
        return RunnerChoice(written, "document", f"the document says {written}")
    rules = rules_of(version)
    if is_named(document):
        picks = [pick(rules, facts) for facts in cases(document, _all_listed(rules, document.model.platform))]
        if len({runner for runner, _ in picks}) == 1:
            runner, why = picks[0]
            return RunnerChoice(runner, "release", f"vLLM {version} picks {runner} {why}")
    missing = " and ".join(open_keys(document))
    hint = _hint(document, rules, version)
    return RunnerChoice(
        NEWER, "default", f"vLLM {version}'s choice depends on {missing}, which the document does not give{hint}"
    )


def _hint(document: Document, rules: Mapping[str, Any], version: str) -> str:
    kind = state_kind(document)
    usual = rules["default"][kind] if kind else NEWER
    return f"; for most {KINDS[kind]} it is {usual}" if usual != NEWER else ""


def pick(rules: Mapping[str, Any], facts: Facts) -> tuple[str, str]:
    """(the runner that a release picks, for what or because of what) under facts of which none is open."""
    forced = _first(rules["forces_v2"], facts)
    if forced:
        return NEWER, f"for {forced}"
    kind = _kind(facts)
    runner, why = _by_model(rules, facts, kind)
    if runner == NEWER and not (kind == "diffusion" and rules["diffusion_first"]):
        unknown = _first(rules["falls_back_to_v1"], facts)
        if unknown:
            return OLDER, f"because its v2 cannot do {unknown}"
    return runner, why


def _by_model(rules: Mapping[str, Any], facts: Facts, kind: str) -> tuple[str, str]:
    """What a kind of model gets that asks for no special feature."""
    older = _listed(rules["v1_architectures"], facts)
    newer = _listed(rules["v2_architectures"], facts)
    if older:
        return OLDER, f"for {older}"
    if newer and kind in ("moe", "dense"):
        return NEWER, f"for {newer}"
    if newer and kind in ("hybrid", "hybrid_moe"):
        return rules["hybrids_of_v2_architectures"], f"for {newer}, which is a hybrid"
    return rules["default"][kind], f"for {KINDS[kind]}"


def _kind(facts: Facts) -> str:
    if facts["is_diffusion"]:
        return "diffusion"
    if facts["runner_type"] != "generate":
        return "pooling"
    if facts["is_hybrid"]:
        return "hybrid_moe" if facts["is_moe"] else "hybrid"
    if facts["is_attention_free"]:
        return "attention_free"
    return "moe" if facts["is_moe"] else "dense"


def _listed(by_platform: Mapping[str, list[str]] | None, facts: Facts) -> str:
    names = (by_platform or {}).get(facts["platform"], [])
    return next((name for name in facts["architectures"] if name in names), "")


def _all_listed(rules: Mapping[str, Any], platform: str) -> list[str]:
    lists = (rules["v1_architectures"], rules["v2_architectures"])
    return [name for by_platform in lists for name in (by_platform or {}).get(platform, [])]


def unfit(document: Document, version: str, runner: str) -> dict[str, Path]:
    """The document's features that a release refuses when this runner is chosen for it, with where they stand."""
    facts = cases(document, ())[0]
    rows = rules_of(version)[f"refused_with_{runner}"] or ()
    return {row["feature"]: tuple(next(iter(row["if"])).split(".")) for row in rows if _holds(row, facts)}


def _first(features: Iterable[Mapping[str, Any]], facts: Facts) -> str:
    return next((row["feature"] for row in features if _holds(row, facts)), "")


def _holds(row: Mapping[str, Any], facts: Facts) -> bool:
    return all(holds(wanted, facts[key]) for key, wanted in row["if"].items())
