"""How a call of the Python API names a model: its engine arguments, its memory and its device."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kvinspect.document.document import Document
from kvinspect.question.documents import Origin

if TYPE_CHECKING:
    from kvinspect.models.config import Model
    from kvinspect.models.memory import Memory
    from kvinspect.question.model import ModelQuestion, Served

Answer = TypeVar("Answer")


class ModelArguments(NamedTuple):
    """What a call says of a model beside its name; a call that has no engine arguments asks about a document."""

    engine: str | None = None
    engine_args: Mapping[str, Any] | None = None
    memory: Memory | int | None = None
    platform: str | None = None
    device_capability: str | None = None
    env: Mapping[str, str] | None = None

    def document(self, origin: Origin | Model) -> Origin | None:
        """The document that is asked about, None where it is a model: one that was loaded, or has arguments.

        Raises ValueError where something is said that a document says by itself.
        """
        if self.engine_args is not None or not isinstance(origin, (str, pathlib.Path, Mapping, Document)):
            return None
        said = [name for name in ("memory", "platform", "device_capability", "env") if getattr(self, name) is not None]
        if said:
            raise ValueError(f"{said[0]} is of a model: give its engine_args as well, {{}} for none")
        return origin

    def about(self, origin: Any, ask: Callable[[ModelQuestion], Answer], *, needs_memory: bool = False) -> Answer:
        """What is answered about a model. Raises DocumentError as the question, ValueError for no memory."""
        from kvinspect.models.config import Model, load_model
        from kvinspect.question.model import spoken

        loaded = origin if isinstance(origin, Model) else load_model(origin)
        with spoken(loaded):
            return ask(self.question(loaded, needs_memory=needs_memory))

    def question(self, model: Model, *, needs_memory: bool = False) -> ModelQuestion:
        """The question about a model that was loaded. Raises as `about`."""
        from kvinspect.question.model import ModelQuestion

        return ModelQuestion(self.served(model), self._memory(needs_memory))

    def served(self, model: Model) -> Served:
        """The model under its arguments. Raises DocumentError for what vLLM lacks."""
        from kvinspect.question.model import Served
        from kvinspect.question.question import Rules

        platform = "cuda" if self.platform is None else self.platform
        found = Served.of(model, self.engine_args, lambda: Rules.of(self.engine), platform, self.device_capability)
        return found.within(self.env or {})

    def _memory(self, needed: bool) -> Memory:
        from kvinspect.models.memory import Memory
        from kvinspect.question.memory import PLENTY, Budget, NoMemory, memory_of

        if self.memory is not None:
            return _not_negative(Memory(self.memory, "given") if isinstance(self.memory, int) else self.memory)
        try:
            return memory_of(Budget(), self.engine_args or {}, None)
        except NoMemory:
            if needed:
                raise ValueError(WHERE_FROM) from None
            return PLENTY


def _not_negative(memory: Memory) -> Memory:
    """The memory. Raises DocumentError for fewer bytes than none."""
    if memory.size < 0:
        from kvinspect.document.problem import DocumentError, Problem
        from kvinspect.models.given import SOURCE

        raise DocumentError([Problem(("memory",), expected="bytes, 0 or more", found=str(memory.size), source=SOURCE)])
    return memory


WHERE_FROM = "how much memory is there for the cache? Give memory, num_blocks, or kv_cache_memory_bytes in engine_args"
