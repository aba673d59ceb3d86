"""What was observed of a release up to 0.28, as the answer of `align`."""

from typing import Any, NamedTuple

from bridge import documents, views
from bridge.failures import reason


class Observed(NamedTuple):
    """What the engine did to a document's views."""

    before: dict
    """Layer → view before the alignment."""
    after: dict
    error: Any
    """What the whole alignment was refused with, or None."""
    outcome: list
    """For each tensor its views, what became of its layers, and its refusal."""
    messages: list
    page_aligned: set
    """Layers whose views are built page by page."""


class Seen(NamedTuple):
    """A layer as the byte check sees it."""

    attention: bool
    block_dim: int | None
    before: list
    after: list


def report(setting, observed):
    """The answer."""
    seen, rows = {}, []
    for index, group in enumerate(setting.planned.kv_cache_groups):
        rows += [layer_row(setting, observed, seen, name, index) for name in group.layer_names]
    tensors = [
        tensor_row(setting, observed, seen, i, tensor) for i, tensor in enumerate(setting.planned.kv_cache_tensors)
    ]
    out = {
        "layers": rows, "tensors": tensors, "decision": views.worst(tensors), "sound": views.all_sound(tensors),
        "kernel_block_sizes": setting.kernel_block_sizes,
    }  # fmt: skip
    if observed.error is not None:
        out |= {"decision": "refused", "sound": None, "stage": "align", "reason": reason(observed.error)}
    warned = sorted({text for level, text in observed.messages if level.startswith("warning")})
    return {**out, **({"warnings": warned} if warned else {})}


def layer_row(setting, observed, seen, name, index):
    """A layer's row; what the byte check needs of it goes into `seen`."""
    spec = setting.group_of_layer[name].kv_cache_spec
    owner = setting.shared.get(name, name)
    where = {one: i for i, tensor in enumerate(setting.planned.kv_cache_tensors) for one in tensor.shared_by}
    out_of_tree = setting.backend_of[name].__module__ == "out_of_tree"
    row = {
        "layer_name": name,
        "kv_cache_group_id": index,
        "backend": setting.names_of[name]
        if out_of_tree
        else documents.backend_name(setting.backend_of[name], setting.document),
        "spec_kind": documents.kind_of(spec),
        "page_size_bytes": spec.page_size_bytes,
        "tensor_index": where.get(owner),
    }
    if index >= len(setting.kernel_block_sizes):
        nothing = ("kernel_block_size", "shape", "stride", "stride_before", "storage_offset", "block_dim")
        return {**row, "decision": "no_view", **dict.fromkeys(nothing)}
    size = setting.kernel_block_sizes[index]
    if spec.storage_block_size != spec.block_size:
        size = spec.storage_block_size
    dim, ratio = blocks(setting, owner, spec, index, size)
    view, old = observed.after.get(owner), observed.before.get(owner)
    row |= {"kernel_block_size": size, "block_dim": dim, **view_row(view, old, dim)}
    if name in setting.shared:
        return {**row, "decision": "alias"}
    both = (views.described(name, one, dim, ratio) for one in (old, view))
    seen[name] = Seen(isinstance(spec, setting.interface.AttentionSpec), dim, *both)
    return {**row, "decision": observed.outcome[row["tensor_index"]]["layers"].get(name, "unchanged")}


def blocks(setting, owner, spec, index, size):
    """(dimension of the blocks in a layer's view, kernel blocks to a block of the manager)."""
    if not isinstance(spec, setting.interface.AttentionSpec):
        return 0, 1
    ratio = setting.kernel_blocks(spec, index, size)
    try:
        dim = setting.backend_of[owner].get_kv_cache_block_dim(
            setting.kernel_block_sizes[index],
            spec.num_kv_heads,
            spec.head_size,
            cache_dtype_str=setting.document.get("cache_dtype", "auto"),
        )
    except Exception:
        dim = None
    return dim, ratio


def view_row(view, old, dim):
    """A layer's view before and after; a state-space layer may have several."""
    several = views.parts(view)
    if len(several) == 1:
        (part,), (before,) = several, views.parts(old)
        return {
            "num_kernel_blocks": None if dim is None else int(part.shape[dim]),
            **tensor_view(part),
            "stride_before": list(before.stride()),
        }
    return {
        "num_kernel_blocks": int(several[0].shape[0]), "shape": None, "stride": None, "stride_before": None,
        "states": [tensor_view(part) for part in several],
    }  # fmt: skip


def tensor_view(part):
    """One tensor of a view."""
    return {
        "dtype": views.dtype_name(part), "shape": list(part.shape), "stride": list(part.stride()),
        "storage_offset": part.storage_offset(),
    }  # fmt: skip


def tensor_row(setting, observed, seen, index, tensor):
    """A tensor's row."""
    mine = [name for name in tensor.shared_by if name in seen]
    dims = sorted({seen[name].block_dim for name in mine if seen[name].attention})
    row = {"index": index, "size": tensor.size, "shared_by": list(tensor.shared_by), "block_dims": dims}
    backing, entry = setting.backing(), observed.outcome[index]
    row["decision"] = decision(tensor, backing, entry, [name for name in mine if seen[name].attention], dims, observed)
    layers = on_allocation(setting, seen, tensor, mine, backing)
    size = tensor.size if backing is None else backing
    for key, which in (("", "after"), ("_before", "before")):
        of = {name: getattr(seen[name], which) for name in layers}
        row[f"sound{key}"], conflict = views.soundness(of, layers, mine, size, setting.num_blocks)
        if not key:
            row["conflict"] = conflict
    if row["decision"] == "refused":
        row |= {"sound": None, "conflict": None, "reason": reason(entry["error"])}
    return row


def decision(tensor, backing, entry, attention, dims, observed):
    """What the engine did with a tensor, in a word."""
    found = set(entry["layers"].values())
    if tensor.block_stride > 0 or backing is not None:
        return "packed"
    if entry["error"] is not None:
        return "refused"
    for word in ("skipped", "restrided"):
        if word in found:
            return word
    if len(attention) < 2:
        return "unshared"
    if len(dims) == 1:
        return "agree"
    return "page_aligned" if observed.page_aligned & set(tensor.shared_by) else "untouched"


def on_allocation(setting, seen, tensor, mine, backing):
    """The layers that live on a tensor's allocation."""
    if backing is not None:
        return list(seen)
    if tensor.block_stride <= 0:
        return mine
    packed = [one for one in setting.planned.kv_cache_tensors if one.block_stride > 0]
    return [name for one in packed for name in one.shared_by if name in seen]
