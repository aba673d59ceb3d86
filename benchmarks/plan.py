"""A cold `kvinspect plan` of a model of 80 layers, and what one of 100 points of a sweep costs.

The process is compared with importing what a command line needs: 0.4 s where that takes 0.2 s. A point, with its model
read once, is compared with the whole cold process.
"""

import json
import pathlib
import sys
import tempfile
import time

from measure import finish, ratio, report, wall

MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8192,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}
IMPORTS = [sys.executable, "-c", "import typer, rich, pydantic"]
POINTS = 100


def cold(folder):
    command = [sys.executable, "-m", "kvinspect", "plan", str(folder), "--kv-cache-memory-bytes", "40G"]
    return lambda: wall(command)


def point():
    from kvinspect.api.plan_model import sweep
    from kvinspect.models.memory import Memory
    from kvinspect.planning.sweep import Axis

    axis = Axis("max_model_len", tuple(range(1024, 1024 + 64 * POINTS, 64)))
    start = time.perf_counter()
    answer = sweep(MODEL, [axis], lambda _: Memory(40 << 30, "given"), engine="0.27")
    assert len(answer.points) == POINTS
    return (time.perf_counter() - start) / POINTS


with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "config.json").write_text(json.dumps(MODEL), encoding="utf-8")
    results = [
        report("cold plan of 80 layers / imports", ratio(cold(folder), lambda: wall(IMPORTS)), 2.0),
        report("a point of a sweep / a cold plan", ratio(point, cold(folder), rounds=3), 0.05),
    ]
finish(results)
