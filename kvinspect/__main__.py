"""`python -m kvinspect`, and what the `kvinspect` script calls."""

import contextlib
import gc
import os
import sys


def main() -> None:
    """Run the program in a process of its own, and leave without taking that process apart object by object.

    Imports make only garbage that lives, so nobody collects it while they run, and a call makes little that does not;
    and at the end the system frees memory faster than Python does. Together that is a fifth of the time of a call.
    """
    gc.disable()
    # A stream that the caller closed is None.
    nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    from kvinspect.cli.main import run

    gc.freeze()
    gc.set_threshold(100_000)
    gc.enable()
    code = run()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
