"""`kvinspect align` of a shipped config, a whole process, against importing typer, rich and pydantic: at most twice.

The README's first command, which reads the tables of models and GPUs and estimates the memory: at most three times.
"""

import sys

from measure import finish, ratio, report, wall

CONFIG = "configs/whisper-large-v3-rocm.yaml"
IMPORTS = [sys.executable, "-c", "import typer, rich, pydantic"]


def align(*more):
    return lambda: wall([sys.executable, "-m", "kvinspect", "align", CONFIG, *more])


FIRST = "plan Qwen/Qwen3-32B --gpu 2xH100 --max-model-len 32k --kv-cache-dtype fp8"


def first():
    return wall([sys.executable, "-m", "kvinspect", *FIRST.split()])


finish(
    [
        report("align, table / imports", ratio(align(), lambda: wall(IMPORTS)), 2.0),
        report("align, JSON / imports", ratio(align("--format", "json"), lambda: wall(IMPORTS)), 2.0),
        report("plan by name, table / imports", ratio(first, lambda: wall(IMPORTS)), 3.0),
    ]
)
