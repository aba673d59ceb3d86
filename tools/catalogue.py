"""Write `kvinspect/data/<release>/catalogue.json`: what a vLLM release's backends and specs answer, as data.

    python tools/catalogue.py OUT_DIR

Asked of the vLLM that this Python imports; neither its compiled parts nor a device are needed (`pretend.py`). Each
platform and compute capability is asked by a process of its own (`observe.py`), for many answers are settled when a
module is imported. An answer that is not the same everywhere becomes rules (`varying.py`); where it hangs on more than
the device, the rule behind it is read by hand (`kernel_blocks.py`, `packing.py`, `support.py`).
"""

import dataclasses
import enum
import json
import pathlib
import subprocess
import sys

import pretend
from backend_facts import facts as read_facts
from backend_facts import state_layers
from kernel_blocks import block_sizes, quant_modes
from packing import TURBOQUANT, customized
from selection import MODEL_SELECTION, selection
from support import FLASH_ATTN_VERSIONS, cudagraph
from varying import condition, rules

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

SIZED = ("head_size_rule", "preferred_block_size")
"""Facts that most backends have not."""

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
            "defaults": words_of_defaults(cls),
        }
    return out


def words_of_defaults(cls):
    """The default of each field whose value is a word."""
    return {f.name: f.default.name for f in dataclasses.fields(cls) if isinstance(f.default, enum.Enum)}


def entry(row, backend):
    """The catalogue's entry of one backend."""
    out = {"class": row["class"], "module": row["module"]}
    if row["enum"].startswith("Mamba"):
        out["mamba_type"] = row["name"]
    if backend is None:
        kind, _, text = row["unavailable"].partition(": ")
        return {**out, "unavailable": {"type": kind, "text": text.split(". ")[0]}}
    if "not_importable_on" in row:
        out["not_importable_on"] = [p["platform"] for p in row["not_importable_on"]]
    out["cudagraph_support"] = cudagraph(row, backend)
    if row["enum"].startswith("Mamba"):
        return {**out, "is_ssm": True, "name": backend.get_name()}
    out |= layouts(row) if "supported_kv_cache_layouts" in row else legacy_layouts(row, backend)
    out["supported_kernel_block_sizes"] = block_sizes(row, backend)
    if "supported_kv_cache_layouts" not in row:
        out["required_kv_cache_layout"] = rules(row["required_kv_cache_layout"])
    if hasattr(backend, "set_head_size_v"):
        out["head_size_v_of_class"] = True
    if customized(backend):
        out["customize_spec"] = customized(backend)
    for key in (*CAPABILITIES, *SIZED):
        if key in row and not (key in SIZED and row[key] is None):
            out[key] = rules(row[key])
    return out | read_facts(row["name"], backend)


def layouts(row):
    """The physical layouts that the kernels read, most preferred first, null where any will do (0.29 on)."""
    return {"supported_kv_cache_layouts": rules(row["supported_kv_cache_layouts"])}


def legacy_layouts(row, backend):
    """The backend's own shape and stride orders (up to 0.28)."""
    orders = row["stride_order"]
    with_layers = {layout: orders[f"{layout}+layers"] for layout in ("NHD", "HND")}
    return {
        "kv_cache_shape": shape_rules(row["kv_cache_shape"], refused_block_sizes(backend)),
        "kv_cache_stride_order": {layout: orders[layout] for layout in ("NHD", "HND")},
        "indexes_kv_by_block_stride": {
            layout: orders[f"{layout} indexes_kv_by_block_stride"] for layout in ("NHD", "HND")
        },
        **({"kv_cache_stride_order_with_layers": with_layers} if any(with_layers.values()) else {}),
    }


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
        "model_selection": MODEL_SELECTION,
        "state_layers": state_layers(),
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
    out = pathlib.Path(out_dir, found["release"], "catalogue.json")
    out.parent.mkdir(exist_ok=True)
    out.write_text(text(found), encoding="utf-8")
    print(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
