"""A call as the configuration's refusals ask about it, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kvinspect.connectors.configured import Transfer
from kvinspect.document.numbers import human_number
from kvinspect.models import nested
from kvinspect.models.arguments import EngineArguments, argument
from kvinspect.models.fields import Fields
from kvinspect.models.setting import ModelSetting
from kvinspect.models.specs_answer import SpecsAnswer, scheduler_defaults


class Stop(NamedTuple):
    """The argument at which the engine stops, and why."""

    name: str
    text: str


class Call(NamedTuple):
    """A model's first stage with the arguments as the user wrote them."""

    stage: SpecsAnswer
    text: Fields
    """The model's configuration of its language part."""
    written: Mapping[str, Any]
    transfer: Transfer | None = None

    @property
    def setting(self) -> ModelSetting:
        """The settings that the model and the arguments come to."""
        return self.stage.setting

    @property
    def arguments(self) -> EngineArguments:
        """The arguments that kvinspect models."""
        return self.setting.arguments

    @property
    def batches(self) -> tuple[int, int]:
        """(max_num_batched_tokens, max_num_seqs)."""
        return scheduler_defaults(self.setting)

    @property
    def method(self) -> str:
        """How the engine drafts, empty where it does not."""
        return self.stage.specs.method

    @property
    def runner(self) -> str:
        """The model runner that drafts; of a call without a draft the one that the environment names."""
        drafting = self.stage.specs.drafting
        return drafting.runner if drafting else self.arguments.forced_runner or ""

    @property
    def graphs(self) -> Mapping[str, Any]:
        """`--compilation-config`, with the flags that write a key of it."""
        return nested.compilation(self.written) or {}

    @property
    def speculative(self) -> Mapping[str, Any]:
        """`--speculative-config`, with the flags that write a key of it."""
        return nested.speculative(self.written) or {}

    def is_on(self, name: str) -> bool:
        """Whether a flag is given as true."""
        return argument(self.written, name) is True

    def whole(self, name: str) -> int | None:
        """The whole number that a flag gives, None for none."""
        return whole(argument(self.written, name))


def whole(value: Any) -> int | None:
    """A value as a whole number, None where it is none."""
    if isinstance(value, str):
        try:
            value = human_number(value)
        except ValueError:
            return None
    return value if type(value) is int else None


Rule = Callable[[Call], Iterator[Stop]]
"""What one part of the configuration refuses of a call."""
