"""Write `kvinspect/engine/catalogue/<release>.json`: what a vLLM release's backends and specs answer, as data.

    python tools/catalogue.py FACTS.json OUT_DIR

FACTS.json holds what the release's backend classes answered on every platform and compute capability. The rest is
asked here, of the vLLM that this Python imports, which has to be the release of the facts: the fields of its KV cache
specs, and which block sizes a shape function refuses.
"""

import dataclasses
import json
import pathlib
import sys

from selection import selection

CAPABILITIES = (
    "is_mla",
    "is_sparse",
    "supported_dtypes",
    "supported_kv_cache_dtypes",
    "supported_head_sizes",
    "head_sizes_accepted",
    "supports_sink",
    "supports_sliding_window",
    "supports_mm_prefix",
    "supports_non_causal",
    "supports_attn_types",
    "supports_kv_connector",
    "capabilities_accepted",
)


def condition(places):
    """The platforms and compute capabilities of a group of observations as conditions, one a platform.

    A CUDA observation stands for its whole family: vLLM asks for families nearly everywhere, and no release has two
    answers of one family among the observed ones.
    """
    found = {}
    for place in places:
        found.setdefault(place["platform"], []).append(place["capability"])
    for platform, capabilities in found.items():
        if platform == "cuda":
            families = [int(c.split(".")[0]) for c in capabilities]
            yield {"platform": platform, "capability_family": families}
        elif platform == "rocm" and len(capabilities) == 1:
            yield {"platform": platform, "capability": capabilities}
        else:
            yield {"platform": platform}


def rules(value):
    """A fact that varies as rules, first match wins, the most often seen answer last and without a condition."""
    if not (isinstance(value, dict) and "varies" in value):
        return value
    groups = sorted(value["varies"], key=lambda group: len(group["on"]))
    found = [{"if": c, "value": group["value"]} for group in groups[:-1] for c in condition(group["on"])]
    return {"rules": [*found, {"value": groups[-1]["value"]}]}


# The facts hold straight lines through what was observed; these are the functions behind the lines that are not whole
# numbers everywhere. A TurboQuant slot is packed keys and values with their scales, rounded up to an even size.
TURBOQUANT = {
    "TURBOQUANT_K8V4": "(head_size+(4*head_size+7)//8+4+1)//2*2",
    "TURBOQUANT_4BIT_NC": "((4*head_size+7)//8+2+(4*head_size+7)//8+4+1)//2*2",
    "TURBOQUANT_K3V4_NC": "((3*head_size+7)//8+2+(4*head_size+7)//8+4+1)//2*2",
    "TURBOQUANT_3BIT_NC": "((3*head_size+7)//8+2+(3*head_size+7)//8+4+1)//2*2",
}
EXACT = {
    "9/16*head_size": "head_size//2+head_size//16",
    "1/2*head_size+4": "head_size//2+4",
    "3/2*head_size+4": TURBOQUANT["TURBOQUANT_K8V4"],
    "head_size+6": TURBOQUANT["TURBOQUANT_4BIT_NC"],
    "7/8*head_size+6": TURBOQUANT["TURBOQUANT_K3V4_NC"],
    "3/4*head_size+6": TURBOQUANT["TURBOQUANT_3BIT_NC"],
}


def shape_rules(facts, refused):
    """`kv_cache_shape` as rules by cache dtype (and platform, where it varies), the commonest dtype set last."""
    if isinstance(facts, dict):
        groups = [(list(condition(g["on"])), g["value"]) for g in sorted(facts["varies"], key=lambda g: len(g["on"]))]
        groups[-1] = ([{}], groups[-1][1])
    else:
        groups = [([{}], facts)]
    out = []
    for conditions, shapes in groups:
        for where in conditions:
            ordered = sorted(shapes, key=lambda shape: len(shape["cache_dtypes"]))
            for i, shape in enumerate(ordered):
                when = dict(where)
                if i < len(ordered) - 1:
                    when["cache_dtype"] = shape["cache_dtypes"]
                out.append({**({"if": when} if when else {}), **shape_of(shape, refused)})
    return out


def shape_of(shape, refused):
    if "error" in shape:
        kind, _, text = shape["error"].partition(": ")
        return {"refuses": {"type": kind, "text": text.split(":")[0]}}
    row = {"shape": [EXACT.get(dim, dim) for dim in shape["shape"]]}
    if "num_kv_heads_accepted" in shape:
        row["requires"] = {"num_kv_heads": shape["num_kv_heads_accepted"][0]}
    if refused:
        row["requires"] = {"block_size_multiple": refused}
    return row


def refused_block_sizes(backend):
    """16 where `get_kv_cache_shape` refuses every block size that 16 does not divide, else None."""

    def takes(block_size):
        try:
            backend.get_kv_cache_shape(4, block_size, 1, 64)
        except ValueError:
            return False
        return True

    tried = {size: takes(size) for size in (1, 8, 16, 24, 40, 64, 100)}
    return 16 if tried == {size: size % 16 == 0 for size in tried} else None


def spec_classes(interface):
    """{class name: {"required": [...], "optional": [...], "defaults": {...}}} of every KV cache spec."""
    out = {}
    for name, cls in vars(interface).items():
        if not (isinstance(cls, type) and issubclass(cls, interface.KVCacheSpec)):
            continue
        if name in ("KVCacheSpec", "AttentionSpec"):
            continue
        fields = {f.name: f.default is dataclasses.MISSING for f in dataclasses.fields(cls)}
        out[name] = {
            "required": [field for field, needed in fields.items() if needed],
            "optional": [field for field, needed in fields.items() if not needed],
        }
    return out


# What `customize_spec` writes into a spec (0.28 on), by the class that defines it; the numbers that the facts hold for
# one spec are these, evaluated.
CUSTOMIZED = {
    "TurboQuantAttentionBackend": [
        {"if": {"kv_quant_mode": [mode]}, "state_content_bytes": slot} for mode, slot in TURBOQUANT.items()
    ],
    "TritonAttentionBackend": [
        {
            "if": {"kv_quant_mode": ["INT4_PER_TOKEN_HEAD"]},
            "state_content_bytes": "head_size//2*itemsize+head_size_v//2*itemsize+8",
        },
        {
            "if": {"kv_quant_mode": ["INT8_PER_TOKEN_HEAD", "FP8_PER_TOKEN_HEAD"]},
            "state_content_bytes": "head_size*itemsize+head_size_v*itemsize+8",
        },
    ],
    "FlashInferBackend": [
        {
            "if": {"kv_quant_mode": ["NVFP4"]},
            "requires": "head_size==head_size_v",
            "num_head_slots": "2*num_kv_heads",
            "state_content_bytes": "head_size//2*itemsize+head_size//16*itemsize",
        }
    ],
    "MLACommonBackend": [
        {"if": {"kv_quant_mode": ["INT4_PER_TOKEN_HEAD"]}, "state_content_bytes": "head_size//2*itemsize+8"},
        {
            "if": {"kv_quant_mode": ["INT8_PER_TOKEN_HEAD", "FP8_PER_TOKEN_HEAD"]},
            "state_content_bytes": "head_size*itemsize+8",
        },
    ],
}


def customized(backend):
    """The rules of the class that defines the backend's `customize_spec`, [] where that is the base class."""
    owner = next((c.__name__ for c in backend.__mro__ if "customize_spec" in vars(c)), None)
    return [] if owner in (None, "AttentionBackend") else CUSTOMIZED[owner]


LARGE_PAGES = {"platform": "cuda", "capability_family": [10], "q_heads_divisible": True, "q_heads_grouped": True}


def block_sizes(row):
    """FlashInfer offers large pages only to grouped queries; the observations were all made with such heads."""
    value = rules(row.get("supported_kernel_block_sizes"))
    if row["name"] == "FLASHINFER" and isinstance(value, dict):
        value["rules"][0]["if"] = LARGE_PAGES
    return value


def cudagraph(row):
    support = row.get("cudagraph_conditions")
    if support:
        return {"rules": [{**({"if": r["if"]} if r["if"] else {}), "value": r["level"]} for r in support]}
    value = rules(row["cudagraph"])
    if isinstance(value, dict) and "rules" in value:
        return {"rules": [{**r, "value": r["value"]["default"]} for r in value["rules"]]}
    return value["default"]


def entry(row, backend):
    """The catalogue's entry of one backend."""
    out = {"class": row["class"], "module": row["module"]}
    if backend is None:
        kind, _, text = row["unavailable"].partition(": ")
        return {**out, "unavailable": {"type": kind, "text": text.split(". ")[0]}}
    if "not_importable_on" in row:
        out["not_importable_on"] = [p["platform"] for p in row["not_importable_on"]]
    out["cudagraph_support"] = cudagraph(row)
    if row["enum"].startswith("Mamba"):
        return {**out, "is_ssm": True}
    out["kv_cache_shape"] = shape_rules(row["kv_cache_shape"], refused_block_sizes(backend))
    orders = row["stride_order"]
    out["kv_cache_stride_order"] = {layout: orders[layout] for layout in ("NHD", "HND")}
    out["indexes_kv_by_block_stride"] = {
        layout: orders[f"{layout} indexes_kv_by_block_stride"] for layout in ("NHD", "HND")
    }
    with_layers = {layout: orders[f"{layout}+layers"] for layout in ("NHD", "HND")}
    if any(with_layers.values()):
        out["kv_cache_stride_order_with_layers"] = with_layers
    out["supported_kernel_block_sizes"] = block_sizes(row)
    out["required_kv_cache_layout"] = rules(row["required_kv_cache_layout"])
    if hasattr(backend, "set_head_size_v"):
        out["head_size_v_of_class"] = True
    if customized(backend):
        out["customize_spec"] = customized(backend)
    for key in CAPABILITIES:
        if key in row:
            out[key] = rules(row[key])
    return out


def classes():
    """{(enum name, member name): class} of every backend that this vLLM can import here."""
    from vllm.v1.attention.backends import registry

    out = {}
    for enum in (registry.AttentionBackendEnum, registry.MambaAttentionBackendEnum):
        for name, member in enum.__members__.items():
            try:
                out[enum.__name__, name] = LOAD(member.get_class)
            except Exception:
                continue
    return out


def LOAD(getter):
    return getter()


def collect(facts):
    """The whole catalogue of a release."""
    import vllm.v1.kv_cache_interface as interface

    found = classes()
    backends = {}
    for row in facts["backends"]:
        name = row["name"] if row["name"] not in backends else f"{row['name']}_MAMBA"
        backends[name] = entry(row, found.get((row["enum"], row["name"])))
    version = next(c for c in facts["cudagraph_general"] if "flash_attn_version" in c["what"])
    return {
        "release": facts["engine"],
        "cache_dtypes": facts["cache_dtypes"],
        "kv_quant_modes": {m: v.value for m, v in interface.KVQuantMode.__members__.items()},
        "flash_attn_version": [
            {**({"if": c["if"]} if c["if"] else {}), "value": c["version"]} for c in version["cases"]
        ],
        "selection": selection(),
        "spec_classes": spec_classes(interface),
        "backends": backends,
    }


def text(catalogue):
    """JSON with one line a fact, so that two releases can be compared by eye."""
    lines = []
    for key, value in catalogue.items():
        if key == "selection":
            rules = ",\n".join(f"  {json.dumps(rule)}" for rule in value["rules"])
            lines.append(f' "selection": {{"rules": [\n{rules}\n ]}}')
            continue
        if key not in ("spec_classes", "backends"):
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
            continue
        rows = []
        for name, facts in value.items():
            inner = ",\n".join(f"   {json.dumps(k)}: {json.dumps(v)}" for k, v in facts.items())
            rows.append(f"  {json.dumps(name)}: {{\n{inner}\n  }}")
        lines.append(f" {json.dumps(key)}: {{\n" + ",\n".join(rows) + "\n }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(facts_path, out_dir):
    facts = json.loads(pathlib.Path(facts_path).read_text(encoding="utf-8"))
    out = pathlib.Path(out_dir) / f"{facts['engine']}.json"
    out.write_text(text(collect(facts)), encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
