"""Runs the command on bad files: `python tests/fuzz/harness.py --what documents --count 20000 --jobs 2`.

`--what` is one of `documents`, `models` (a config.json and flags of `plan`), `flags` (flag lines) and `settings`. Each call
runs in a forked child (`measured.py`): what ends with anything but 0 to 3, prints a traceback, or takes more than a second
of the processor or 200 MB is told, and its files are kept in the folder `failures`.
"""

import argparse
import concurrent.futures
import functools
import gc
import heapq
import pathlib
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "fuzz")]

import flag_lines  # noqa: E402
import model_files  # noqa: E402
import mutations  # noqa: E402
import setting_files  # noqa: E402
from measured import MEGABYTES, SECONDS, Ended, all_measured, called, write  # noqa: E402

BESIDE = str(ROOT / "configs" / "llama-3.1-8b.yaml")
COMMANDS = (("lint",), ("lint",), ("lint", "--format", "sarif"), ("align",), ("align", "--format", "json"))
COMMANDS += (("cg-support",), ("mm-prefix",), ("map",), ("lint", "--engine", "0.25,0.28"), ("plan",), ("doctor",))
COMMANDS += (("diff", BESIDE), ("map", "--format", "svg"), ("align", "--explain"), ("diff", "--engine", "0.28,0.33"))
BATCH = 50
"""Calls of a child."""

WORST = 5
"""Inputs kept of each kind of worst."""


class Bad(NamedTuple):
    """What an input did that it must not."""

    number: int
    command: tuple[str, ...]
    why: str
    files: dict[str, bytes]


@dataclass
class Tally:
    """What came of a span of numbers."""

    codes: Counter = field(default_factory=Counter)
    slow: int = 0
    large: int = 0
    slowest: list = field(default_factory=list)
    largest: list = field(default_factory=list)
    bad: list = field(default_factory=list)

    def add(self, number: int, command: tuple[str, ...], files: dict[str, bytes], ended: Ended) -> None:
        """Count an end, and keep what is bad about it."""
        self.codes[ended.code] += 1
        self.slow += ended.seconds > SECONDS
        self.large += ended.megabytes > MEGABYTES
        words = " ".join(command)[:200]
        self._keep(self.slowest, (round(ended.seconds, 2), number, words))
        self._keep(self.largest, (round(ended.megabytes), number, words))
        if ended.fault:
            self.bad.append(Bad(number, command, ended.fault, files))

    def take(self, other: "Tally") -> None:
        """Add another span's."""
        self.codes.update(other.codes)
        self.slow += other.slow
        self.large += other.large
        self.bad += other.bad
        for mine, theirs in ((self.slowest, other.slowest), (self.largest, other.largest)):
            for one in theirs:
                self._keep(mine, one)

    @staticmethod
    def _keep(worst: list, one: tuple) -> None:
        (heapq.heappushpop if len(worst) == WORST else heapq.heappush)(worst, one)

    def told(self) -> str:
        """The counts in a few lines."""
        ends = ", ".join(f"{count} with {code}" for code, count in sorted(self.codes.items()))
        lines = [f"{self.codes.total()} calls ended: {ends}"]
        lines.append(f"{self.slow} over {SECONDS:g} s, {self.large} over {MEGABYTES} MB, {len(self.bad)} bad ends")
        lines += [
            f"slowest: {second} s, number {number}: {words}" for second, number, words in sorted(self.slowest)[::-1]
        ]
        lines += [f"largest: {size} MB, number {number}: {words}" for size, number, words in sorted(self.largest)[::-1]]
        return "\n".join(lines)


def document(number, texts, chance):
    """(files, the words of a call) of a bad document."""
    name = f"{number}.{chance.choice(('yaml', 'json'))}"
    return {name: mutations.mutated(chance.choice(texts), chance)}, (*chance.choice(COMMANDS), name)


def model(number, configs, chance):
    """The same of a bad config.json."""
    name = f"{number}.json"
    return {name: model_files.mutated(configs, chance)}, model_files.call(name, chance)


KINDS = {
    "documents": (mutations.seeds, document),
    "models": (model_files.seeds, model),
    "flags": (flag_lines.seeds, flag_lines.line),
    "settings": (mutations.documents, setting_files.around),
}


def tally(numbers, what="documents"):
    """The ends of these numbers; a number is the seed of its input."""
    seeds, make = KINDS[what]
    good, found = seeds(ROOT), Tally()
    _warm()
    for at in range(0, len(numbers), BATCH):
        batch = numbers[at : at + BATCH]
        calls = [make(number, good, random.Random(number)) for number in batch]
        for number, (files, command), ended in zip(batch, calls, all_measured(calls), strict=True):
            found.add(number, command, files, ended)
    return found


def _warm():
    """Import what calls import and build the commands, so that no child has to, and let those pages be shared."""
    from typer import main as commands

    from kvinspect.cli import main as program

    if hasattr(commands.get_command, "cache_info"):
        return
    build, commands.get_command = program.program, functools.cache(commands.get_command)
    one = functools.cache(lambda name: build([name]))
    program.program = lambda words=(): one(words[0] if words else "")
    for command in {words[0] for words in COMMANDS} - {"plan", "diff"}:
        called([command, BESIDE])
    called(["diff", BESIDE, BESIDE])
    called(["plan", str(ROOT / "examples/models/qwen3-8b"), "--available-kv-cache-memory", "40GiB"])
    gc.collect()
    gc.freeze()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--what", choices=KINDS, default="documents")
    call = parser.parse_args()
    spans = [range(call.first + job, call.first + call.count, call.jobs) for job in range(call.jobs)]
    total = Tally()
    with concurrent.futures.ProcessPoolExecutor(call.jobs) as pool:
        for found in pool.map(tally, spans, [call.what] * call.jobs):
            total.take(found)
    for one in total.bad:
        write(one.files, pathlib.Path("failures") / f"{call.what}-{one.number}")
        print(f"{one.number} {' '.join(one.command)[:500]}: {one.why}")
    print(total.told())
    raise SystemExit(1 if total.bad else 0)


if __name__ == "__main__":
    main()
