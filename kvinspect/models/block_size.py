"""How many tokens a block holds: the user's number, the backend's, or as many as a state-space page needs.

The rule is `Platform.update_block_size_for_backend`, which runs once the layers and their backends are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import lcm
from typing import NamedTuple

from kvinspect.backends.backend import Backend
from kvinspect.backends.conditions import choose
from kvinspect.document.numbers import counted
from kvinspect.models.layers import State
from kvinspect.models.resolve import stopped
from kvinspect.models.setting import DEFAULT_BLOCK_SIZE, ModelSetting, one_token
from kvinspect.models.turboquant import slot_bytes
from kvinspect.specs.kinds import LayerSpec, recast
from kvinspect.specs.mamba import MambaSpec


class Blocks(NamedTuple):
    """Sizes in tokens, paddings in bytes."""

    block_size: int
    mamba_block_size: int | None
    mamba_page_size_padded: int | None = None
    skip_page_size_padded: int | None = None
    """Of layers that are left unquantised beside quantised ones."""
    steps: tuple[str, ...] = ()
    """What was decided, in sentences."""


def smallest_kernel_block(backend: Backend) -> int:
    """The smallest block, in tokens, that a backend's kernels take."""
    return min(_base(size) for size in backend.kernel_block_sizes)


def _base(size: int | str) -> int:
    return int(str(size).removesuffix("n"))


def common_block_size(backends: Sequence[Backend], platform: str) -> int:
    """The smallest block that suits all backends, the default where it does (`_preferred_block_size_for_backends`).

    Raises DocumentError where none does.
    """
    if len(backends) == 1:
        return preferred_block_size(backends[0], platform)
    sizes = [[_base(size) for size in backend.kernel_block_sizes] or [1] for backend in backends]
    wanted = [DEFAULT_BLOCK_SIZE, *sorted({lcm(*one_each) for one_each in product(*sizes)})]
    suits = (size for size in wanted if all(any(size % base == 0 for base in own) for own in sizes))
    found = next(suits, None)
    if found is None:
        names = " and ".join(backend.name for backend in backends)
        raise stopped("block_size", f"no block size suits {names}")
    return found


def preferred_block_size(backend: Backend, platform: str) -> int:
    """What a backend takes where the user says nothing (`get_preferred_block_size`)."""
    own: int | None = choose(backend.entry.get("preferred_block_size"), backend.facts)
    if own is not None or platform == "cpu":
        return own or ON_CPU
    fits = any(DEFAULT_BLOCK_SIZE % _base(size) == 0 for size in backend.kernel_block_sizes)
    return DEFAULT_BLOCK_SIZE if fits else smallest_kernel_block(backend)


ON_CPU = 128
"""Tokens of a block on a CPU, whatever the backend."""


def blocks(setting: ModelSetting, backends: Sequence[Backend], states: Sequence[State]) -> Blocks:
    """The block sizes of a model. `backends` are those of its layers with attention, the first layer's first."""
    found = Blocks(setting.block_size or DEFAULT_BLOCK_SIZE, setting.mamba_block_size)
    if not backends:
        return found
    backend = backends[0]
    if setting.block_size is None:
        asked = backends if setting.rules.block_of_all_backends else backends[:1]
        found = found._replace(block_size=common_block_size(asked, setting.platform))
    if setting.is_hybrid and states:
        found = _aligned_to_states(found, setting, backends, states)
    if setting.skip_layers:
        found = _aligned_to_unquantised(found, setting, backend)
    return found


def _page(spec: LayerSpec, setting: ModelSetting, backend: Backend) -> int:
    """Bytes of a spec's page as the backend packs it."""
    packed = setting.release.customized_spec(spec, backend)
    return packed.page(setting.release.reshape.unpadded_page)


def _token_bytes(setting: ModelSetting, backend: Backend, cache_dtype: str) -> int:
    """Bytes of one token in one layer with the model's own heads."""
    return _page(one_token(setting, cache_dtype), setting, backend)


def _token_beside_states(setting: ModelSetting, backend: Backend) -> int:
    """Bytes of one token of attention beside states; TurboQuant's own, and a multiple of layers left unquantised."""
    cache_dtype = setting.cache_dtype
    if not cache_dtype.startswith("turboquant_"):
        return _token_bytes(setting, backend, cache_dtype)
    token = one_token(setting, cache_dtype)
    if setting.rules.turboquant_has_a_spec:
        token = recast(token, "tq_full_attention", tq_slot_size=slot_bytes(cache_dtype, token.head_size))
    packed = _page(token, setting, backend)
    return lcm(packed, _token_bytes(setting, backend, "auto")) if setting.skip_layers else packed


def _aligned_to_states(
    found: Blocks, setting: ModelSetting, backends: Sequence[Backend], states: Sequence[State]
) -> Blocks:
    """Attention's block enlarged until its page holds a state's, the state's page padded to the same size."""
    backend, state = backends[0], states[0]
    page = MambaSpec(-1, state.weighed or state.shapes, state.dtypes).content_bytes
    token = _token_beside_states(setting, backend)
    if not page or not token:
        return found
    alignment = max(smallest_kernel_block(backend), found.block_size)
    if setting.shape.is_mla:
        alignment = max(alignment, setting.rules.latent_alignment)
    if setting.mamba_cache_mode == "all":
        chunk = lcm(setting.arguments.mamba_block_size or setting.mamba_chunk_size, alignment)
        needed = chunk * _times(_times(page, token), chunk)
        found = found._replace(mamba_block_size=needed)
    else:
        alignment = lcm(alignment, on_checkpoints(states))
        needed = tokens_holding(page, token, alignment)
    if setting.rules.block_of_all_backends:
        kernels = lcm(*map(smallest_kernel_block, backends))
        needed = kernels * _times(needed, kernels)
    size = max(found.block_size, needed)
    if setting.mamba_cache_mode == "align":
        found = found._replace(mamba_block_size=size)
    held = f"a page of attention ({counted(size * token, 'byte')}) holds a state's ({counted(page, 'byte')})"
    said = f"blocks of {counted(size, 'token')}, so that {held}"
    padded = None if size * token == page else size * token
    if MambaSpec(-1, state.shapes, state.dtypes).content_bytes > size * token:
        raise stopped(
            "speculative_config", "states of drafted tokens do not fit in the page that is aligned without them"
        )
    return found._replace(block_size=size, mamba_page_size_padded=padded, steps=(*found.steps, said))


def tokens_holding(page: int, token: int, alignment: int) -> int:
    """The fewest tokens, in multiples of `alignment`, of `token` bytes each that hold `page` bytes.

    >>> tokens_holding(2147840, 4096, 16)
    528
    """
    return alignment * _times(page, alignment * token)


def on_checkpoints(states: Sequence[State]) -> int:
    """What blocks are a multiple of, in tokens, so that states which a prefill leaves on its way end one.

    1 unless all layers with states leave some.
    """
    alignments = [state.checkpoint or 0 for state in states]
    return 1 if min(alignments) < 2 else lcm(*alignments)


def _aligned_to_unquantised(found: Blocks, setting: ModelSetting, backend: Backend) -> Blocks:
    """The quantised layers' block enlarged until its page holds that of a layer that is not quantised."""
    quantised = _token_bytes(setting, backend, setting.cache_dtype)
    plain = _token_bytes(setting, backend, "auto")
    if plain < quantised:
        raise stopped("kv_cache_dtype_skip_layers", "unquantized layers would be smaller than quantized ones")
    if plain == quantised:
        return found
    smallest = smallest_kernel_block(backend)
    alignment = max(smallest, found.block_size)
    required = max(plain * smallest, found.mamba_page_size_padded or 0)
    size = max(found.block_size, alignment * _times(required, alignment * quantised))
    shared = size * quantised
    padded = None if found.mamba_page_size_padded is None else shared
    return found._replace(block_size=size, skip_page_size_padded=shared, mamba_page_size_padded=padded)


def _times(whole: int, part: int) -> int:
    """How many parts cover a whole."""
    return -(-whole // part)


def window_block_size(backend: Backend, token: int, shared: int | None) -> int:
    """The block of a layer with a sliding window, in tokens (`_largest_kernel_block_within`, up to 0.29).

    The smallest that the kernels take, or the largest whose page fits in a page of `shared` bytes; `token` is the bytes
    of one token.
    """
    fixed = [size for size in backend.kernel_block_sizes if isinstance(size, int)]
    sizes = fixed or [_base(size) for size in backend.kernel_block_sizes]
    fitting = [size for size in sizes if shared and token > 0 and size * token <= shared]
    return max(fitting) if fitting else min(sizes)


def window_block_size_within(backend: Backend, token: int, page: int) -> int:
    """The same from 0.30 on: the largest that the kernels take whose page fits in `page` bytes, else the smallest."""
    most = page // token
    sizes = [
        size if isinstance(size, int) else max(_base(size), most // _base(size) * _base(size))
        for size in backend.kernel_block_sizes
    ]
    fitting = [size for size in sizes if size * token <= page]
    return max(fitting) if fitting else min(sizes)
