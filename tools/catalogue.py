"""Write `kvinspect/engine/catalogue/<release>.json`: what a vLLM release's backends and specs answer, as data.

    python tools/catalogue.py OUT_DIR

Asked of the vLLM that this Python imports; neither its compiled parts nor a device are needed (`pretend.py`). Each
platform and compute capability is asked by a process of its own (`observe.py`), for many answers are settled when a
module is imported. An answer that is not the same everywhere becomes rules; where it hangs on more than the device, the
rule behind it stands here, and has to agree with what was observed.
"""

import dataclasses
import inspect
import json
import pathlib
import subprocess
import sys

import pretend
from selection import selection

PLACES = (
    ("cuda", "8.0"), ("cuda", "9.0"), ("cuda", "10.0"), ("cuda", "12.0"), ("rocm", "9.4"), ("rocm", "9.5"),
    ("xpu", None), ("cpu", None),
)  # fmt: skip
OBSERVE = pathlib.Path(__file__).with_name("observe.py")


def observed():
    """What every backend answers at every place: a fact that is the same everywhere once, else by where it is so."""
    found = [observed_at(*place) for place in PLACES]
    rows = zip(*(one["backends"] for one in found), strict=True)
    places = [one["place"] for one in found]
    return {
        "cache_dtypes": found[0]["cache_dtypes"],
        "backends": [merged(list(zip(places, several, strict=True))) for several in rows],
    }


def observed_at(platform, capability):
    command = [sys.executable, str(OBSERVE), platform, *([capability] if capability else [])]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout.splitlines()[-1])


def merged(rows):
    """One backend's answers at all places as one; it may be missing at some."""
    first = rows[0][1]
    out = {key: first[key] for key in ("name", "enum", "class", "module")}
    there = [(place, row) for place, row in rows if "unavailable" not in row]
    missing = [place for place, row in rows if "unavailable" in row]
    if not there:
        return {**out, "unavailable": first["unavailable"]}
    if missing:
        out["not_importable_on"] = missing
    for key in dict.fromkeys(key for _, row in there for key in row if key not in out):
        groups = {}
        for place, value in [(place, row[key]) for place, row in there if key in row]:
            groups.setdefault(json.dumps(value), (value, []))[1].append(place)
        values = list(groups.values())
        out[key] = values[0][0] if len(values) == 1 else {"varies": [{"on": on, "value": v} for v, on in values]}
    return out


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
# one spec are these, evaluated. `requires` and `block_size_multiple` are what the class asserts, `refuses` what it
# raises; `state_content_bytes` and `num_head_slots` are written where the spec is not packed yet.
PER_TOKEN_HEAD = ["INT8_PER_TOKEN_HEAD", "FP8_PER_TOKEN_HEAD"]
SYMMETRIC = "head_size==head_size_v"
TWO_SLOTS = [
    {"requires": SYMMETRIC, "num_head_slots": "2", "state_content_bytes": "num_kv_heads*head_size*itemsize"},
]
NOT_ALIKE = {"type": "ValueError", "text": "the two backends of a composite pack this spec differently"}
ROWS = "state_content_size_bytes"
CUSTOMIZED = {
    "TurboQuantAttentionBackend": [
        {"if": {"kv_quant_mode": [mode]}, "state_content_bytes": slot} for mode, slot in TURBOQUANT.items()
    ],
    "UltraQuantAttentionBackend": [
        {"if": {"kv_quant_mode": ["ULTRAQUANT_4BIT"]}, "state_content_bytes": "2*(head_size//2+head_size//32)"}
    ],
    "TritonAttentionBackend": [
        {
            "if": {"kv_quant_mode": ["INT4_PER_TOKEN_HEAD"]},
            "state_content_bytes": "head_size//2*itemsize+head_size_v//2*itemsize+8",
        },
        {
            "if": {"kv_quant_mode": PER_TOKEN_HEAD},
            "state_content_bytes": "head_size*itemsize+head_size_v*itemsize+8",
        },
    ],
    "FlashInferBackend": [
        {
            "if": {"kv_quant_mode": ["NVFP4"]},
            "requires": SYMMETRIC,
            "num_head_slots": "2*num_kv_heads",
            "state_content_bytes": "head_size//2*itemsize+head_size//16*itemsize",
        }
    ],
    "MLACommonBackend": [
        {"if": {"kv_quant_mode": ["INT4_PER_TOKEN_HEAD"]}, "state_content_bytes": "head_size//2*itemsize+8"},
        {
            "if": {"kv_quant_mode": PER_TOKEN_HEAD},
            "state_content_bytes": "head_size*itemsize+8",
        },
    ],
    "MiniMaxM3SparseMSABackend": [
        {
            "if": {"kv_quant_mode": ["NVFP4"]},
            "num_head_slots": "2*num_kv_heads",
            "state_content_bytes": "head_size//2*itemsize+head_size//16*itemsize",
        }
    ],
    "RocmAttentionBackend": TWO_SLOTS,
    "B12xPagedAttentionBackend": TWO_SLOTS,
    "AiterFlashAttentionBackend": [{"block_size_multiple": 16}],
    "RocmAiterUnifiedAttentionBackend": [{"block_size_multiple": 16}],
    "RocmOctaveAttentionBackend": [
        {
            "if": {"kv_quant_mode": ["OCTAVE_K3V4", "OCTAVE_K3V3", "OCTAVE_K3V3_COMPACT"]},
            "unknown": "its Octave slot hangs on the model's rotary dim",
        }
    ],
    "TritonFlashAttentionBackend": [
        {"if": {"kv_quant_mode": ["INT4_PER_TOKEN_HEAD", *PER_TOKEN_HEAD]}, "refuses": NOT_ALIKE},
    ],
    "TritonFlashInferBackend": [
        {"if": {"kv_quant_mode": ["INT4_PER_TOKEN_HEAD", *PER_TOKEN_HEAD, "NVFP4"]}, "refuses": NOT_ALIKE},
    ],
    "Step5DSAAttentionBackend": [{"block_stride_alignment": "8n"}],
    "FlashMLASparseBackend": [
        {"if": {"kv_quant_mode": ["NONE"]}, "block_stride_alignment": ROWS},
        {"if": {"platform": "cuda", "capability_family": [10]}, "block_stride_alignment": ROWS},
        {"block_stride_alignment": "64n"},
    ],
}
WHOLE_ROWS = (
    "XPUMLASparseBackend",
    "FlashAttnMLASparseBackend",
    "FlashInferMLASparseSM90Backend",
    "ROCMAiterMLASparseBackend",
)
"""Classes that keep blocks whole rows apart."""

WHOLE_PAGES = ("_FlashInferMLASparseBackendBase", "FlashAttnMLASparseFA4Backend")
"""Classes that keep blocks whole pages apart, of as many rows as their kernels read at once."""


def customized(backend):
    """The rules of the class that defines the backend's `customize_spec`, [] where that is the base class."""
    owner = next((c.__name__ for c in backend.__mro__ if "customize_spec" in vars(c)), None)
    if owner in (None, "AttentionBackend"):
        return []
    if owner in WHOLE_ROWS:
        return [{"block_stride_alignment": ROWS}]
    if owner in WHOLE_PAGES:
        (page,) = backend.get_supported_kernel_block_sizes(None)
        return [{"block_stride_alignment": f"{page.base}*{ROWS}"}]
    return CUSTOMIZED[owner]


LARGE_PAGES = {"platform": "cuda", "capability_family": [10], "q_heads_divisible": True, "q_heads_grouped": True}
WITH_FA4 = {"attention_config.flash_attn_version": [None, 3, 4]}
DENSE = {"quantized_kv_cache": False, "decode_context_parallel_size": 1}


def block_sizes(row, backend):
    """The kernel block sizes; where they hang on more than the device, the rule behind the observations.

    FlashInfer offers large pages only to grouped queries; FlashAttention 4 has kernels of their own for heads of 256
    on 10.x (by the spec, or by the model up to 0.30) and for FP8 heads of 512 on 9.x; sparse FlashMLA splits quantised
    blocks on 10.x.
    """
    value = rules(row.get("supported_kernel_block_sizes"))
    if row["name"] == "FLASHINFER" and isinstance(value, dict):
        value["rules"][0]["if"] = LARGE_PAGES
    if hasattr(backend, "_get_fa4_hd256_block_size"):
        return {"rules": [*flash_attn_sizes(backend), {"value": ["16n"]}]}
    if row["name"] == "TRITON_FLASH_ATTN":
        flash_attn = sys.modules["vllm.v1.attention.backends.flash_attn"].FlashAttentionBackend
        return {"rules": [*flash_attn_sizes(flash_attn), {"value": ["16n"]}]}
    if row["name"] == "FLASHMLA_SPARSE" and takes_spec(backend):
        modes = [mode for mode in quant_modes() if mode != "NONE"]
        where = {"platform": "cuda", "capability_family": [10], "kv_quant_mode": modes}
        return {"rules": [{"if": where, "value": [64]}, {"value": value}]}
    return value


def takes_spec(backend):
    """Whether the kernel block sizes may hang on the spec (0.33)."""
    return "kv_cache_spec" in inspect.signature(backend.get_supported_kernel_block_sizes).parameters


def flash_attn_sizes(backend):
    """The rules of FlashAttention's class, the general one left out."""
    out = []
    if takes_spec(backend):
        out.append({"if": {"platform": "xpu"}, "value": ["64n"]})
    if hasattr(backend, "_get_sm90_fa4_fp8_kv_block_size"):
        spec = {"kv_quant_mode": ["FP8_PER_TENSOR"], "head_size": [512]}
        out.append({"if": {"platform": "cuda", "capability_family": [9], **spec, **WITH_FA4}, "value": [64]})
    head = {"head_size": [256], "head_size_v": [256]} if takes_spec(backend) else {"model_head_size": [256]}
    out.append({"if": {"platform": "cuda", "capability_family": [10], **head, **DENSE, **WITH_FA4}, "value": [128]})
    return out


FLASH_ATTN_VERSIONS = [
    {"if": {"platform": "xpu"}, "value": 2},
    {"if": {"platform": "rocm"}, "value": None},
    {"if": {"attention_config.flash_attn_version": "set"}, "value": "as set (3 is not taken on 10.x and up)"},
    {"if": {"capability_family": 9}, "value": 3},
    {"if": {"capability_family": 10}, "value": 4},
    {"value": 2},
]
"""The FlashAttention that is chosen when its backend is imported (`get_flash_attn_version`)."""


def flash_attn_support(row):
    """FlashAttention's support by its version, read off the places that choose one."""
    by_place = {}
    for group in row["cudagraph"]["varies"]:
        by_place.update({(p["platform"], p["capability"]): group["value"]["default"] for p in group["on"]})
    always = [version for version, at in ((3, "9.0"), (4, "10.0")) if by_place["cuda", at] == "ALWAYS"]
    found = [{"if": {"flash_attn_version": always if len(always) > 1 else always[0]}, "value": "ALWAYS"}]
    if by_place["xpu", None] == "ALWAYS":
        found.append({"if": {"platform": "xpu"}, "value": "ALWAYS"})
    return {"rules": [*found, {"value": by_place["cuda", "8.0"]}]}


UNCLAMPED = {"unclamped_window": True}
"""A layer has a sliding window at which the model does not cut the ranges that attend both ways."""


def flashinfer_support(backend):
    """FlashInfer's CUDA graph support from 0.30 on, as rules, first match wins."""
    module = sys.modules[backend.__module__]
    single, uniform = "UNIFORM_SINGLE_TOKEN_DECODE", "UNIFORM_BATCH"
    served = {"q_heads_divisible": True, "use_trtllm_attention": "unset", "trtllm_kernels": True}
    out = [{"if": {"decode_context_parallel_size": ">1"}, "value": single}]
    if hasattr(module, "_use_fa2_native_decode"):
        out.append({"if": {"capability_family": [7, 8, None], "use_non_causal": False}, "value": uniform})
        out.append({"if": {"capability_family": [7, 8, None]}, "value": single})
        out.append({"if": {"capability": "9.0", "kv_quant_mode": ["NVFP4"]}, "value": single})
    out.append({"if": {"capability": "9.0", **served, "xqa_head_size": True}, "value": uniform})
    out.append({"if": {"capability_family": 12, **served, "xqa_head_size": True}, "value": uniform})
    out.append({"if": {"capability_family": 10, **served, "use_non_causal": False}, "value": uniform})
    return {"rules": [*out, {"value": single}]}


def cudagraph(row, backend):
    if row["name"] == "FLASHINFER" and hasattr(sys.modules[backend.__module__], "_is_xqa_head_dim_supported"):
        return flashinfer_support(backend)
    if row["cudagraph"].get("builder") == "CompositeAttentionMetadataBuilder":
        return {"rules": [{"if": UNCLAMPED, "value": "NEVER"}, {"value": row["cudagraph"]["default"]}]}
    if row["name"] == "FLASHINFER":
        return flashinfer_before(backend)
    if row["name"] in ("FLASH_ATTN", "FLASH_ATTN_DIFFKV"):
        return flash_attn_support(row)
    if "cases" in row["cudagraph"]:
        return by_case(row["cudagraph"])
    value = rules(row["cudagraph"])
    if isinstance(value, dict) and "rules" in value:
        return {"rules": [{**r, "value": r["value"]["default"]} for r in value["rules"]]}
    return value["default"]


def flashinfer_before(backend):
    """FlashInfer's support up to 0.29; each release that asks for more names it in its function."""
    source = inspect.getsource(backend.get_builder_cls().get_cudagraph_support)
    single, uniform = "UNIFORM_SINGLE_TOKEN_DECODE", "UNIFORM_BATCH"
    served = {"q_heads_divisible": True, "use_trtllm_attention": "unset", "trtllm_kernels": True}
    out = [{"if": {"capability": "9.0"}, "value": single}]
    if "family(120)" in source:
        out.append({"if": {"capability_family": 12, "decode_context_parallel_size": ">1"}, "value": single})
        out.append({"if": {"capability_family": 12, **served}, "value": uniform})
    causal = {"use_non_causal": False} if "use_non_causal" in source else {}
    out.append({"if": {"capability_family": 10, **served, **causal}, "value": uniform})
    return {"rules": [*out, {"value": single}]}


def by_case(observed):
    """Support that hangs on one thing only."""
    (fact,) = {key for case in observed["cases"] for key in case["when"]}
    rest = [case for case in observed["cases"] if case["level"] != observed["default"]]
    found = [{"if": {fact: case["when"][fact]}, "value": case["level"]} for case in rest]
    return {"rules": [*found, {"value": observed["default"]}]}


def entry(row, backend):
    """The catalogue's entry of one backend."""
    out = {"class": row["class"], "module": row["module"]}
    if backend is None:
        kind, _, text = row["unavailable"].partition(": ")
        return {**out, "unavailable": {"type": kind, "text": text.split(". ")[0]}}
    if "not_importable_on" in row:
        out["not_importable_on"] = [p["platform"] for p in row["not_importable_on"]]
    out["cudagraph_support"] = cudagraph(row, backend)
    if row["enum"].startswith("Mamba"):
        return {**out, "is_ssm": True}
    out |= layouts(row) if "supported_kv_cache_layouts" in row else legacy_layouts(row, backend)
    out["supported_kernel_block_sizes"] = block_sizes(row, backend)
    if "supported_kv_cache_layouts" not in row:
        out["required_kv_cache_layout"] = rules(row["required_kv_cache_layout"])
    if hasattr(backend, "set_head_size_v"):
        out["head_size_v_of_class"] = True
    if customized(backend):
        out["customize_spec"] = customized(backend)
    for key in CAPABILITIES:
        if key in row:
            out[key] = rules(row[key])
    return out


def layouts(row):
    """The physical layouts that the kernels read, most preferred first, null where any will do (0.29 on)."""
    return {"supported_kv_cache_layouts": rules(row["supported_kv_cache_layouts"])}


def legacy_layouts(row, backend):
    """The backend's own shape and stride orders (up to 0.28)."""
    orders = row["stride_order"]
    return {
        "kv_cache_shape": shape_rules(row["kv_cache_shape"], refused_block_sizes(backend)),
        "kv_cache_stride_order": {layout: orders[layout] for layout in ("NHD", "HND")},
        "indexes_kv_by_block_stride": {
            layout: orders[f"{layout} indexes_kv_by_block_stride"] for layout in ("NHD", "HND")
        },
    }


def quant_modes():
    """The names of the quantisation modes, aliases too, with their numbers."""
    import vllm.v1.kv_cache_interface as interface

    return {mode: member.value for mode, member in interface.KVQuantMode.__members__.items()}


def classes():
    """{(enum name, member name): class} of every backend that this vLLM can import here."""
    from vllm.v1.attention.backends import registry

    out = {}
    for family in (registry.AttentionBackendEnum, registry.MambaAttentionBackendEnum):
        for name, member in family.__members__.items():
            try:
                out[family.__name__, name] = pretend.load(member.get_class)
            except Exception:
                continue
    return out


def collect():
    """The whole catalogue of the release on the path."""
    facts = observed()
    pretend.be("cuda", "9.0")
    import vllm.v1.kv_cache_interface as interface

    found, backends = classes(), {}
    for row in facts["backends"]:
        name = row["name"] if row["name"] not in backends else f"{row['name']}_MAMBA"
        backends[name] = entry(row, found.get((row["enum"], row["name"])))
    return {
        "release": pretend.version(),
        "cache_dtypes": facts["cache_dtypes"],
        "kv_quant_modes": quant_modes(),
        "flash_attn_version": FLASH_ATTN_VERSIONS,
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


def main(out_dir):
    found = collect()
    out = pathlib.Path(out_dir) / f"{found['release']}.json"
    out.write_text(text(found), encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
