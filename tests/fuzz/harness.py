"""Runs the command on bad files: `python tests/fuzz/harness.py --count 20000 --jobs 8`.

Each file goes through the program as a call of it would, in this process: what ends with anything but 0, 1 or 2, prints
a traceback or takes more than a second is kept in the folder `failures` and told.
"""

import argparse
import concurrent.futures
import contextlib
import io
import pathlib
import random
import sys
import tempfile
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "fuzz")]

from mutations import mutated, seeds  # noqa: E402

COMMANDS = (("lint",), ("lint",), ("lint", "--format", "sarif"), ("align",), ("align", "--format", "json"))
COMMANDS += (("cg-support",), ("mm-prefix",), ("map",), ("lint", "--engine", "0.25,0.28"))
LIMIT_SECONDS = 1.0


class Bad(NamedTuple):
    """What a file did that it must not."""

    number: int
    command: tuple[str, ...]
    why: str
    data: bytes


def called(arguments):
    """(exit code, what was printed on either stream) of a call in this process."""
    from kvinspect.cli.main import run

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        argv, sys.argv = sys.argv, ["kvinspect", *arguments]
        try:
            code = run()
        finally:
            sys.argv = argv
    out.flush()
    errors.flush()
    return code, (out.buffer.getvalue() + errors.buffer.getvalue()).decode("utf-8", "replace")


def judged(number, texts, folder):
    """What is wrong with the command's end on bad file `number`, or None. The number is its seed."""
    chance = random.Random(number)
    data = mutated(chance.choice(texts), chance)
    path = folder / f"{number}.{chance.choice(('yaml', 'json'))}"
    path.write_bytes(data)
    command = chance.choice(COMMANDS)
    start = time.process_time()
    try:
        code, printed = called([*command, str(path)])
    except BaseException as error:
        return Bad(number, command, f"{type(error).__name__}: {error}", data)
    finally:
        path.unlink()
    took = time.process_time() - start
    if code not in (0, 1, 2):
        return Bad(number, command, f"exit code {code}: {printed[-300:]}", data)
    if "Traceback" in printed or "internal error" in printed:
        return Bad(number, command, printed[-500:], data)
    if took > LIMIT_SECONDS:
        return Bad(number, command, f"{took:.1f} s", data)
    return None


def judge_all(numbers):
    """The bad ends among these numbers."""
    texts = seeds(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        found = [judged(number, texts, pathlib.Path(folder)) for number in numbers]
    return [bad for bad in found if bad]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=4)
    call = parser.parse_args()
    spans = [range(call.first + job, call.first + call.count, call.jobs) for job in range(call.jobs)]
    with concurrent.futures.ProcessPoolExecutor(call.jobs) as pool:
        bad = [one for found in pool.map(judge_all, spans) for one in found]
    for one in bad:
        folder = pathlib.Path("failures")
        folder.mkdir(exist_ok=True)
        (folder / str(one.number)).write_bytes(one.data)
        print(f"{one.number} {' '.join(one.command)}: {one.why}")
    print(f"{call.count} files, {len(bad)} bad ends")
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
