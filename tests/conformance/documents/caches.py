"""Documents of a KV cache that is given, for `align`: groups of layers, backends, allocations, layouts."""

from conformance.documents import backends, specs
from conformance.documents.chooser import MOST_BYTES, page_bytes
from kvinspect.models.turboquant import slot_bytes

LEGACY = ("NHD", "HND")
STANDARDISED = ("LBHNC", "LBNHC", "LHBNC", "BLHNC", "BLNHC", "BHLNC", "NHD", "HND")


def cache(choose):
    """A document that `align` answers."""
    document, groups = with_groups(choose)
    if choose.chance(12):
        add_sharing(choose, document, groups)
    if choose.chance(10):
        specs.spoilt(choose, first_spec([choose.pick(groups)]))
    blocks = document["kv_cache_config"]["num_blocks"]
    if choose.chance(25):
        place = stretched if choose.facts.standardised else choose.pick((by_rule, shuffled, packed))
        document["kv_cache_config"]["kv_cache_tensors"] = place(choose, groups, blocks)
    if choose.chance(8):
        sizes = [group["kv_cache_spec"]["block_size"] for group in groups]
        document["kernel_block_sizes"] = [choose.pick((size, 16, max(1, size // 2))) for size in sizes]
        document["kernel_block_sizes"] = document["kernel_block_sizes"][: choose.number(1, len(sizes))]
    if choose.chance(20):
        name_backends_apart(document, groups)
    return document


def with_groups(choose, more_blocks=(2, 3, 4, 6)):
    """(document, its groups), the groups' layers placed by the engine's rule."""
    document = choose.beginning()
    own = backends.own(choose) if choose.chance(45) else {}
    packed_as = choose.pick(choose.facts.on(choose.platform, choose.facts.own_dtypes)) if choose.chance(10) else None
    groups = group_list(choose, own) if packed_as is None else [packed_group(choose, packed_as)]
    page = max(page_bytes(group["kv_cache_spec"]) for group in groups)
    fitting = [blocks for blocks in more_blocks if blocks * page <= MOST_BYTES] or [2]
    if packed_as is not None or choose.chance(15):
        known = choose.facts.cache_dtypes if packed_as is None else choose.facts.own_dtypes[packed_as]
        document["cache_dtype"] = choose.pick(known)
    layouts = (*STANDARDISED,) if choose.facts.standardised else LEGACY
    if not choose.facts.standardised or choose.chance(20):
        document["kv_cache_layout"] = choose.pick(layouts)
    document["kv_cache_config"] = {"num_blocks": choose.pick(fitting), "kv_cache_groups": groups}
    document["model_config"] = {"num_attention_heads": choose.pick((8, 20, 32, 7)), "max_model_len": 4096}
    if own:
        document["backends"] = own
    return document, groups


def group_list(choose, own):
    """One to four groups on backends of the release or on the document's own."""
    latent = choose.chance(15)
    pool = choose.facts.on(choose.platform, choose.facts.latent if latent else choose.facts.plain)
    used = [backend(choose, pool) for _ in range(choose.number(1, 3))]
    if not latent and choose.chance(40):
        used[choose.number(0, len(used) - 1)] = "ROCM_ATTN"
    geometry = specs.Geometry(choose, used)
    used = [choose.pick(tuple(own)) if own and choose.chance(60) else name for name in used]
    groups, head_size = [], choose.pick(specs.LATENT_SIZES)
    for i, name in enumerate(used):
        classes = specs.PLAIN if choose.chance(90) else specs.PLAIN + specs.RARE
        spec = specs.latent(choose, geometry, head_size) if latent else specs.attention(choose, geometry, classes)
        groups.append({"layer_names": names(choose, "abcd"[i]), "backend": name, "kv_cache_spec": spec})
    if choose.chance(12):
        padding = choose.pick((0, 64, 256, geometry.page))
        for group in groups:
            group["kv_cache_spec"]["page_size_padded"] = page_bytes(groups[0]["kv_cache_spec"]) + padding
    if choose.chance(25):
        spec = specs.states(choose, page_bytes(groups[0]["kv_cache_spec"]), geometry.block_size)
        groups.insert(choose.number(0, len(groups)), {"layer_names": names(choose, "m"), "kv_cache_spec": spec})
    if choose.chance(8):
        wrap_uniform(choose, next(group for group in groups if "backend" in group))
    return groups


def packed_group(choose, name):
    """A group on a backend of one sort of cache dtype alone, with or without a word of it in the spec."""
    geometry = specs.Geometry(choose, [name])
    own = tuple(kind for kind in ("TQFullAttentionSpec",) if kind in choose.facts.spec_fields)
    spec = specs.attention(choose, geometry, ("FullAttentionSpec",) if choose.chance(20) or not own else own)
    if spec["kind"] == "TQFullAttentionSpec":
        spec["tq_slot_size"] = choose.pick((slot_bytes("turboquant_k8v4", spec["head_size"]), 0, 70, 400))
    if choose.chance(40):
        spec["kv_quant_mode"] = choose.pick(choose.facts.quant_modes)
    return {"layer_names": names(choose, "a"), "backend": name, "kv_cache_spec": spec}


def backend(choose, pool):
    """A backend of a pool; those of one cache dtype alone are rare, as they refuse the others."""
    usual = tuple(name for name in pool if name not in choose.facts.own_dtypes) or pool
    return choose.pick(pool if choose.chance(8) else usual)


def names(choose, prefix):
    """The layers of a group, written as a range where there are several."""
    count = choose.pick((1, 1, 2, 3))
    return [f"{prefix}.{{0..{count - 1}}}"] if count > 1 else [f"{prefix}.0"]


def layers(group):
    """The layers that `names` wrote down."""
    name = group["layer_names"][0]
    count = int(name.partition("..")[2].removesuffix("}")) + 1 if "{" in name else 1
    return [f"{name[0]}.{i}" for i in range(count)]


def wrap_uniform(choose, group):
    """Make a group's spec one of specs that differ from layer to layer."""
    spec = group["kv_cache_spec"]
    inner = {layer: dict(spec) for layer in layers(group)}
    if choose.chance(50) and spec.get("num_kv_heads", 1) > 1:
        next(iter(inner.values()))["num_kv_heads"] -= 1
    group["kv_cache_spec"] = {"kind": "uniform_type", "block_size": spec["block_size"], "kv_cache_specs": inner}


def add_sharing(choose, document, groups):
    """A layer that uses another's cache, named in the target's group or not."""
    group = choose.pick([group for group in groups if "backend" in group])
    document["shared_kv_cache_layers"] = {"k.0": choose.pick(layers(group))}
    if choose.chance(40):
        group["layer_names"].append("k.0")


def name_backends_apart(document, groups):
    """Backends as attention groups, the long form, where every group names one."""
    if not all("backend" in group for group in groups):
        return
    document["attention_groups"] = [
        {"backend": group.pop("backend"), "layer_names": list(group["layer_names"]), "kv_cache_group_id": i}
        for i, group in enumerate(groups)
    ]


def by_rule(choose, groups, blocks):
    """Allocations as the engine's rule makes them: the i-th layer of every group on the i-th."""
    size = page_bytes(first_spec(groups)) * blocks + choose.pick((0, 0, 0, 64))
    rows = [layers(group) for group in groups]
    longest = max(map(len, rows))
    return [{"size": size, "shared_by": [row[i] for row in rows if i < len(row)]} for i in range(longest)]


def shuffled(choose, groups, blocks):
    """Allocations whose layers come together as no rule of the engine's would have them."""
    every = [layer for group in groups for layer in layers(group)]
    cut = choose.number(1, len(every))
    size = max(page_bytes(group["kv_cache_spec"]) for group in plain(groups)) * blocks
    return [{"size": size, "shared_by": part} for part in (every[:cut], every[cut:]) if part]


def packed(choose, groups, blocks):
    """Allocations that lie side by side within each block."""
    page = page_bytes(first_spec(groups))
    tensors = by_rule(choose, groups, blocks)
    shift = choose.pick((0, 0, page // 2))
    stride = len(tensors) * page + choose.pick((0, 0, 128))
    places = [i * page + (shift if i else 0) for i in range(len(tensors))]
    stride += shift
    rows = zip(tensors, places, strict=True)
    return [{**t, "size": stride * blocks, "offset": offset, "block_stride": stride} for t, offset in rows]


def stretched(choose, groups, blocks):
    """Layers placed by strides, as from 0.29 on, some of them odd."""
    out, offset = [], 0
    for group in groups:
        page, here = page_bytes(first_spec([group])), layers(group)
        row = {"size": page * blocks * len(here), "layers": here, "offset": 0 if choose.chance(50) else offset}
        row["layer_stride"] = choose.pick((page * blocks, page, page))
        row["block_stride"] = choose.pick((page, page * len(here), page // 2 or 1))
        out.append(row)
        offset += row["size"]
    total = offset if choose.chance(90) else out[0]["size"]
    return [{**row, "size": total} for row in out]


def plain(groups):
    """Groups whose spec says its own geometry."""
    return [{"kv_cache_spec": first_spec([group])} for group in groups]


def first_spec(groups):
    """The first group's spec, or that of its first layer."""
    spec = groups[0]["kv_cache_spec"]
    return next(iter(spec["kv_cache_specs"].values())) if "kv_cache_specs" in spec else spec
