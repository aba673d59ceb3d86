"""Times, always as ratios within one run: a machine's speed drifts, and two things timed in turn drift together."""

import os
import statistics
import subprocess
import sys
import time

# What an installed package has: bytecode beside its modules.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}


def wall(command):
    start = time.perf_counter()
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    return time.perf_counter() - start


def ratio(first, second, rounds=15):
    """(median of first/second pair by pair, median seconds of each); each is a function that returns seconds."""
    pairs = [(first(), second()) for _ in range(rounds + 1)][1:]
    return (
        statistics.median(a / b for a, b in pairs),
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
    )


def report(what, found, limit):
    value, a, b = found
    verdict = "ok" if value <= limit else "OVER"
    print(f"{what}: {value:.2f} (at most {limit}; {a:.3g} s against {b:.3g} s) {verdict}")
    return value <= limit


def finish(results):
    sys.exit(0 if all(results) else 1)
