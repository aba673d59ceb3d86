"""What a start-up sets aside beside the weights, before the KV cache: an estimate, with the band in which it lies.

`determine_available_memory` runs the model once on a full batch and takes from the share of the GPU what that run left
allocated and what it had at its peak. Sizes of tensors follow that run; what drivers and libraries keep is fitted to
public start-up logs (`benchmarks/estimate.py`).
"""

from __future__ import annotations

from typing import NamedTuple

from kvinspect.models.parameters import EXPERT_COUNTS, Config, number, text_of

GIB = 1 << 30
SMALL_BATCH = 256
"""Sequences of a batch up to which few CUDA graphs are captured."""

CONTEXT = 0.30 * GIB
"""What CUDA and its libraries keep beside torch's memory on one GPU."""

RANKS = 0.35 * GIB
"""What collective communication adds on each of several GPUs."""

MANY_RANKS = 0.05 * GIB
"""What each further GPU adds to that."""

TOWER = 0.35 * GIB
"""The run of an encoder of images on the largest input, with its output."""

GRAPHS_SMALL, GRAPHS_LARGE = 0.25 * GIB, 0.5 * GIB
"""CUDA graphs as a start-up estimates them, for small and large default batches."""

SPARSE = 6.0 * GIB
"""Workspaces of attention that picks its keys with an indexer, over several streams of hidden states."""

FORWARD = 1.5
"""Activations of a layer that are live at once, as a multiple of its widest and its residual tensors."""

RELATIVE, LEAST = 0.28, 0.35 * GIB
"""Half of the band: a share of the estimate, and no less than this."""


class Profile(NamedTuple):
    """What a release's start-up does."""

    sampler_copies: float = 4.0
    """Float32 tensors of the logits of a full batch that the sampler holds at its peak."""
    gathers: float = 1.0
    """The same of logits that are gathered from several ranks."""
    counts_graphs: bool = True
    """Whether CUDA graphs are taken off the memory for the cache."""


class Run(NamedTuple):
    """The batch and the ranks of a start-up. Sizes in tokens and sequences."""

    batched: int
    seqs: int
    ranks: int = 1
    world: int = 1
    eager: bool = False
    language_only: bool = False


def terms_of(config: Config, run: Run, profile: Profile) -> dict[str, int]:
    """Bytes by what they are for."""
    text = text_of(config)
    vocabulary = number(text, "padded_vocab_size", "vocab_size")
    copies = profile.sampler_copies + (profile.gathers if run.ranks > 1 else 0)
    sampler = copies * min(run.seqs, run.batched) * vocabulary * 4
    terms = {
        "context": CONTEXT,
        "activations": max(sampler, _forward(text, run)),
        "experts": _experts(text, run),
        "communication": RANKS + MANY_RANKS * (run.world - 2) if run.world > 1 else 0,
        "encoder": TOWER if "vision_config" in config and not run.language_only else 0,
        "sparse attention": SPARSE if number(text, "hc_mult") else 0,
        "CUDA graphs": 0 if run.eager or not profile.counts_graphs else _graphs(run),
    }
    return {name: round(size) for name, size in terms.items() if size}


def _forward(text: Config, run: Run) -> float:
    hidden = number(text, "hidden_size", "n_embd")
    wide = number(text, "intermediate_size", "ffn_hidden_size") or 4 * hidden
    if number(text, *EXPERT_COUNTS):
        wide = number(text, "moe_intermediate_size") or wide
    return FORWARD * run.batched * 2 * (2 * wide / run.ranks + 2 * hidden)


def _experts(text: Config, run: Run) -> float:
    """Workspaces in which the tokens of a batch are laid out for each expert that they chose."""
    if not number(text, *EXPERT_COUNTS):
        return 0
    chosen = number(text, "num_experts_per_tok", "experts_per_token", "moe_topk", "top_k_experts", default=1)
    inner = number(text, "moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size")
    wide = number(text, "moe_latent_size") or number(text, "hidden_size")
    return run.batched * chosen * (wide + 2 * inner / run.ranks) * 2


def _graphs(run: Run) -> float:
    return GRAPHS_SMALL if run.seqs <= SMALL_BATCH else GRAPHS_LARGE


def half_band(terms: dict[str, int]) -> int:
    """How far the true sum may lie from the estimate, to either side, in nine of ten start-ups."""
    return round(max(LEAST, RELATIVE * sum(terms.values())))
