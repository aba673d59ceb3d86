"""What a running engine's cache really was: the part of a document that `kvinspect.capture` writes."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated

from kvinspect.document.entry import Entry, entry
from kvinspect.document.limits import MAX_DIMS
from kvinspect.document.words import CUDAGraphMode, DType, NotNegative, Positive, Rule, SupportLevel, Word

Numbers = Annotated[list[NotNegative], Rule(max_length=MAX_DIMS)]


@entry
class CapturedViewEntry(Entry):
    """A tensor that a layer is bound to, as torch reports it."""

    dtype: DType
    item_size: Annotated[Positive, Rule("bytes of an element")]
    shape: Numbers
    stride: Annotated[Numbers, Rule("elements")]
    storage_offset: Annotated[NotNegative, Rule("elements from the beginning of the storage")]
    storage: Annotated[NotNegative, Rule("which of the storages it lies on")]
    byte: Annotated[NotNegative, Rule("bytes from the beginning of the storage")]


@entry
class CapturedSupportEntry(Entry):
    """What an attention group's metadata builder answered about CUDA graphs."""

    kv_cache_group_id: NotNegative
    backend: Word
    support: SupportLevel | None = None


@entry
class CapturedGraphsEntry(Entry):
    """The requested CUDA graph mode and the resulting one."""

    requested_mode: CUDAGraphMode | None = None
    resolved_mode: CUDAGraphMode | None = None
    groups: list[CapturedSupportEntry] = field(default_factory=list)


@entry
class CapturedRankEntry(Entry):
    """Which worker wrote the document."""

    rank: NotNegative
    world_size: Positive = 1
    data_parallel_rank: NotNegative = 0
    data_parallel_size: Positive = 1


@entry
class CapturedEntry(Entry):
    """A running engine: who it was, and what it made."""

    vllm: Annotated[Word, Rule("its release in full")]
    kvinspect: Word | None = None
    torch: Word | None = None
    model_runner: Annotated[Word | None, Rule("the class of its model runner")] = None
    device: Word | None = None
    device_name: Word | None = None
    rank: CapturedRankEntry | None = None
    kernel_block_sizes: list[Positive] | None = None
    cudagraph: CapturedGraphsEntry | None = None
    storages: Annotated[list[NotNegative], Rule("bytes of each storage")] = field(default_factory=list)
    layers: Annotated[dict[Word, list[CapturedViewEntry]], Rule("layer → its tensors, one or one a state")] = field(
        default_factory=dict
    )
