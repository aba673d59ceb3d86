"""A call that names a model with the flags of `vllm serve`, for the commands that answer about its cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kvinspect.cli.exits import bad_call

if TYPE_CHECKING:
    from kvinspect.models.config import Model
    from kvinspect.models.memory import Memory
    from kvinspect.question.command import ServeCommand
    from kvinspect.question.memory import Budget
    from kvinspect.question.model import ModelQuestion

Answer = TypeVar("Answer")


class ModelOptions(NamedTuple):
    """What a call's own options say of a model, as they were written."""

    engine: str | None = None
    platform: str | None = None
    capability: str | None = None
    available: str | None = None
    gpu: str | None = None
    gpu_memory: str | None = None
    weights: str | None = None
    needs_memory: bool = True
    """Whether the answer hangs on the number of blocks; where it does not, there is plenty unless somebody says."""

    def none_of_documents(self) -> None:
        """Raises BadParameter where an option is of a model, and the call asks about a document."""
        if any(value is not None for value in self[1:-1]):
            raise bad_call("a document says by itself what its device and its memory are")

    def about(self, words: Iterable[str], ask: Callable[[ModelQuestion], Answer]) -> Answer:
        """What is answered about the model that the words name.

        Raises BadParameter for words that name none or for no memory, DocumentError as the question.
        """
        from kvinspect.document.problem import DocumentError
        from kvinspect.question.command import read_command

        try:
            command = read_command(list(words), self.engine)
            if command.model is None:
                raise bad_call("a document says by itself what its arguments are")
            try:
                return self._answered(command, ask)
            except DocumentError as error:
                raise command.placed(error) from None
        except DocumentError:
            raise
        except ValueError as error:
            raise bad_call(str(error)) from None

    def _answered(self, command: ServeCommand, ask: Callable[[ModelQuestion], Answer]) -> Answer:
        from kvinspect.hardware.gpus import parse_gpus
        from kvinspect.models.deployed import device_of, on_gpus
        from kvinspect.question.memory import Budget
        from kvinspect.question.model import ModelQuestion, Served, spoken
        from kvinspect.question.question import Rules

        named = parse_gpus(self.gpu) if self.gpu is not None else None
        budget = Budget(self.available, self.gpu_memory, self.weights, named)
        device, arguments = device_of(named, self.platform, self.capability), on_gpus(command.arguments, named)
        model = command.load()
        with spoken(model):
            served = Served.of(model, arguments, lambda: Rules.of(self.engine), *device).within(command.env)
            memory = self._memory(command, model, arguments, budget, device)
            return ask(ModelQuestion(served, memory))

    def _memory(
        self,
        command: ServeCommand,
        model: Model,
        arguments: Mapping[str, Any],
        budget: Budget,
        device: tuple[str, str | None],
    ) -> Memory:
        """The memory for the cache, plenty where nobody says how much and nothing hangs on it."""
        from kvinspect.question.memory import PLENTY, NoMemory, ServedModel, memory_of

        try:
            return memory_of(budget, arguments, command.found.folder, ServedModel(model, self.engine, *device))
        except NoMemory:
            if self.needs_memory:
                raise
            return PLENTY
