"""What the engine's tensors really are: shape, stride, and which bytes of which storage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kvinspect.capture.spec_entries import plain


class Storages:
    """The storages that layers lie on, numbered as they are met; `sizes` in bytes."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self._numbers: dict[tuple[str, int], int] = {}

    def view(self, tensor: Any) -> dict[str, Any]:
        """A tensor's shape, stride and storage offset in elements, and the byte of which storage it begins at."""
        storage = tensor.untyped_storage()
        key = (str(tensor.device), storage.data_ptr())
        if key not in self._numbers:
            self._numbers[key] = len(self.sizes)
            self.sizes.append(storage.nbytes())
        return {
            "dtype": plain(tensor.dtype),
            "item_size": tensor.element_size(),
            "shape": list(tensor.shape),
            "stride": list(tensor.stride()),
            "storage_offset": tensor.storage_offset(),
            "storage": self._numbers[key],
            "byte": tensor.data_ptr() - storage.data_ptr(),
        }


def captured_layers(layers: Mapping[str, Any], runner_caches: Iterable[Any], storages: Storages) -> dict[str, Any]:
    """Layer → the views of its cache, in the order of the layers; none for a layer without one."""
    raw = [cache for cache in runner_caches if _is_tensor(cache)]
    found = {}
    for name, layer in layers.items():
        views = [storages.view(tensor) for tensor in tensors_of(layer, raw)]
        if views:
            found[name] = views
    return found


def tensors_of(layer: Any, raw: Iterable[Any]) -> list[Any]:
    """The tensors that a layer is bound to.

    From 0.27 on a state-space layer unpacks its cache into one tensor a state (`bind_kv_cache` of
    model_executor/layers/mamba/abstract.py); what the runner made is the whole, `[blocks, 1, 1, bytes]`, found by
    where it begins.
    """
    bound: Any = getattr(layer, "kv_cache", None)
    if _is_tensor(bound):
        return [bound] if bound.numel() else []
    states = [state for state in bound if _is_tensor(state)] if isinstance(bound, (list, tuple)) else []
    if not states:
        return []
    there = [t for t in raw if t.data_ptr() == states[0].data_ptr() and tuple(t.shape[1:3]) == (1, 1)]
    wholes = {(t.dtype, tuple(t.shape), t.stride()): t for t in there}
    return list(wholes.values()) if len(wholes) == 1 else states


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "untyped_storage") and hasattr(value, "storage_offset")
