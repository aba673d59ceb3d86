"""`align` from 0.29 on: one backing allocation whose layout is resolved once.

There is no alignment step any more. The answer has the views that the real `allocate_kv_cache` makes, and a byte check
over all layers, for they all live on one backing.
"""

from bridge import bytecheck, documents, views
from bridge.failures import Refused, reason
from bridge.setting import Setting


class Standard(Setting):
    """The engine's objects, and its allocation."""

    def allocate(self):
        """Layer → view; layers that share another's cache have its view."""
        import torch
        from vllm.v1.worker import utils

        layout = self.config.cache_config.get_resolved_kv_cache_layout()
        made = utils.allocate_kv_cache(self.planned, torch.device("cpu"), layout, self.kernel_block_sizes)
        return self.with_aliases(made)

    def with_aliases(self, made):
        """Views with those of the layers that share."""
        sharing = self.utils.get_shared_kv_cache_layers(self.config)
        return {**made, **{name: made[target] for name, target in sharing.items()}}


def answer(document, kind=Standard):
    """The answer to a document."""
    try:
        setting = kind(document)
    except Refused as refused:
        return views.refusal(refused.stage, reason(refused.error))
    layout = {"kv_cache_layout": setting.layout, "kernel_block_sizes": setting.kernel_block_sizes}
    try:
        caches = setting.at("allocate", setting.allocate)
    except Refused as refused:
        tensors = [tensor_row(i, tensor) for i, tensor in enumerate(setting.planned.kv_cache_tensors)]
        return {**views.refusal("allocate", reason(refused.error)), **layout, "kv_cache_tensors": tensors}
    tensors = tensor_rows(setting, caches)
    return {
        **layout,
        "layers": list(layer_rows(setting, caches)),
        "tensors": tensors,
        "decision": views.worst(tensors),
        "num_blocks": setting.planned.num_blocks,
        "sound": views.all_sound(tensors),
    }


def members(setting):
    """(layer, index of its group, its spec) of every layer."""
    for index, group in enumerate(setting.planned.kv_cache_groups):
        for name in group.layer_names:
            found = setting.group_of_layer.get(name)
            yield name, index, (found or group).kv_cache_spec


def layer_rows(setting, caches):
    """A row for each layer."""
    sizes = setting.kernel_block_sizes
    where = {name: i for i, tensor in enumerate(setting.planned.kv_cache_tensors) for name in tensor.layers}
    for name, index, spec in members(setting):
        view = caches.get(name)
        yield {
            "layer_name": name,
            "kv_cache_group_id": index,
            "backend": setting.names_of[name],
            "spec_kind": documents.kind_of(spec),
            "page_size_bytes": spec.page_size_bytes,
            "tensor_index": where.get(setting.shared.get(name, name)),
            "kernel_block_size": sizes[index] if index < len(sizes) else None,
            "block_dim": 0,
            **(no_view() if view is None else view_row(view, name in setting.shared)),
        }


def no_view():
    """A layer for which the engine makes no view."""
    return {"decision": "no_view", "shape": None, "stride": None, "stride_before": None, "storage_offset": None}


def view_row(view, alias):
    """A layer's view."""
    return {
        "num_kernel_blocks": int(view.shape[0]),
        "dtype": views.dtype_name(view),
        "shape": list(view.shape),
        "stride_before": list(view.stride()),
        "stride": list(view.stride()),
        "storage_offset": view.storage_offset(),
        "decision": "alias" if alias else "unchanged",
    }


def tensor_rows(setting, caches):
    """A row for each tensor of the plan."""
    planned = setting.planned
    own = [name for name, _, _ in members(setting) if name in caches and name not in setting.shared]
    described = [
        view
        for name in own
        for view in views.described(name, caches[name], 0, max(1, caches[name].shape[0] // planned.num_blocks))
    ]
    size = max((tensor.size for tensor in planned.kv_cache_tensors), default=0)
    try:
        claimed = bytecheck.claims(described, size, planned.num_blocks)
    except bytecheck.TooLarge:
        claimed = None
    outermost = setting.config.cache_config.get_resolved_kv_cache_layout().is_block_outermost
    return [
        {**tensor_row(i, tensor), **judged(claimed, [name for name in tensor.layers if name in own], own, outermost)}
        for i, tensor in enumerate(planned.kv_cache_tensors)
    ]


def judged(claimed, mine, names, outermost):
    """A tensor's decision, and whether its layers clash with any other."""
    if claimed is None:
        return {"decision": "packed" if outermost else "unshared", "sound": None, "conflict": None}
    touched = any(
        ((claimed[a][0] >= 0) & (claimed[b][0] >= 0)).any() for a in mine for b in names if b not in mine
    )  # fmt: skip
    conflict = bytecheck.first_conflict(claimed, set(mine))
    decision = "packed" if outermost else "agree" if touched else "unshared"
    return {"decision": decision, "sound": conflict is None, "conflict": conflict}


def tensor_row(index, tensor):
    """A tensor as it is planned."""
    names = ("size", "layer_stride", "block_stride", "offset")
    return {"index": index, "layers": list(tensor.layers), **{name: getattr(tensor, name) for name in names}}
