"""From the requested mode to the one that runs: `CompilationConfig.resolve_cudagraph_mode_and_sizes` (0.25 to 0.28).

Three rules may lower the mode, one after the other, each with its reason; then the state-space blocks are counted. The
engine's last check, for full graphs under NEVER, can not be reached behind the second rule and is left out.
"""

from __future__ import annotations

from typing import NamedTuple

from kvinspect.cudagraph.mode import CUDAGraphMode
from kvinspect.cudagraph.support import AttentionCGSupport, AttentionCGSupportInfo
from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refusal, Refused

FUNCTION = "resolve_cudagraph_mode_and_sizes"
PIECEWISE_ADVICE = "request PIECEWISE, with compilation mode VLLM_COMPILE"


class Request(NamedTuple):
    """The requested mode, and what the answer depends on besides the attention backends."""

    mode: CUDAGraphMode
    vllm_compile: bool = True
    """Whether the compilation mode is VLLM_COMPILE."""
    splits_attention: bool = True
    """Whether the splitting ops contain every attention op."""
    inductor_partition: bool = False
    query_len: int = 1
    """Tokens of a request in a decode step: 1 and the speculative ones."""
    state_blocks: int | None = None
    """KV cache blocks of a model with state-space layers, None where it has none."""
    max_num_seqs: int = 256


class Step(NamedTuple):
    """A downgrade."""

    source: CUDAGraphMode
    target: CUDAGraphMode
    why: str

    def to_dict(self) -> dict[str, str]:
        """The downgrade as JSON."""
        return {"from": self.source.name, "to": self.target.name, "why": self.why}


class Resolution(NamedTuple):
    """The mode that comes out, None where the engine refuses, and how it came about."""

    mode: CUDAGraphMode | None
    steps: tuple[Step, ...] = ()
    error: Refusal | None = None


def resolve(request: Request, info: AttentionCGSupportInfo) -> Resolution:
    """Resolve a request under the least support of its attention backends."""
    mode, steps = request.mode, []
    if mode is CUDAGraphMode.NONE:
        return Resolution(mode)
    try:
        for rule in (_mixed_batches, _decode_batches, _speculative_batches):
            found = rule(mode, request, info)
            if found:
                steps.append(Step(mode, *found))
                mode = found[0]
        _check_state_blocks(mode, request)
    except Refused as refused:
        return Resolution(None, tuple(steps), refused.refusal)
    return Resolution(mode, tuple(steps))


Downgrade = tuple[CUDAGraphMode, str] | None


def _mixed_batches(mode: CUDAGraphMode, request: Request, info: AttentionCGSupportInfo) -> Downgrade:
    """A full graph of any batch asks for ALWAYS."""
    if not mode.full_mixed or info.min_cg_support is AttentionCGSupport.ALWAYS:
        return None
    why = f"{mode.name} captures mixed batches whole, which {_who(info)} does not support"
    if info.min_cg_support is AttentionCGSupport.NEVER:
        raise Refused("ValueError", f"{why}; {PIECEWISE_ADVICE}", function=FUNCTION)
    if request.splits_attention:
        return CUDAGraphMode.FULL_AND_PIECEWISE, f"{why}; the graphs of mixed batches are cut at the attention"
    return CUDAGraphMode.FULL_DECODE_ONLY, f"{why}, and the splitting ops leave attention in; mixed batches run eagerly"


def _decode_batches(mode: CUDAGraphMode, request: Request, info: AttentionCGSupportInfo) -> Downgrade:
    """A full graph of decodes asks for more than NEVER."""
    if not mode.full_decode or info.min_cg_support is not AttentionCGSupport.NEVER:
        return None
    why = f"{mode.name} captures decodes whole, which {_who(info)} does not support"
    if request.vllm_compile and (request.splits_attention or request.inductor_partition):
        return CUDAGraphMode.PIECEWISE, f"{why}; attention is compiled apart, so the rest is captured in pieces"
    missing = "the compilation mode is not VLLM_COMPILE" if not request.vllm_compile else "attention is not split off"
    return CUDAGraphMode.NONE, f"{why}, and {missing}, so nothing is captured"


def _speculative_batches(mode: CUDAGraphMode, request: Request, info: AttentionCGSupportInfo) -> Downgrade:
    """A full graph of decodes of several tokens each asks for UNIFORM_BATCH."""
    enough = info.min_cg_support >= AttentionCGSupport.UNIFORM_BATCH
    if not mode.full_decode or request.query_len == 1 or enough:
        return None
    tokens = counted(request.query_len, "token")
    why = f"with speculative decoding a decode step has {tokens} per request, and {_who(info)} captures one"
    if request.splits_attention:
        return CUDAGraphMode.PIECEWISE, f"{why}; the rest is captured in pieces"
    return CUDAGraphMode.NONE, f"{why}, and the splitting ops leave attention in, so nothing is captured"


def _check_state_blocks(mode: CUDAGraphMode, request: Request) -> None:
    """Each decode of a model with state-space layers holds one block of state while full graphs are captured."""
    blocks = request.state_blocks
    if blocks is None or not mode.full_decode or request.max_num_seqs <= blocks:
        return
    text = (
        f"max_num_seqs is {request.max_num_seqs}, and every sequence needs a state block, but there are only "
        f"{blocks}; pass --max-num-seqs {blocks} or give the cache more memory"
    )
    raise Refused("ValueError", text, function=FUNCTION, path=("scheduler_config", "max_num_seqs"), kind="state-blocks")


def _who(info: AttentionCGSupportInfo) -> str:
    return f"{info.min_cg_attn_backend} ({info.min_cg_support.name})"
