"""Runs the command on bad files: `python tests/fuzz/harness.py --count 20000 --jobs 8`.

`--what models` makes config.json files and flags of `plan` instead of documents. Each file goes through the program as a call of it would, in this process: what ends with anything but 0 to 3, prints
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

import model_files  # noqa: E402
import mutations  # noqa: E402

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


def document(number, texts, folder, chance):
    """(the file, its bytes, the words of the call) of a bad document."""
    data = mutations.mutated(chance.choice(texts), chance)
    path = folder / f"{number}.{chance.choice(('yaml', 'json'))}"
    return path, data, (*chance.choice(COMMANDS), str(path))


def model(number, configs, folder, chance):
    """The same of a bad config.json."""
    path = folder / f"{number}.json"
    data = model_files.mutated(configs, chance)
    return path, data, model_files.call(path, chance)


KINDS = {"documents": (mutations.seeds, document), "models": (model_files.seeds, model)}


def judged(number, made, folder):
    """What is wrong with the command's end on the bad file that `made` makes, or None. The number is its seed."""
    path, data, command = made(number, folder, random.Random(number))
    path.write_bytes(data)
    start = time.process_time()
    try:
        code, printed = called(command)
    except BaseException as error:
        return Bad(number, command, f"{type(error).__name__}: {error}", data)
    finally:
        path.unlink()
    took = time.process_time() - start
    if code not in (0, 1, 2, 3):
        return Bad(number, command, f"exit code {code}: {printed[-300:]}", data)
    if "Traceback" in printed or "internal error" in printed:
        return Bad(number, command, printed[-500:], data)
    if took > LIMIT_SECONDS:
        return Bad(number, command, f"{took:.1f} s", data)
    return None


def judge_all(numbers, what="documents"):
    """The bad ends among these numbers."""
    seeds, make = KINDS[what]
    good = seeds(ROOT)

    def made(number, folder, chance):
        return make(number, good, folder, chance)

    with tempfile.TemporaryDirectory() as folder:
        found = [judged(number, made, pathlib.Path(folder)) for number in numbers]
    return [bad for bad in found if bad]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--what", choices=KINDS, default="documents")
    call = parser.parse_args()
    spans = [range(call.first + job, call.first + call.count, call.jobs) for job in range(call.jobs)]
    with concurrent.futures.ProcessPoolExecutor(call.jobs) as pool:
        bad = [one for found in pool.map(judge_all, spans, [call.what] * call.jobs) for one in found]
    for one in bad:
        folder = pathlib.Path("failures")
        folder.mkdir(exist_ok=True)
        (folder / str(one.number)).write_bytes(one.data)
        print(f"{one.number} {' '.join(one.command)}: {one.why}")
    print(f"{call.count} files, {len(bad)} bad ends")
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
