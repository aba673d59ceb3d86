"""What an estimate makes of the memory of a GPU, term by term."""

from __future__ import annotations

from typing import NamedTuple


class MemorySum(NamedTuple):
    """The memory of one GPU, what the engine may use of it, and what that is for; sizes in bytes."""

    gpu_name: str
    gpu: int
    utilization: float
    requested: int
    weights: int
    weights_from: str
    """Where the size of the weights comes from, in words."""
    ranks: int
    """GPUs that share the weights."""
    batched_tokens: int
    """`--max-num-batched-tokens`, which the activations depend on."""
    terms: tuple[tuple[str, int], ...]
    """What a start-up sets aside besides, by what it is for."""
    margin: int | None = None
    """How far nine of ten start-ups are away from the estimate at most, None where too little is known."""

    @property
    def left(self) -> int:
        """What is left for the KV cache, below 0 where there is too little already."""
        return self.requested - self.weights - sum(size for _, size in self.terms)
