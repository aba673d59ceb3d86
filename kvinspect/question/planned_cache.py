"""The question about a cache that is planned from a model's specs; its document is written on demand."""

from __future__ import annotations

from functools import cached_property

from kvinspect.document.document import Document
from kvinspect.document.load import load
from kvinspect.document.model import DocumentModel
from kvinspect.document.not_modelled import NotModelled
from kvinspect.document.source import Source
from kvinspect.models.planned import ModelPlanning
from kvinspect.planning.plan import plan_inputs
from kvinspect.planning.plan_answer import PlanAnswer
from kvinspect.question.question import Question, Rules, placed, under


class PlannedCache(Question):
    """What is asked about a model's cache. Raises DocumentError for unknown words of the user."""

    has_cache, is_captured, can_be_planned = False, False, True

    def __init__(
        self, planning: ModelPlanning, said: DocumentModel, rules: Rules, left_out: tuple[NotModelled, ...] = ()
    ) -> None:
        """`said` is what the planning document says beside the specs, `left_out` what neither of them does."""
        self.planning, self.said = planning, said
        self.release, setting = under(rules, Document(Source(planning.source, {}), self.said))
        self.setting = setting._replace(not_modelled=left_out)

    @property
    def _model(self) -> DocumentModel:
        return self.said

    def cache_of(self, plan: PlanAnswer) -> Document:
        """The cache of the first worker of a plan that starts."""
        from kvinspect.question.planned import cache_of_model

        return cache_of_model(plan, self.said)

    @cached_property
    def document(self) -> Document:
        """The planning document, which says the same."""
        return load(self.planning.value, self.planning.source)

    @cached_property
    def plan(self) -> PlanAnswer:
        """What the planner makes of the specs."""
        answer = PlanAnswer(self.setting, self.release.deployment(self.said), self.release, written=self.planning)
        inputs = self.planning.inputs(self.setting.kv_cache_layout)
        with placed(lambda: self.document):
            return plan_inputs(answer, inputs, lambda path: self.document.where(path))
