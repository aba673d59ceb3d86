"""A release on one platform and capability: `python -m bridge.worker COMMAND PLATFORM CAPABILITY`.

Documents come as lines of JSON on standard input, answers go to standard output.
"""

import importlib
import json
import os
import sys
import traceback

from bridge.failures import told

MODULES = {
    "align": "align",
    "cg-support": "cudagraphs",
    "mm-prefix": "mm_prefix",
    "plan": "plan",
    "runners": "runners",
    "specs": "models",
}
"""Command → the module of this package that answers it."""

PLACED = ("align", "cg-support")
"""Commands whose answers name the device."""


def main(command, platform, capability):
    """Answer until the input ends."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever vLLM prints goes to standard error
    place = {"platform": platform, "device_capability": capability or None} if command in PLACED else {}
    answer = ready(command, platform, capability)
    for line in sys.stdin:
        try:
            found = {**answer(json.loads(line)), **place}
        except Exception as error:
            traceback.print_exc()
            found = {"bridge_failure": told(error)}
        out.write(json.dumps(found) + "\n")
        out.flush()
    os._exit(0)


def ready(command, platform, capability):
    """The function that answers a command; what the imports fail with is the answer to every document."""
    try:
        import pretend

        module = importlib.import_module(f"bridge.{MODULES[command]}")
        getattr(module, "prepare", pretend.be)(platform, capability or None)
    except Exception as error:
        traceback.print_exc()
        failure = {"bridge_failure": told(error)}
        return lambda document: failure
    return module.answer


if __name__ == "__main__":
    main(*sys.argv[1:])
