"""A document under the rules of a release, and its answers, each worked out when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kvinspect.backends.deployed import Deployed
from kvinspect.backends.deployment_facts import DEFAULT_CAPABILITY
from kvinspect.backends.model_runner import choose
from kvinspect.document.document import Document
from kvinspect.document.model import CompilationEntry, DocumentModel, SpeculativeEntry
from kvinspect.document.problem import DocumentError, Problem
from kvinspect.document.refusal import Unknown
from kvinspect.engine.align_answer import AlignAnswer, AnswerHeader
from kvinspect.engine.unknown import unknown_names
from kvinspect.geometry.runs import Intricate
from kvinspect.releases import lookup
from kvinspect.releases.release import Release

if TYPE_CHECKING:
    from kvinspect.cudagraph.cg_support_answer import CGSupportAnswer
    from kvinspect.engine.chain import Stages
    from kvinspect.mm_prefix.mm_prefix_answer import MMPrefixAnswer
    from kvinspect.planning.plan_answer import PlanAnswer


class Rules(NamedTuple):
    """Whose rules apply: what the release is called, its version, and who says so."""

    called: str
    version: str
    why: str

    @classmethod
    def of(cls, engine: str | None, written: str | None = None) -> Rules:
        """The rules of the release that a call names, else of the one that was written, else the newest.

        Raises Unknown, at the path of a document's `engine` where that was taken.
        """
        return cls(*lookup.chosen(engine, written))

    @property
    def release(self) -> Release:
        """The release with its newer model runner. Raises Unknown where the installed vLLM cannot be asked."""
        return lookup.release(self.version)


class Question:
    """A document under a release's rules. No answer is worked out twice, and none before it is asked for.

    A planning document is planned, and what else is asked is asked about the cache that its plan makes (`about`).
    Answers raise DocumentError for unknown names, with its place in the document.
    """

    def __init__(self, document: Document, release: Release, setting: AnswerHeader) -> None:
        self._document, self.release, self.setting = document, release, setting

    @property
    def document(self) -> Document:
        """The document that is asked about."""
        return self._document

    @classmethod
    def of(cls, document: Document, rules: Rules) -> Question:
        """The question of a document with the model runner that it says, or that the release picks for its model.

        Raises Unknown for a release that cannot be asked, DocumentError for names that the release does not know.
        """
        release, setting = under(rules, document)
        asked = cls(document, release, setting)
        unknown = [name.problem for name in unknown_names(document, release, asked.deployed.backends)]
        if unknown:
            raise DocumentError(document.source.placed(unknown))
        return asked

    @classmethod
    def needing(cls, key: str, command: str, document: Document, engine: str | None) -> Question:
        """The question of a document that has the key that a command needs. Raises DocumentError as `of`."""
        document.require(key, command)
        with placed(document):
            return cls.of(document, Rules.of(engine, document.model.engine))

    def with_blocks(self, num_blocks: int | None) -> Question:
        """The question with another number of blocks in the cache; None leaves it at its own."""
        if num_blocks is None:
            return self
        about = self.about
        return Question(about.document, self.release, about.setting._replace(num_blocks=num_blocks))

    def under(self, release: Release) -> Question:
        """The same document under another release, without a header of an answer."""
        return Question(self.document, release, self.setting)

    @property
    def has_cache(self) -> bool:
        """Whether the document describes a KV cache, rather than what one is planned from."""
        return self.document.model.kv_cache_config is not None

    @property
    def is_captured(self) -> bool:
        """Whether a running engine wrote the document."""
        return self.document.model.captured is not None

    @property
    def can_be_planned(self) -> bool:
        """Whether the document says what a cache is planned from, and has none."""
        model = self.document.model
        return not self.has_cache and model.kv_cache_specs is not None and model.available_memory is not None

    @cached_property
    def plan(self) -> PlanAnswer:
        """What the planner makes of a planning document; what the engine would refuse is an answer."""
        from kvinspect.planning.plan import plan_document

        with placed(self.document):
            return plan_document(self.document, self.release, self.setting)

    @cached_property
    def start(self) -> PlanAnswer:
        """The plan, refused where the engine stops at the graphs that the document asks for.

        Each sequence whose graphs are captured has a block of states, of which there may be too few. Of a document that
        names no backends nothing can be said of graphs.
        """
        worker = self.plan.workers[0] if self.plan.starts and self.plan.workers else None
        states = worker is not None and any(group.first_spec.holds_states for group in worker.groups)
        if not (states or (worker is not None and worker.groups and self._asks_for_graphs)):
            return self.plan
        try:
            error = self._of_plan.cg_support.running.error
        except DocumentError:
            return self.plan
        if error is None:
            return self.plan
        return self.plan._replace(refusal=error.within("graphs")._replace(path=(), where=""))

    @property
    def _model(self) -> DocumentModel:
        """What the document says."""
        return self.document.model

    @property
    def _asks_for_graphs(self) -> bool:
        """Whether it says something of graphs, or of drafts, which bound the sizes of graphs."""
        asked, drafts = self._model.compilation_config, self._model.speculative_config
        return asked != CompilationEntry() or drafts != SpeculativeEntry()

    def cache_of(self, plan: PlanAnswer) -> Document:
        """The cache of the first worker of a plan that starts."""
        from kvinspect.question.planned import cache_of_document

        return cache_of_document(plan)

    @cached_property
    def _of_plan(self) -> Question:
        document = self.cache_of(self.plan)
        return Question(document, self.release, self.setting._replace(num_blocks=document.num_blocks))

    @property
    def _of_other_workers(self) -> Iterator[Question]:
        """The questions about the caches of workers that are not like the first, as the stages of a pipeline."""
        for plan in self.plan.of_workers[1:]:
            yield Question(self.cache_of(plan), self.release, self._of_plan.setting)

    @property
    def about(self) -> Question:
        """The question about the cache: this one, or where a plan has to make the cache first, of what it makes."""
        made = not self.has_cache and self.can_be_planned and self.plan.starts and self.plan.groups
        return self._of_plan if made else self

    @cached_property
    def deployed(self) -> Deployed:
        """What answers under the document's deployment."""
        return Deployed.of(self.document, self.release.catalogue)

    @cached_property
    def cache(self) -> Stages:
        """The stages of the cache; those behind a refusal raise it."""
        from kvinspect.engine.chain import Stages

        return Stages(self.document, self.release, self.setting.num_blocks, self.deployed)

    @cached_property
    def align(self) -> AlignAnswer:
        """The views of the cache and what the alignment decides; a planner's refusal comes before any."""
        from kvinspect.engine.align_document import align_stages

        if self.about is not self:
            return self.about.align
        if not self.has_cache:
            return AlignAnswer(self.setting, refusal=self.plan.refusal)
        with placed(self.document):
            return align_stages(self.cache, self.setting)

    @cached_property
    def cg_support(self) -> CGSupportAnswer:
        """How far backends let CUDA graphs go; a planner's refusal comes before that."""
        from kvinspect.cudagraph.cg_support import cg_support_stages, requested_mode
        from kvinspect.cudagraph.cg_support_answer import CGSupportAnswer

        if self.about is not self:
            return self.about.cg_support.beside(one.cg_support for one in self._of_other_workers)
        if self.can_be_planned and self.plan.refusal is not None:
            return CGSupportAnswer(self.setting, requested_mode(self.document), refusal=self.plan.refusal)
        with placed(self.document):
            return cg_support_stages(self.cache, self.release.graphs, self.setting)

    @cached_property
    def mm_prefix(self) -> MMPrefixAnswer:
        """The spans of multimodal tokens that attend bidirectionally."""
        from kvinspect.mm_prefix.mm_prefix import mm_prefix_document

        return mm_prefix_document(self.document, self.release.mm_spans, self.setting)


@contextmanager
def placed(document: Document | Callable[[], Document] | None) -> Iterator[None]:
    """An unknown name as an error with its place in the document, or at the word that the caller gave.

    A document that is first made where something has to be placed comes as the function that makes it.
    """
    try:
        yield
    except Unknown as unknown:
        raise _error(document() if callable(document) else document, unknown) from None
    except Intricate as intricate:
        document = document() if callable(document) else document
        assert document is not None
        problem = Problem(("kv_cache_config",), message=f"cannot be judged: {intricate}", kind="intricate")
        raise document.error(problem) from None


def under(rules: Rules, document: Document) -> tuple[Release, AnswerHeader]:
    """The release with the model runner that a document says, or that it picks for the model, and the setting."""
    model, runner = document.model, choose(document, lookup.number(rules.version))
    return lookup.release(rules.version, runner.runner), AnswerHeader(
        source=document.source.name,
        engine=rules.called,
        release=rules.version,
        engine_source=rules.why,
        model_runner=runner.runner,
        model_runner_source=runner.source,
        model_runner_why=runner.why,
        platform=model.platform,
        device_capability=model.device_capability or DEFAULT_CAPABILITY[model.platform],
        kv_cache_layout=model.kv_cache_layout,
        num_blocks=document.num_blocks,
    )


def _error(document: Document | None, unknown: Unknown) -> DocumentError:
    problem = unknown.problem
    if document is not None and unknown.path:
        return document.error(problem)
    return DocumentError([problem._replace(source="backend" if unknown.kind == "unknown-backend" else "engine")])
