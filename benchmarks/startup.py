"""`kvinspect align` of a shipped config, a whole process, against importing typer, rich and pydantic: at most twice."""

import sys

from measure import finish, ratio, report, wall

CONFIG = "configs/whisper-large-v3-rocm.yaml"
IMPORTS = [sys.executable, "-c", "import typer, rich, pydantic"]


def align(*more):
    return lambda: wall([sys.executable, "-m", "kvinspect", "align", CONFIG, *more])


finish(
    [
        report("align, table / imports", ratio(align(), lambda: wall(IMPORTS)), 2.0),
        report("align, JSON / imports", ratio(align("--format", "json"), lambda: wall(IMPORTS)), 2.0),
    ]
)
