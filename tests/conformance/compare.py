"""Whether kvinspect answers a document as the engine does, by the comparison that the golden answers are held to."""

import json
import tempfile
from pathlib import Path
from typing import NamedTuple

import kvinspect
from conformance.intended import reason_of
from golden.cases import answered, specs_differences
from golden.compare import EARLY, by_name, difference


class Verdict(NamedTuple):
    """What came of one document."""

    outcome: str
    """equal, refused (by both), intended, unanswered (the bridge failed: no answer, and no agreement) or differs."""
    why: str = ""


def judged(command, document, golden):
    """The verdict on a document that the engine answered with `golden`."""
    if "bridge_failure" in golden:
        return Verdict("unanswered", golden["bridge_failure"])
    rows = _compared(command, document, golden)
    if rows is None:
        return Verdict("refused")
    if not rows:
        return Verdict("equal")
    if reason := reason_of(command, document, rows):
        return Verdict("intended", reason)
    return Verdict("differs", "; ".join(f"{at}: engine {g!r}, kvinspect {a!r}"[:300] for at, g, a in rows[:3]))


def _compared(command, document, golden):
    """What differs, None where both refuse."""
    refused = _refused_early(command, golden)
    try:
        rows = list(_specs(document, golden) if command == "specs" else _rows(command, document, golden))
    except kvinspect.DocumentError as error:
        return None if refused else [("document", "an answer", str(error).splitlines()[0])]
    return [("error", golden["error"]["text"], None)] if command == "specs" and refused else rows


def _rows(command, document, golden):
    """What differs; the bridge makes views and binds them to no layer, so that nothing is compiled for their strides."""
    unbound = {**document, "kernel_config": {"enable_jit_warmup": False}}
    return difference(by_name(golden), by_name(answered(command, unbound)))


def _refused_early(command, golden):
    if command == "specs":
        return "error" in golden
    error = golden.get("error")
    stages = {golden.get("stage"), error.get("stage") if isinstance(error, dict) else None}
    return bool(stages & EARLY)


def _specs(document, golden):
    """Differences of a model's specs and of their plan; the golden files' form of a case is made of the answer."""
    if "error" in golden:
        _ask_specs(document)
        return ()
    plain = ("block_size", "mamba_block_size", "cache_dtype", "max_model_len", "shared_kv_cache_layers", "no_cache")
    rows = [
        {"layer_names": [name], "backend": spec["backend"], "kv_cache_spec": _without(spec, "backend")}
        for name, spec in golden["layers"].items()
    ]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(document["config"]), encoding="utf-8")
        case = {
            **{key: document[key] for key in ("engine", "platform", "device_capability", "engine_args")},
            "config": "config.json",
            "available_kv_cache_memory_bytes": document["available_memory"],
            "specs": {**{key: golden[key] for key in plain}, **_layout(golden), "layers": rows},
            "plan": golden.get("plan"),
        }
        return tuple(specs_differences(case, Path(folder) / "config.json"))


def _ask_specs(document):
    kvinspect.specs(
        kvinspect.load_model(document["config"]),
        engine=document["engine"],
        platform=document["platform"],
        device_capability=document["device_capability"],
        engine_args=document["engine_args"],
    )


def _layout(golden):
    """The layout, which the engine resolves from 0.29 on, on its way to a plan."""
    return {"kv_cache_layout": golden["kv_cache_layout"]} if "kv_cache_layout" in golden else {}


def _without(spec, key):
    return {name: value for name, value in spec.items() if name != key}
