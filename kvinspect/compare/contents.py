"""What lies where in a block of a layer, as far as the backend's shape tells.

A view's axes say what its dims are, and kernels take K and V apart by them: `unbind` along `kv`, `split` of `kv_dim`
into `head_size` and `head_size_v`. Backends whose kernels order a block in another way are listed here.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from kvinspect.backends.backend import Backend
from kvinspect.document.words import DTYPE_BYTES
from kvinspect.engine.axes import BLOCK, HEAD, KV, KV_DIM, KV_HEAD, STATE, TOKEN, Axes, axes_of
from kvinspect.engine.reshape import LayerView
from kvinspect.geometry.content import Content, Digits, Region
from kvinspect.geometry.runs import BlockBytes, block_bytes
from kvinspect.geometry.view import StridedView, contiguous_strides
from kvinspect.specs.kinds import LayerSpec
from kvinspect.specs.mamba import MambaSpec

COORDINATES = ("token", "head", "element")
"""What the coordinates of a region count; a state has elements alone."""

UNSPLIT = "K and V"
"""A region of which nothing tells where K ends."""

STATE_COORDINATES = ("element",)


class Untold(Exception):
    """What lies where in a block is not told by anything that we know."""


class BlockContent(NamedTuple):
    """The regions of one block of a layer, and the bytes that its blocks cover."""

    regions: Content
    bytes: BlockBytes
    order: str = ""
    """Whose kernels order the block in a way that the regions do not show; empty where they show it."""


class ViewedLayer(NamedTuple):
    """A layer as it is judged here."""

    view: LayerView
    spec: LayerSpec
    backend: Backend
    format: str
    """What an element is."""
    cache_dtype: str
    """The dtype with which the backend is asked for its shape."""
    release: str
    """As people call it."""
    shaped: bool
    """Whether the release asks backends for their shapes; else every view is `[B, H, N, C]`."""


def content_of(viewed: ViewedLayer) -> BlockContent:
    """What lies where in a block. Raises Untold."""
    if viewed.spec.holds_states:
        return _states(viewed.view, viewed.spec)
    view, block_dim = viewed.view.parts[0].view, viewed.view.block_dim
    axes = viewed.view.parts[0].axes
    _check_made_as_read(viewed, axes)
    if block_dim is None or len(axes) != len(view.shape) or axes[block_dim] != BLOCK:
        raise Untold(f"the entries of {viewed.backend.name}'s shape do not tell what its dims are")
    dims = _Dims(axes, view, viewed)
    covered = block_bytes(view, block_dim, view.shape[block_dim], viewed.view.kernel_blocks)
    if viewed.backend.entry.get("splits_by_paged_attention") and viewed.shaped:
        return BlockContent(_x_packed(dims), covered)
    order = _own_order(viewed)
    said = f"{viewed.backend.name} of vLLM {viewed.release} {order}" if order else ""
    return BlockContent(dims.regions(), covered, said)


def _check_made_as_read(viewed: ViewedLayer, axes: Axes) -> None:
    """Raises Untold where the view was permuted from another order than it was made in, as packed ones in 0.25."""
    written = axes_of(viewed.backend.written_shape(viewed.cache_dtype)) if viewed.shaped else axes
    if any(name is None and told is not None for name, told in zip(axes, written, strict=False)):
        raise Untold(
            f"vLLM {viewed.release} permutes the packed view of {viewed.backend.name} from another order than it is "
            "allocated in, so the backend misreads its dims"
        )


def _own_order(viewed: ViewedLayer) -> str:
    """How the kernels order a block, where that is another order than its shape has."""
    if viewed.format.startswith("nvfp4"):
        return "keeps the data and the scales of a block apart"
    spec = viewed.spec
    if spec.is_attention and not viewed.shaped and spec.num_head_slots is not None:
        return "packs the heads of a block in a way of its own"
    return OWN_ORDER.get(viewed.backend.entry.get("block_order", ""), "")


def _states(layer: LayerView, spec: MambaSpec) -> BlockContent:
    """The states of a page, one behind the other, as `MambaSpec` counts them in every release."""
    first = layer.parts[0].view
    regions, start = {}, 0
    for i, (shape, dtype) in enumerate(zip(spec.shapes, spec.dtypes, strict=False)):
        size = DTYPE_BYTES[dtype]
        regions[f"state {i}"] = Region(start, (((prod(shape), size),),), size)
        start += prod(shape) * size
    offset, stride = first.storage_offset * first.itemsize, first.stride[0] * first.itemsize
    return BlockContent(regions, BlockBytes(offset, stride, first.shape[0], (), max(start, 1)))


class _Dims:
    """The dims of a view as digits of coordinates, in bytes."""

    def __init__(self, axes: Axes, view: StridedView, viewed: ViewedLayer) -> None:
        self.itemsize, self.viewed = view.itemsize, viewed
        block_dim = axes.index(BLOCK)
        stride = view.stride[block_dim] * view.itemsize
        self.token: Digits = ((viewed.view.kernel_blocks, stride),)
        self.head: Digits = ()
        self.content: Digits = ()
        self.value_size = 0
        """Elements of V behind those of K in the content, 0 where they are as many or none."""
        self.apart: int | None = None
        """Bytes from K to V."""
        for axis, size, step in zip(axes, view.shape, view.stride, strict=True):
            if axis != BLOCK and (axis is not None or size != 1):
                self._take(axis, size, step * view.itemsize)
        self._check()

    def _check(self) -> None:
        if not self.content or len(self.token) != 2:
            raise Untold(f"no entry of {self.viewed.backend.name}'s shape is the tokens or the content of a head")

    def _take(self, axis: str | None, size: int, stride: int) -> None:
        if axis in (TOKEN, STATE):
            self.token = (*self.token, (size, stride))
        elif axis == HEAD:
            self.head = ((size, stride),)
        elif axis == KV_HEAD:
            self.head = ((size // 2, stride),)
            self._split(size // 2 * stride)
        elif axis == KV:
            self._split(stride)
        else:
            self._take_content(axis, size, stride)

    def _take_content(self, axis: str | None, size: int, stride: int) -> None:
        spec = self.viewed.spec
        assert spec.is_attention
        if self.content:
            raise Untold(f"{self.viewed.backend.name} spreads a head over several dims")
        if _is_halved(self.viewed):
            size //= 2
            self._split(size * stride)
        elif axis == KV_DIM and size > spec.head_size:
            self.value_size = size - spec.head_size
            size = spec.head_size
            self._split(size * stride)
        self.content = ((size, stride),)

    def _split(self, apart: int) -> None:
        if self.apart is not None:
            raise Untold(f"{self.viewed.backend.name} tells K from V by two dims")
        self.apart = apart

    def regions(self) -> Content:
        """K and V, or what holds both, with the coordinates token, head, element."""
        first = Region(0, (self.token, self.head, self.content), self.itemsize)
        if self.apart is None:
            latent = self.viewed.spec.latent
            return {"latent" if latent else UNSPLIT: first}
        (size, stride), *_ = self.content
        values = ((self.value_size or size, stride),)
        return {"K": first, "V": Region(self.apart, (self.token, self.head, values), self.itemsize)}


def _is_halved(viewed: ViewedLayer) -> bool:
    """Whether the first half of the content is K and the second V, whatever the sizes of a head.

    With a scale for each token and head, Triton's kernels split whatever there is in two (`_pth_key_value_caches`).
    """
    spec = viewed.spec
    assert spec.is_attention
    apart_already = KV in viewed.view.parts[0].axes
    return viewed.format.endswith("per_token_head") and not spec.latent and not apart_already


def _x_packed(dims: _Dims) -> Content:
    """K as `[heads, head_size/x, tokens, x]` and V as `[heads, head_size, tokens]`, x filling 16 bytes.

    Follows `PagedAttention.split_kv_cache`, which takes the page of each kernel block as flat memory.
    """
    kernel_blocks, (tokens, _) = dims.token
    (heads, _), (size, unit) = dims.head[0], dims.content[0]
    step = contiguous_strides((tokens, heads, size))
    found = (dims.token[1][1], dims.head[0][1], unit)
    if found != tuple(s * dims.itemsize for s in step) or dims.apart is None:
        raise Untold("paged attention treats the page of a block as flat memory, and this page is not contiguous")
    item, x = dims.itemsize, max(16 // dims.itemsize, 1)
    if size % x:
        raise Untold(f"paged attention requires a head size in multiples of {x} elements, and this one is {size}")
    head: Digits = ((heads, size * tokens * item),)
    inner: Digits = ((size // x, tokens * x * item), (x, item))
    keys = Region(0, ((kernel_blocks, (tokens, x * item)), head, inner), item)
    values = ((kernel_blocks, (tokens, item)), head, ((size, tokens * item),))
    return {"K": keys, "V": Region(dims.apart, values, item)}


OWN_ORDER = {"instruction set": "orders a block by the instruction set of the CPU"}
"""What a backend's kernels order a block by, which its shape does not show → in words."""
