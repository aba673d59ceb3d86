"""A golden case asked of kvinspect, and how its answer differs from the engine's."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import golden
import kvinspect
from golden.compare import EARLY, Difference, by_name, difference, flat
from kvinspect.question.documents import load
from kvinspect.question.question import Question, Rules

Case = Mapping[str, Any]

LONGCAT = "the recorded Transformers counted LongCat's layers twice; later ones, which the release takes too, do not"
CONNECTOR = "what a KV connector asks of the cache is not modelled, and said to be"
EXCUSED = {
    **{
        ("0.27.1", name): LONGCAT
        for name in (
            "meituan-longcat__LongCat-Flash-Chat@tp1", "meituan-longcat__LongCat-Flash-Chat@pp2",
            "meituan-longcat__LongCat-Flash-Chat@tp8-fp8", "meituan-longcat__LongCat-Flash-Chat@sm100",
            "meituan-longcat__LongCat-Flash-Chat@sm100-fp8-tp4", "meituan-longcat__LongCat-Flash-Chat@sm120",
            "longcat@mtp1-tp8",
        )
    },
    ("0.27.1", "llama70b@draft1b-tp4-dtp1"): "runner V1 refuses a draft model that is not cut as its target when it starts",
    ("0.27.1", "speculators-as-model@tp1"): "the engine fetches the draft's target from the hub, which is not here",
    ("0.27.1", "gemma3-27b@shared-storage"): CONNECTOR,
    ("0.33.0", "gemma3-27b@shared-storage"): CONNECTOR,
    ("0.33.0", "qwen3next@nixl-tp2"): CONNECTOR,
}  # fmt: skip
"""(release, case) of real models that differ → why."""

PLANNED = {"num_blocks": "num_blocks", "tokens": "num_tokens", "max_concurrency": "max_concurrency"}
"""Fields of a golden plan → those of kvinspect's."""


def differences(kind: str, case: Case) -> list[Difference]:
    """The differences of a case of a kind: align, cg-support, mm-prefix, plan or specs."""
    if kind == "specs":
        return list(specs_differences(case, golden.models() / case["config"]))
    theirs = case[kind.replace("-", "_")]
    try:
        ours = answered(kind, case["document"])
    except kvinspect.DocumentError as error:
        return [] if refused_early(theirs) else [("document", "an answer", str(error))]
    return list(difference(by_name(theirs), by_name(ours)))


def answered(kind: str, document: Case) -> Mapping[str, Any]:
    """kvinspect's answer to a document. The engine was asked for its plan alone: what stops it later is not recorded."""
    if kind == "plan":
        return Question.of(load(document), Rules.of(None, document["engine"])).plan.to_dict()
    return getattr(kvinspect, kind.replace("-", "_"))(load(document)).to_dict()


def refused_early(theirs: Any) -> bool:
    """Whether the engine stops before the alignment."""
    error = theirs.get("error")
    stages = {theirs.get("stage"), error.get("stage") if isinstance(error, Mapping) else None}
    return bool(stages & EARLY)


def specs_differences(case: Case, config: Path) -> Iterator[Difference]:
    """The differences of a real model's specs, layer by layer, and of their plan where the case has one."""
    found = kvinspect.specs(
        kvinspect.load_model(config),
        engine=case["engine"],
        platform=case["platform"],
        device_capability=case["device_capability"],
        engine_args=_with_drafts(case["engine_args"]),
    )
    theirs, ours = dict(case["specs"]), dict(found.to_dict())
    for answer in (theirs, ours):
        answer["order"] = [name for row in answer["layers"] for name in row["layer_names"]]
        answer["layers"] = flat(answer)
    yield from difference(theirs, ours, "specs")
    if case.get("plan"):
        memory = [case["available_kv_cache_memory_bytes"]]
        yield from _plan_differences(case["plan"], answered("plan", found.to_planning_document(memory)))


def _plan_differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[Difference]:
    if "error" in theirs:
        if not ours.get("error"):
            yield "plan.error", theirs["error"], None
        return
    for key, mine in PLANNED.items():
        yield from difference(theirs[key], ours.get(mine), f"plan.{key}")
    groups = [[group["layer_names"] for group in plan.get("groups", [])] for plan in (theirs, ours)]
    yield from difference(*groups, "plan.groups")


def _with_drafts(value: Any) -> Any:
    """Engine arguments with `drafts:NAME` as the path of that draft model's folder."""
    if isinstance(value, Mapping):
        return {key: _with_drafts(inner) for key, inner in value.items()}
    if isinstance(value, str) and value.startswith("drafts:"):
        return str(golden.drafts() / value.removeprefix("drafts:"))
    return value
