"""What a layer costs, whatever their number: the exponent of CPU time over doubling numbers of layers, at most 1.05.

Every shipped release and `align`, `lint`, `doctor`, `map` and `diff`, as a call of the command line in this process, so
that reading, judging and printing count and the interpreter's start does not. The best of several rounds, in which all
sizes are timed in turn. `python benchmarks/scaling.py 0.33.0` times one release.
"""

import contextlib
import gc
import json
import os
import pathlib
import sys
import tempfile
import time
from math import log

from kvinspect.cli.main import run
from kvinspect.data.catalogue import versions
from measure import finish

SIZES = (2_000, 4_000, 8_000)
ROUNDS = 3
MOST = 1.05
SPEC = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype": "bfloat16"}


def document(release, layers):
    """Alike layers on one backend; brief to write, so that it is the layers that cost and not their names' text."""
    group = {"layer_names": [f"model.layers.{{0..{layers - 1}}}.attn"], "backend": "FLASH_ATTN", "kv_cache_spec": SPEC}
    setting = {"engine": release, "platform": "cuda", "device_capability": "9.0"}
    heads = {"model_config": {"num_attention_heads": 32}}
    return {**setting, **heads, "kv_cache_config": {"num_blocks": 100, "kv_cache_groups": [group]}}


def seconds(words):
    """CPU time of a call, which has to end as expected."""
    gc.collect()
    sys.argv = ["kvinspect", *words]
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        start = time.process_time()
        code = run()
        taken = time.process_time() - start
    if code:
        raise SystemExit(f"kvinspect {' '.join(words)} ended with {code}, so its time says nothing")
    return taken


def slope(times):
    """The exponent, by least squares over the logarithms."""
    points = [(log(size), log(taken)) for size, taken in zip(SIZES, times, strict=True)]
    x, y = (sum(values) / len(points) for values in zip(*points, strict=True))
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def calls(names):
    """Command → its words for each size."""
    plain = {command: [(command, name) for name in names] for command in ("align", "lint", "doctor", "map")}
    return {**plain, "diff": [("diff", name, name) for name in names]}


def measured(release, folder):
    """Rows of a release: command, the best time of each size, the exponent."""
    names = []
    for size in SIZES:
        path = pathlib.Path(folder) / f"{release}-{size}.json"
        path.write_text(json.dumps(document(release, size)), encoding="utf-8")
        names.append(str(path))
    for command, words in calls(names).items():
        seconds(words[0])
        times = [min(taken) for taken in zip(*([seconds(w) for w in words] for _ in range(ROUNDS)), strict=True)]
        yield command, times, slope(times)


def main():
    print("| release | command | " + " | ".join(f"{size:,} layers" for size in SIZES) + " | exponent |")
    print("|---|---|" + "---|" * (len(SIZES) + 1))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for release in sys.argv[1:] or versions():
            for command, times, exponent in measured(release, folder):
                told = " | ".join(f"{taken:.2f} s" for taken in times)
                over = "" if exponent <= MOST else " OVER"
                print(f"| {release} | `{command}` | {told} | {exponent:.2f}{over} |", flush=True)
                results.append(exponent <= MOST)
    finish(results)


main()
