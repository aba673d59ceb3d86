"""`kvinspect.diff`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kvinspect.api.ask import Origin, ask
from kvinspect.api.of_model import ModelArguments
from kvinspect.compare.diff import compare
from kvinspect.compare.diff_answer import DiffAnswer
from kvinspect.connectors.pair import SHORT
from kvinspect.document.checked import checked
from kvinspect.document.document import Document
from kvinspect.models.arguments import argument
from kvinspect.question.documents import load
from kvinspect.question.question import Question, placed

if TYPE_CHECKING:
    from kvinspect.models.config import Model
    from kvinspect.models.memory import Memory
    from kvinspect.question.model import ModelQuestion

    Side = Question | ModelQuestion

BLOCKS = 1024
"""Of models on both sides where nobody says how much memory there is."""


@checked
def diff(
    document: Origin | Model,
    other: Origin | Model | None = None,
    *,
    engines: Sequence[str] = (),
    engine_args: Mapping[str, Any] | None = None,
    other_engine_args: Mapping[str, Any] | None = None,
    memory: Memory | int | None = None,
    platform: str | None = None,
    device_capability: str | None = None,
    env: Mapping[str, str] | None = None,
    connector: str | None = None,
) -> DiffAnswer:
    """What changed between two KV caches, and whether blocks that one has written can be read by the other.

    Of two documents with no engine each keeps its own release; one engine holds for both, two for one each. Of one
    document two engines are compared, or one with the document's own. Planning documents are planned first. Positions
    are bytes, shapes and strides elements.

    A side with engine arguments, {} for none, is a model as `plan_model` takes it; what else that takes holds for the
    models of both sides. Without `other` the model is the same, under the same arguments where no others are given. Of
    a model its first worker's cache is taken; without memory it has as many blocks as the other side.

    With a `connector` (nixl, mooncake, lmcache or a name of the release) the question is whether blocks that the first
    model has written in prefill come to the second for decode; arguments without a `kv_transfer_config` get one.

    Raises DocumentError where a document or a model cannot be used, or names a release or backend that nobody knows;
    ValueError where there is nothing to compare, or more than two engines.
    """
    first, second = engines_of(engines, other is None and other_engine_args is None)
    if other is None and other_engine_args is not None:
        engine_args = engine_args or {}
    elif other is None:
        other_engine_args = engine_args
    shared = (memory, platform, device_capability, env)
    of_documents = engine_args is None and other_engine_args is None
    a, b = (
        ModelArguments(
            engine, with_connector(args, connector, role), *(shared if of_documents or args is not None else ())
        )
        for engine, args, role in ((first, engine_args, PREFILL), (second, other_engine_args, DECODE))
    )
    if of_documents and (found := a.document(document)) is not None:
        document = load(found)
    return compared(side(document, a), side(document if other is None else other, b), connector)


PREFILL, DECODE = "kv_producer", "kv_consumer"
"""Roles of the two instances."""


def with_connector(given: Mapping[str, Any] | None, connector: str | None, role: str) -> Mapping[str, Any] | None:
    """Arguments with a connector, unless they have one or are none."""
    if connector is None or given is None or argument(given, "kv_transfer_config") is not None:
        return given
    name = SHORT.get(connector.lower(), connector)
    return {**given, "kv_transfer_config": {"kv_connector": name, "kv_role": role}}


def engines_of(engines: Sequence[str], alone: bool) -> tuple[str | None, str | None]:
    """The releases of both sides, None for a side's own; `alone` where both are the same. Raises ValueError."""
    if len(engines) > 2:
        raise ValueError(f"two releases are compared, not {len(engines)}")
    if alone and not engines:
        raise ValueError("one document is compared with itself: give another document, or a release")
    asked: tuple[str | None, ...] = tuple(engines) or (None,)
    return None if alone and len(asked) == 1 else asked[0], asked[-1]


def side(origin: Origin | Model, given: ModelArguments) -> Side:
    """What is asked about one side."""
    found = given.document(origin)
    return given.about(origin, planned) if found is None else of_document(load(found), given.engine)


def of_document(document: Document, engine: str | None) -> Question:
    """The question of a document that has a cache or is planned to have one."""
    if document.model.kv_cache_config is not None or document.model.kv_cache_specs is None:
        return ask(document, "kv_cache_config", "diff", engine)
    asked = ask(document, "kv_cache_specs", "diff", engine)
    document.require("available_memory", "diff")
    return asked


def planned(asked: ModelQuestion) -> ModelQuestion:
    """The question of a model that was planned, so that nobody finds out later what is wrong with it."""
    assert asked.cache
    return asked


def compared(a: Side, b: Side, connector: str | None = None) -> DiffAnswer:
    """The answer about both sides, with what a connector makes of them.

    Raises DocumentError, also for a connector that the release does not have.
    """
    first, second = _cache(a, b), _cache(b, a)
    with placed(lambda: first.document):
        found = compare(first, second)
    if connector is None:
        return found
    from kvinspect.question.pair import pair_verdict

    return found._replace(connector=pair_verdict(connector, a, b))


def _cache(asked: Side, other: Side) -> Question:
    """The question about a side's cache, with the blocks of the other side where nobody says how many there are."""
    if isinstance(asked, Question):
        return asked
    return asked.cache if _has_blocks(asked) or asked.refusal else asked.cache.with_blocks(_blocks(other))


def _blocks(asked: Side) -> int:
    question = asked if isinstance(asked, Question) else asked.cache
    return (question.about.setting.num_blocks if _has_blocks(asked) else 0) or BLOCKS


def _has_blocks(asked: Side) -> bool:
    """Whether somebody says how many blocks there are, or how much memory."""
    from kvinspect.question.memory import PLENTY

    return isinstance(asked, Question) or asked.memory is not PLENTY
