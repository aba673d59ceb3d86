"""`kvinspect.doctor`, and what the classes of the vLLM that is installed say otherwise than the shipped catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvinspect.api.align import captured
from kvinspect.api.ask import Origin, ask
from kvinspect.compare.doctor_answer import DoctorAnswer
from kvinspect.document.checked import checked
from kvinspect.engine.catalogue_comparison import CatalogueComparison, Difference, differences
from kvinspect.question.documents import load
from kvinspect.question.question import Question
from kvinspect.releases import lookup


@checked
def doctor(document: Origin, *, engine: str | None = None) -> DoctorAnswer:
    """What a report of an error about a document needs, best of a captured one.

    `engine` is a release and wins over the document's. Raises DocumentError as `align` does.
    """
    asked = ask(document, "kv_cache_config", "align", engine)
    return DoctorAnswer(asked.document, captured(asked), asked.cg_support)


def with_installed(document: Origin) -> CatalogueComparison:
    """Compare a document's answers under the shipped catalogue with those under the installed vLLM's own classes.

    Asked are the classes of backends and specs; the steps between them are kvinspect's in both answers. Raises
    DocumentError where the document cannot be used, or no vLLM of a release that kvinspect knows can be asked.
    """
    loaded = load(document)
    keys = [key for key in ("kv_cache_config", "kv_cache_specs") if getattr(loaded.model, key) is not None]
    key = (keys or ["kv_cache_config"])[0]
    theirs = ask(loaded, key, "doctor", "installed")
    ours = ask(loaded, key, "doctor", lookup.number(theirs.setting.release))
    both = list(zip(_answers(ours), _answers(theirs), strict=True))
    rows = [Difference(name, *row) for (name, mine), (_, its) in both for row in differences(mine, its)]
    live, commands = theirs.setting, tuple(name for (name, _), _ in both)
    return CatalogueComparison(loaded.source.name, live.engine, lookup.number(live.release), commands, tuple(rows))


def _answers(asked: Question) -> Iterator[tuple[str, dict[str, Any]]]:
    """(command, its answer) for every command that the document is for."""
    if asked.has_cache:
        yield "align", captured(asked).to_dict()
        yield "cg-support", asked.cg_support.to_dict()
    if asked.document.model.kv_cache_specs is not None:
        asked.document.require("available_memory", "plan")
        yield "plan", asked.start.to_dict()
