"""A call that names a model with the flags of `vllm serve`, for the commands that answer about its cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kvinspect.cli.exits import as_bad_call, bad_call

if TYPE_CHECKING:
    from kvinspect.document.document import Document
    from kvinspect.hardware.gpu import Gpu
    from kvinspect.hardware.gpus import Gpus
    from kvinspect.models.config import Model
    from kvinspect.models.memory import Memory
    from kvinspect.question.change import Change
    from kvinspect.question.command import ServeCommand
    from kvinspect.question.memory import Budget, NoMemory
    from kvinspect.question.model import ModelPlan, ModelQuestion

Answer = TypeVar("Answer")


OF_A_MODEL = (
    *("--platform", "--device-capability", "--available-kv-cache-memory", "--gpu", "--gpu-memory", "--weights"),
    *("--like", "--calibrate"),
)
"""The options of `ModelOptions.of_a_model`."""


class ModelOptions(NamedTuple):
    """What a call's own options say of a model, as they were written."""

    engine: str | None = None
    platform: str | None = None
    capability: str | None = None
    available: str | None = None
    gpu: str | None = None
    gpu_memory: str | None = None
    weights: str | None = None
    like: str | None = None
    measured: Memory | None = None
    """The memory of a start-up in place of an estimate."""
    env: Sequence[str] = ()
    """Variables of vLLM's environment, `NAME=VALUE` each."""
    needs_memory: bool = True
    """Whether the answer depends on the number of blocks; where it does not, there is plenty unless somebody says."""

    @property
    def of_a_model(self) -> tuple[object, ...]:
        """What is said of a model, its device and its memory, and never of a document; None where nothing is."""
        device = (self.platform, self.capability)
        return (*device, self.available, self.gpu, self.gpu_memory, self.weights, self.like, self.measured)

    def none_of_documents(self) -> None:
        """Raises BadParameter where an option is of a model, and the call asks about a document."""
        given = [flag for flag, value in zip(OF_A_MODEL, self.of_a_model, strict=True) if value is not None]
        if given:
            raise bad_call("a document says by itself what its device and its memory are", " / ".join(given))

    def of_documents(self, ask: Callable[[Document, str | None], Answer]) -> Callable[[Document], Answer]:
        """What a command asks of a document under a release, to which no option of a model belongs."""

        def asked(document: Document) -> Answer:
            self.none_of_documents()
            return ask(document, self.engine)

        return asked

    def of_models(self, ask: Callable[[ModelQuestion], Answer]) -> Callable[[list[str]], Answer]:
        """What a command asks of the model that words name."""
        return lambda words: self.about(words, ask)

    def call(self, words: Iterable[str]) -> ModelCall:
        """What the words name, with these options. Raises ValueError for an unknown flag or model."""
        from kvinspect.question.command import read_command
        from kvinspect.question.memory import Budget

        budget = Budget(self.available, self.gpu_memory, self.weights, self._gpus(), self.measured)
        command = read_command(list(words), self.engine, self.like)
        platform = self.platform or (command.launch.platform if self.gpu is None else None)
        given = self._replace(engine=self.engine or command.launch.release, platform=platform)
        return ModelCall(command, budget, given)

    def _gpus(self) -> Gpus | None:
        """The GPUs that are named; no other call reads the table of them."""
        if self.gpu is None:
            return None
        from kvinspect.hardware.gpus import parse_gpus

        return parse_gpus(self.gpu)

    def about(self, words: Iterable[str], ask: Callable[[ModelQuestion], Answer]) -> Answer:
        """What is answered about the model that the words name.

        Raises BadParameter for words that name none or for no memory, DocumentError as the question.
        """
        from kvinspect.document.problem import DocumentError
        from kvinspect.question.model import spoken

        try:
            call = self.call(words)
            if call.command.model is None:
                raise bad_call("a document says by itself what its arguments are")
            with call.places(), spoken(call.model):
                return ask(call.question())
        except DocumentError:
            raise
        except ValueError as error:
            raise as_bad_call(error) from None


def _variables(given: Sequence[str]) -> dict[str, str]:
    """The variables of `--env`, later ones winning."""
    for one in given:
        if not one.partition("=")[0] or "=" not in one:
            raise bad_call(f"expected NAME=VALUE, found {one!r}", "--env")
    return dict(one.split("=", 1) for one in given)


class ModelCall:
    """What a call is about: a model under engine arguments, or a planning document."""

    def __init__(self, command: ServeCommand, budget: Budget, given: ModelOptions) -> None:
        from kvinspect.models.deployed import device_of, in_sight, on_gpus

        self.command, self.budget, self.given = command, budget, given
        self.device = device_of(budget.gpus, given.platform, given.capability)
        self.variables = {**command.env, **_variables(given.env)}
        with self.places():
            self.arguments = on_gpus(command.arguments, budget.gpus)
            in_sight(self.arguments, command.launch.gpus, command.launch.gpus_said)

    @cached_property
    def model(self) -> Model:
        """The model, read once. Raises DocumentError."""
        return self.command.load()

    @property
    def setting(self) -> dict[str, Any]:
        """Release, platform, capability and variables, as the Python API takes them."""
        platform, capability = self.device
        device = {"platform": platform, "device_capability": capability}
        return {"engine": self.given.engine, **device, "env": self.variables}

    @contextmanager
    def places(self) -> Iterator[None]:
        """Errors of arguments that a file says, with their places in it."""
        from kvinspect.document.problem import DocumentError

        try:
            yield
        except DocumentError as error:
            raise self.command.placed(error) from None

    def serve_line(self, flags: Sequence[str] = ()) -> str:
        """The `vllm serve` line of the call with further flags, to copy into a shell; empty for standard input."""
        from kvinspect.commands.serve_line import serve_line

        said, wanted = self.command.arguments.get("tensor_parallel_size"), self.arguments.get("tensor_parallel_size")
        on_gpus = ("--tensor-parallel-size", str(wanted)) if said is None and wanted is not None and not flags else ()
        words = self.command.served_words
        return serve_line([*words, *on_gpus, *flags], self.variables) if words else ""

    def again(self, change: Change) -> ModelPlan:
        """The plan with a change of the call. Raises ValueError where there is none."""
        from kvinspect.question.model import spoken

        call = self._changed(change)
        with spoken(call.model):
            return call.question().plan

    def _changed(self, change: Change) -> ModelCall:
        """The same call with a change; another model brings its own weights."""
        from kvinspect.models.hub import located

        command = self.command
        if change.model:
            command = command._replace(model=change.model, found=located(change.model))
        arguments = {**self.arguments, **change.arguments}
        # The GPUs keep their kind; whether there are enough of them is what the change asks for.
        gpus = self.budget.gpus
        budget = self.budget._replace(gpus=gpus and gpus._replace(counted=False))
        launch = command.launch._replace(gpus=None)
        return ModelCall(command._replace(arguments=arguments, launch=launch), budget, self.given)

    def on(self, gpu: Gpu, arguments: Mapping[str, Any]) -> ModelCall:
        """The same call under arguments on a kind of GPU, however many they need."""
        from kvinspect.hardware.gpus import Gpus

        command = self.command._replace(arguments=arguments, launch=self.command.launch._replace(gpus=None))
        found = ModelCall(command, self.budget._replace(gpus=Gpus(1, gpu)), self.given._replace(platform=None))
        found.model = self.model
        return found

    def memory(self, arguments: Mapping[str, Any]) -> Memory:
        """The memory for the cache under some arguments. Raises NoMemory where no flag says how much there is."""
        from kvinspect.question.memory import ServedModel, memory_of

        served = ServedModel(self.model, self.given.engine, *self.device)
        found = self.command.found
        return memory_of(self.budget, arguments, found.folder, served, found.hub_id)

    def question(self) -> ModelQuestion:
        """The question about the model; plenty of memory where no flag says how much and nothing depends on it."""
        from kvinspect.question.memory import PLENTY, NoMemory
        from kvinspect.question.model import ModelQuestion, Served
        from kvinspect.question.question import Rules

        memory = self._memory_or_none()
        served = Served.of(self.model, self.arguments, lambda: Rules.of(self.given.engine), *self.device)
        served = served.within(self.variables)
        if isinstance(memory, NoMemory):
            if self.given.needs_memory:
                raise memory
            memory = PLENTY
        return ModelQuestion(served, memory)

    def _memory_or_none(self) -> Memory | NoMemory:
        """The memory, or that nobody said how much, which is said behind what is wrong with the arguments."""
        from kvinspect.question.memory import NoMemory

        try:
            return self.memory(self.arguments)
        except NoMemory as nobody:
            return nobody
