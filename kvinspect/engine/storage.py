"""How a release stores a KV cache: the steps from the specs to the judgement that take the whole cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kvinspect.document.document import Tensor
    from kvinspect.engine.cache import Cache
    from kvinspect.engine.explain import Reason
    from kvinspect.engine.judge import Judged


class Storage(NamedTuple):
    """The steps in the engine's order; each reads what the earlier ones left in the cache. All may raise Refused."""

    layout: Callable[[Cache], str]
    """The layout in force."""
    tensors: Callable[[Cache], tuple[Tensor, ...]]
    kernel_block_sizes: Callable[[Cache], tuple[int, ...]]
    """Where the document does not say."""
    build_views: Callable[[Cache], None]
    judge: Callable[[Cache], Judged]
    reasons: Callable[[Cache], tuple[Reason, ...]]
