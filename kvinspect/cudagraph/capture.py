"""Which batches are captured: the sizes that the configuration picks, and the graphs that a model runner makes.

The sources are `VllmConfig._set_cudagraph_sizes`, for V2 `CudaGraphManager._init_candidates` in
`vllm/v1/worker/gpu/cudagraph_utils.py`, for V1 `CudagraphDispatcher.initialize_cudagraph_keys` and
`CompilationConfig.adjust_cudagraph_sizes_for_spec_decode` (0.25 on), without LoRA, sequence parallelism and draft
lengths that vary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kvinspect.cudagraph.mode import CUDAGraphMode
from kvinspect.document.model import CompilationEntry
from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused
from kvinspect.provenance import vllm

FUNCTION = "_set_cudagraph_sizes"


@vllm("VllmConfig._set_cudagraph_sizes", until="0.27")
def limit_of_all(capability: str | None) -> int:
    """Tokens of the largest batch captured by default, whatever the device (0.25 to 0.27)."""
    return 512


@vllm("VllmConfig._set_cudagraph_sizes", since="0.28")
def limit_by_device(capability: str | None) -> int:
    """Tokens of the largest batch captured by default, twice as many on data-center Blackwell (0.28 on)."""
    return 1024 if capability and capability.split(".")[0] == "10" else 512


class Batches(NamedTuple):
    """What bounds a batch: sequences, tokens of a step, tokens of one sequence in a decode step."""

    max_num_seqs: int
    max_num_batched_tokens: int
    query_len: int


class Captured(NamedTuple):
    """The graphs of a mode, in tokens of a batch."""

    sizes: tuple[int, ...]
    """The sizes that the configuration picks."""
    decode: tuple[int, ...] = ()
    """Batches of decodes alone, each of `query_len` tokens, where they have graphs of their own."""
    mixed: tuple[int, ...] = ()
    """Any batch."""

    def to_dict(self) -> dict[str, Any]:
        """The graphs as JSON."""
        return {name: list(tokens) for name, tokens in self._asdict().items()}


DecodeSizes = Callable[[Batches, int, int], set[int]]
"""(batches, tokens of the largest batch captured, the device's limit) → sizes of decodes that are captured as well."""


@vllm("VllmConfig._set_cudagraph_sizes", until="0.28")
def no_decodes(batches: Batches, largest: int, limit: int) -> set[int]:
    """None but what the steps come across (0.25 to 0.28)."""
    return set()


@vllm("VllmConfig._set_cudagraph_sizes", since="0.29", until="0.30")
def decodes_of_several_tokens(batches: Batches, largest: int, limit: int) -> set[int]:
    """Decodes of several tokens a sequence, with the same numbers of sequences as for one token (0.29, 0.30)."""
    if batches.query_len == 1:
        return set()
    most = min(batches.max_num_seqs, limit)
    return {n * batches.query_len for n in {*_steps(most), most} if n * batches.query_len <= largest}


@vllm("VllmConfig._set_cudagraph_sizes", since="0.33")
def decodes_of_all(batches: Batches, largest: int, limit: int) -> set[int]:
    """Like `decodes_of_several_tokens`, and of one token a sequence the widest batch (0.33)."""
    if batches.query_len > 1:
        return decodes_of_several_tokens(batches, largest, limit)
    return {batches.max_num_seqs} if batches.max_num_seqs <= largest else set()


def capture_sizes(
    written: CompilationEntry, batches: Batches, limit: int, decodes: DecodeSizes = no_decodes
) -> tuple[int, ...]:
    """The sizes in tokens, ascending. Raises Refused where the document's two keys for them do not agree."""
    default = min(batches.max_num_seqs * batches.query_len * 2, limit)
    largest = min(written.max_cudagraph_capture_size or default, batches.max_num_batched_tokens)
    if written.cudagraph_capture_sizes is None:
        extra = decodes(batches, default, limit) if written.max_cudagraph_capture_size is None else set()
        within = {size for size in extra if size <= batches.max_num_batched_tokens}
        return _by_default(largest, batches.max_num_batched_tokens, within)
    sizes = tuple(sorted({n for n in written.cudagraph_capture_sizes if n <= batches.max_num_batched_tokens}))
    top = sizes[-1] if sizes else 0
    if written.max_cudagraph_capture_size not in (None, top):
        text = f"max_cudagraph_capture_size is {written.max_cudagraph_capture_size}, the largest capture size {top}"
        path = ("compilation_config", "max_cudagraph_capture_size")
        raise Refused("ValueError", text, function=FUNCTION, path=path)
    return sizes


def _steps(largest: int) -> set[int]:
    """1, 2, 4, then every eighth up to 256 and every sixteenth from there."""
    sizes = {n for n in (1, 2, 4) if n <= largest} | set(range(8, min(largest + 1, 256), 8))
    return sizes | set(range(256, largest + 1, 16))


def _by_default(largest: int, max_tokens: int, decodes: set[int]) -> tuple[int, ...]:
    """The steps, the largest batch if it is small, and the sizes of decodes."""
    sizes = _steps(largest) | decodes
    if max_tokens <= largest:
        sizes.add(max_tokens)
    return tuple(sorted(sizes))


@vllm("CudaGraphManager._init_candidates")
def captured(mode: CUDAGraphMode, sizes: tuple[int, ...], batches: Batches) -> Captured:
    """The graphs that a mode has at these sizes (V2)."""
    decode: tuple[int, ...] = ()
    if mode.full_decode and mode.value.separate:
        rounded = {-(-size // batches.query_len) * batches.query_len for size in sizes}
        most = min(batches.max_num_seqs * batches.query_len, max(sizes, default=0))
        decode = tuple(sorted(tokens for tokens in rounded if tokens <= most))
    return Captured(sizes, decode, sizes if mode.value.mixed != "NONE" else ())


@vllm("CudagraphDispatcher.initialize_cudagraph_keys", until="0.28")
def captured_in_multiples(mode: CUDAGraphMode, sizes: tuple[int, ...], batches: Batches) -> Captured:
    """The same of V1, which rounds the sizes of decodes and of mixed batches up to whole decodes of `query_len` tokens.

    Raises Refused where no size is left.
    """
    length = batches.query_len
    if mode.full_decode and length > 1 and sizes:
        sizes = _in_multiples(sizes, length)
    decode: tuple[int, ...] = ()
    if mode.full_decode and mode.value.separate:
        decode = tuple(size for size in sizes if length <= size <= batches.max_num_seqs * length)
    return Captured(sizes, decode, sizes if mode.value.mixed != "NONE" else ())


def _in_multiples(sizes: tuple[int, ...], length: int) -> tuple[int, ...]:
    largest = max(sizes)
    rounded = {-(-size // length) * length for size in sizes}
    left = tuple(sorted(size for size in rounded if size <= largest)) or ((length,) if length <= largest else ())
    if not left:
        text = (
            f"no capture size up to {largest} is a multiple of {counted(length, 'token')} (num_speculative_tokens + 1)"
        )
        path = ("compilation_config", "cudagraph_capture_sizes")
        raise Refused("ValueError", text, function="adjust_cudagraph_sizes_for_spec_decode", path=path)
    return left
