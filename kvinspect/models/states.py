"""States of state-space, convolution and linear-attention layers on one rank (`MambaStateShapeCalculator` and its kin).

Sizes are those of the whole model, in elements; heads and channels are divided among the ranks, groups repeated where
they are no multiple of them. A convolution's state holds the kernel's last inputs, and those of tokens drafted ahead.
"""

from __future__ import annotations

from typing import NamedTuple

from kvinspect.models.layers import State
from kvinspect.models.resolve import torch_dtype
from kvinspect.models.scope import Scope

Shape = tuple[int, ...]

DELTA = "GatedDeltaNetAttention"
"""vLLM's class of a gated delta net."""

DELTA_CHECKPOINT = 64
"""Tokens to which a gated delta net's kernel aligns the states that it leaves on its way."""


class Mamba2(NamedTuple):
    """Sizes of a Mamba 2 mixer."""

    intermediate: int
    groups: int
    heads: int
    head_dim: int
    state: int
    kernel: int


def mamba2_sizes(scope: Scope, intermediate: int | None = None) -> Mamba2:
    """The sizes that a config.json names `mamba_*`; the mixer is an expanded hidden state where no size is given."""
    text = scope.text
    return Mamba2(
        intermediate=intermediate or text.count("mamba_expand") * text.hidden_size,
        groups=text.count("mamba_n_groups"),
        heads=text.count("mamba_n_heads"),
        head_dim=text.count("mamba_d_head"),
        state=text.count("mamba_d_state"),
        kernel=text.count("mamba_d_conv", least=2),
    )


class Delta(NamedTuple):
    """Sizes of a gated delta net."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int


class States(NamedTuple):
    """Makes the layers of one model. `ahead` is the tokens drafted ahead."""

    scope: Scope

    @property
    def ahead(self) -> int:
        """Tokens that are drafted ahead, and may have to be taken back."""
        return self.scope.setting.arguments.num_speculative_tokens

    def share(self, whole: int, what: str) -> int:
        """What one rank holds. Raises DocumentError where the ranks cannot share evenly."""
        ranks = self.scope.setting.ranks
        if whole % ranks:
            self.scope.text.refuse(what, f"{whole} of {what} cannot be divided among tensor_parallel_size {ranks}")
        return whole // ranks

    def dtypes(self) -> tuple[str, str]:
        """(dtype of a convolution's state, dtype of a state-space or recurrent state)."""
        arguments, dtype = self.scope.setting.arguments, self.scope.setting.dtype
        first = torch_dtype(arguments.mamba_cache_dtype, dtype)
        second = self.scope.setting.mamba_ssm_cache_dtype
        return first, first if second == "auto" else second

    def _type(self, layer_class: str) -> str:
        """The word for the backend of one of vLLM's classes of layers with states (`mamba_type`)."""
        found: str = self.scope.setting.release.catalogue["state_layers"][layer_class]
        return found

    def mamba1(self, name: str, number: int, intermediate: int, state: int, kernel: int) -> State:
        """A Mamba 1 mixer."""
        channels = self.share(intermediate, "intermediate_size")
        shapes = ((kernel - 1, channels), (channels, state))
        return State(self.scope.named(name), number, shapes, self.dtypes(), self._type("MambaMixer"))

    def mamba2(self, name: str, number: int | None, sizes: Mamba2, *, weighs_ahead: bool = False) -> State:
        """A Mamba 2 mixer; with ReplaySSM a ring of the last inputs beside its states.

        `weighs_ahead` is whether the model's class counts drafted tokens when pages are aligned; the layers do.
        """
        shapes = self._mamba2(sizes, self.ahead)
        dtypes: tuple[str, ...] = self.dtypes()
        weighs_ahead = weighs_ahead or self.scope.cls in self.scope.rules.weigh_ahead
        weighed = None if weighs_ahead or not self.ahead else self._mamba2(sizes, 0)
        if self.scope.setting.arguments.use_replayssm:
            ring, ring_dtypes = self._ring(sizes)
            weighed = weighed if weighed is None else (*weighed, *ring)
            shapes, dtypes = (*shapes, *ring), (*dtypes, *ring_dtypes)
        checkpoint = 1 if self.scope.rules.states_checkpoint else None
        return State(
            self.scope.named(name),
            number,
            shapes,
            dtypes,
            self._type("MambaMixer2"),
            checkpoint=checkpoint,
            weighed=weighed,
        )

    def _mamba2(self, sizes: Mamba2, ahead: int) -> tuple[Shape, ...]:
        channels = sizes.intermediate + 2 * self._groups(sizes.groups) * sizes.state
        conv = (sizes.kernel - 1 + ahead, self.share(channels, "mamba channels"))
        return conv, (self.share(sizes.heads, "mamba heads"), sizes.head_dim, sizes.state)

    def _groups(self, groups: int) -> int:
        """Groups of all ranks together, a single one repeated. Raises DocumentError where others cannot be divided."""
        ranks = self.scope.setting.ranks
        return ranks if groups == 1 else ranks * self.share(groups, "mamba groups")

    def _ring(self, sizes: Mamba2) -> tuple[tuple[Shape, ...], tuple[str, ...]]:
        """What ReplaySSM keeps of the last inputs: x, dt and B."""
        length, dtype = self.scope.setting.arguments.replayssm_buffer_len, self.scope.setting.dtype
        heads = self.share(sizes.heads, "mamba heads")
        groups = self._groups(sizes.groups) // self.scope.setting.ranks
        shapes = ((heads, length, sizes.head_dim), (heads, length), (groups, length, sizes.state))
        return shapes, (dtype, "float32", dtype)

    def short_conv(self, name: str, number: int, channels: int, kernel: int) -> State:
        """A short convolution, and nothing else."""
        ahead = self.ahead if self.scope.rules.short_conv_counts_ahead else 0
        share = self.share(channels, "conv_dim")
        weighed = ((kernel - 1, share),) if ahead else None
        shapes = ((kernel - 1 + ahead, share),)
        return State(
            self.scope.named(name), number, shapes, self.dtypes()[:1], self._type("ShortConv"), weighed=weighed
        )

    def linear(self, name: str, number: int, heads: int, head_dim: int, backend: str) -> State:
        """Linear attention: a matrix a head."""
        shapes = ((heads // self.scope.setting.ranks, head_dim, head_dim),)
        return State(self.scope.named(name), number, shapes, self.dtypes()[:1], self._type("LinearAttention"), backend)

    def delta(self, name: str, number: int, sizes: Delta, *, may_checkpoint: bool = True) -> State:
        """A gated delta net, whose kernels may leave states on the way of a prefill."""
        channels = 2 * sizes.key_heads * sizes.key_dim + sizes.value_heads * sizes.value_dim
        conv = (sizes.kernel - 1 + self.ahead, self.share(channels, "linear attention channels"))
        heads = self.share(sizes.value_heads, "linear_num_value_heads")
        shapes = (conv, (heads, sizes.value_dim, sizes.key_dim))
        checkpoint = DELTA_CHECKPOINT if may_checkpoint and self._leaves_states(sizes.key_dim) else None
        return State(self.scope.named(name), number, shapes, self.dtypes(), self._type(DELTA), checkpoint=checkpoint)

    def _leaves_states(self, key_dim: int) -> bool:
        """Whether FlashInfer's kernel does the prefill: on 9.0, and on 10.x and 12.x with keys of 128 elements."""
        setting = self.scope.setting
        if not setting.rules.states_checkpoint or setting.platform != "cuda" or setting.mamba_cache_mode != "align":
            return False
        major = (setting.capability or "").partition(".")[0]
        return setting.capability == "9.0" or (major in ("10", "12") and key_dim == 128)

    def kimi_delta(self, name: str, number: int, heads: int, head_dim: int, kernel: int, backend: str | None) -> State:
        """Kimi Delta Attention, its recurrent state in float32 whatever is asked for."""
        ahead = self.ahead if self.scope.rules.kimi_counts_ahead else 0
        conv = (kernel - 1 + ahead, self.share(3 * heads * head_dim, "linear attention channels"))
        shapes = (conv, (self.share(heads, "linear attention heads"), head_dim, head_dim))
        dtypes = (self.dtypes()[0], "float32")
        return State(self.scope.named(name), number, shapes, dtypes, self._type(DELTA), backend)
