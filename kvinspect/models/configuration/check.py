"""Whether a release's configuration takes a call: every refusal of it that is modeled, asked in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvinspect.connectors.configured import Transfer
from kvinspect.data.catalogue import versions
from kvinspect.document.problem import DocumentError, Problem
from kvinspect.models.configuration import cache, device, graphs, parallel, runner, scheduler, speculation
from kvinspect.models.configuration.call import Call, Rule, Stop
from kvinspect.models.fields import Fields
from kvinspect.models.given import SOURCE
from kvinspect.models.memory import Memory
from kvinspect.models.specs_answer import SpecsAnswer, as_served
from kvinspect.provenance import sources_of

RULES: tuple[Rule, ...] = (
    *parallel.RULES, *scheduler.RULES, *cache.RULES, *speculation.RULES, *device.RULES, *graphs.RULES,
    *runner.RULES,
)  # fmt: skip


OF_RELEASE: Mapping[str, tuple[Rule, ...]] = {
    version: tuple(rule for rule in RULES if any(source.covers(version) for source in sources_of(rule)))
    for version in versions()
}
"""Release → what its configuration refuses."""


def served(
    stages: Sequence[SpecsAnswer], text: Fields, written: Mapping[str, Any], transfer: Transfer | None, memory: Memory
) -> tuple[SpecsAnswer, ...]:
    """The stages of a model with the batches that `vllm serve` takes on the GPU that has the memory.

    `text` is the configuration of the model's language part, `written` the arguments as the user wrote them. Raises
    DocumentError with all that the release's configuration refuses.
    """
    made = tuple(as_served(stage, memory.gpu, memory.gpu_name) for stage in stages)
    problems = [
        Problem((stop.name,), message=f"the engine stops: {stop.text}", source=SOURCE, kind="stopped")
        for stop in stops(Call(made[0], text, written, transfer))
    ]
    if problems:
        raise DocumentError(problems)
    return made


def stops(call: Call) -> Iterator[Stop]:
    """What the release refuses of a call."""
    for rule in OF_RELEASE[call.setting.release.version]:
        yield from rule(call)
