"""`kvinspect.align`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kvinspect.api.ask import Origin, ask
from kvinspect.api.of_model import ModelArguments
from kvinspect.api.on_device import ChosenDevice, device_for, made_on
from kvinspect.document.checked import checked
from kvinspect.engine.align_answer import AlignAnswer
from kvinspect.question.question import Question, placed

if TYPE_CHECKING:
    from kvinspect.device.read_back import Progress
    from kvinspect.models.config import Model
    from kvinspect.models.memory import Memory
    from kvinspect.question.model import ModelQuestion


@checked
def align(
    document: Origin | Model,
    *,
    engine: str | None = None,
    device: str = "none",
    num_blocks: int | None = None,
    verify: bool = False,
    progress: Progress | None = None,
    engine_args: Mapping[str, Any] | None = None,
    memory: Memory | int | None = None,
    platform: str | None = None,
    device_capability: str | None = None,
    env: Mapping[str, str] | None = None,
) -> AlignAnswer:
    """The views that vLLM makes of a document's KV cache, and what its alignment decides about shared ones.

    `engine` is a release (`0.27`) and wins over the document's; `num_blocks` replaces the document's number of blocks.
    With a `device` (auto, cuda, cuda:N, cpu, meta) the tensors are made there and compared with the computed views;
    `verify` also writes block IDs through each view and reads them back through the others, on the host where no
    device is chosen. `progress` is told (bytes moved, bytes to move) meanwhile. A captured document's tensors are held
    against the computed views (`captured` of the answer).

    With `engine_args`, {} for none, `document` is a model as `plan_model` takes it, with what else that takes, and the
    answer is about its first worker's cache. It needs `memory`, `num_blocks`, or arguments that say how much there is.

    Raises DocumentError where the document or the model cannot be used, or names a release or backend that nobody
    knows; ValueError for a word that is no device, a number of blocks below 1, or no memory; DeviceError where the
    device is not there or too small; InternalError where torch or the experiment disagrees with us.
    """
    if num_blocks is not None and (not isinstance(num_blocks, int) or num_blocks < 1):
        raise ValueError(f"num_blocks is a whole number from 1 on, not {num_blocks!r}")

    on = OnDevice.of(device, num_blocks, verify)
    given = ModelArguments(engine, engine_args, memory, platform, device_capability, env)
    found = given.document(document)
    if found is None:

        def of_model(asked: ModelQuestion) -> AlignAnswer:
            return refused_as(asked, on.answer(asked.cache, progress))

        return given.about(document, of_model, needs_memory=num_blocks is None)
    return on.answer(ask(found, "kv_cache_config", "align", engine), progress)


def refused_as(asked: ModelQuestion, answer: AlignAnswer) -> AlignAnswer:
    """The answer about a cache of a model, refused where the engine does not start."""
    return answer._replace(refusal=answer.refusal or asked.refusal)


class OnDevice(NamedTuple):
    """How caches are asked about: on which device, with how many blocks, with the experiment or without."""

    device: ChosenDevice
    num_blocks: int | None
    verify: bool

    @classmethod
    def of(cls, device: str, num_blocks: int | None, verify: bool) -> OnDevice:
        """The same with the device that a word names, chosen once for all caches. Raises as `device_for`."""
        return cls(device_for(device, verify), num_blocks, verify)

    def answer(self, asked: Question, progress: Progress | None = None) -> AlignAnswer:
        """The answer of a question with its tensors on the device; see `align`."""
        asked = asked.with_blocks(self.num_blocks)
        answer = captured(asked)
        with placed(asked.document):
            made = made_on(self.device, answer, lambda blocks: asked.with_blocks(blocks).align, self.verify, progress)
        return answer._replace(device=made)


def captured(asked: Question) -> AlignAnswer:
    """The answer, beside what a running engine made of the cache, where the document was captured from one."""
    answer = asked.align
    if not asked.is_captured:
        return answer
    from kvinspect.engine.captured import compare

    return answer._replace(captured=compare(asked.document, answer))
