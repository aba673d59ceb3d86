"""The one place where the engine is touched: a worker's `initialize_from_config`.

`WorkerWrapperBase.initialize_from_config` (vllm/v1/worker/worker_base.py) is the same in 0.25 to 0.33. Every executor
calls it once a worker with the finished KV cache configurations, whatever the platform, the worker and the runner;
profiling runs do not come by. When it returns, the cache is bound to its layers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kvinspect.capture.quiet import logger, quietly
from kvinspect.capture.read import Requested, document_of, requested_of
from kvinspect.capture.write import Rank, file_for, write

METHOD = "initialize_from_config"
MARK = "_kvinspect_capture"


def install(path: str) -> None:
    """Wrap the method once; a second call in a process changes nothing."""
    from vllm.v1.worker.worker_base import WorkerWrapperBase

    original = getattr(WorkerWrapperBase, METHOD)
    if not hasattr(original, MARK):
        setattr(WorkerWrapperBase, METHOD, wrapped(original, path))


def wrapped(original: Callable[..., Any], path: str) -> Callable[..., Any]:
    """The method that does what the original does, and then writes what has come of it."""

    @functools.wraps(original)
    def initialize_from_config(wrapper: Any, kv_cache_configs: Any, *rest: Any, **named: Any) -> Any:
        """The engine's own, and the document after it; what fails of ours is a warning."""
        requested = quietly(lambda: requested_of(wrapper))
        result = original(wrapper, kv_cache_configs, *rest, **named)
        if requested is not None:
            quietly(lambda: _capture(wrapper, kv_cache_configs, requested, path))
        return result

    setattr(initialize_from_config, MARK, path)
    return initialize_from_config


def _capture(wrapper: Any, kv_cache_configs: Any, requested: Requested, path: str) -> None:
    rank = Rank.of(wrapper)
    file = file_for(path, rank)
    write(file, document_of(wrapper, kv_cache_configs[rank.rank], requested, rank))
    logger.info("kvinspect: the KV cache of rank %d is in %s", rank.rank, file)
