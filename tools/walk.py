"""Count and draw the way of a call through the rooms: `python tools/walk.py [--tree FOLDER] align FILE …`.

`python tools/walk.py --page docs/architecture.md` draws the walks of a page again: a block of text under each call of
this tool that the page names.

The words are those of a `kvinspect` command. It runs once to warm up, so that imports and what a process keeps do not
count, and once more under a profiler.

- *files entered*: the files of the package in which a function of the call runs, in the order in which it first does.
- *crossings*: how often the room changes from one entered file to the next.
- *ways back*: pairs of rooms that call each other in both directions. What a function hands over of its own (a lambda,
  a function within it) is no call back to its room where another room calls it: that room need not know it.

Rooms are the folders of the package. Those that hold values and texts (`document`, `geometry`, `output`) are asked from
everywhere and decide nothing: they count as entered, the crossings are told with and without them, and they are not
drawn. The number in a drawing is that of the pairs of files of which one calls the other.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from types import FrameType
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
VALUES = ("document", "geometry", "output")


class Walk(NamedTuple):
    """What a call has entered: files in their order, and (file, file) of each first call from one to another."""

    files: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]

    @property
    def crossings(self) -> int:
        """How often the room changes on the way."""
        return changes(room_of(file) for file in self.files)

    @property
    def between_deciders(self) -> int:
        """How often the room changes among those that decide something."""
        return changes(room for file in self.files if (room := room_of(file)) not in VALUES)

    @property
    def calls(self) -> Counter[tuple[str, str]]:
        """(room, room) → pairs of files, in the order of the first."""
        pairs = ((room_of(caller), room_of(called)) for caller, called in self.steps)
        return Counter((one, other) for one, other in pairs if one != other)

    @property
    def ways_back(self) -> list[tuple[str, str]]:
        """Pairs of rooms that call each other, the direction that came later."""
        seen: set[tuple[str, str]] = set()
        back = []
        for pair in self.calls:
            if pair[::-1] in seen:
                back.append(pair)
            seen.add(pair)
        return back


def changes(rooms: Iterable[str]) -> int:
    """How often a room follows another."""
    return sum(one != other for one, other in pairwise(rooms))


def room_of(file: str) -> str:
    """The room of a file of the package: its folder, or itself where it is in none; "" of one at the door."""
    room = file.partition("/")[0].removesuffix(".py")
    return "" if room in ("__init__", "__main__") else room


def walk(call: Callable[[], Any], package: pathlib.Path) -> Walk:
    """Where a call goes, the second time. Ends the process where the call gives no answer."""
    code = call()
    if code not in (0, 1):
        raise SystemExit(f"the call ended with {code}, so its way says nothing")
    prefix = f"{package}/"
    files: dict[str, None] = {}
    steps: dict[tuple[str, str], None] = {}

    def inside(frame: FrameType) -> str | None:
        """The file that a frame runs, of the package."""
        name = frame.f_code.co_filename
        return name.removeprefix(prefix) if name.startswith(prefix) else None

    def caller_of(frame: FrameType) -> str | None:
        """The file of the nearest frame outside, in a room that decides."""
        outer = frame.f_back
        while outer is not None:
            file = inside(outer)
            if file is not None and room_of(file) not in VALUES:
                return file
            outer = outer.f_back
        return None

    def note(frame: FrameType, event: str, _: Any) -> None:
        file = inside(frame) if event == "call" else None
        if file is None:
            return
        files[file] = None
        counts = room_of(file) not in VALUES and "<locals>" not in frame.f_code.co_qualname
        caller = caller_of(frame) if counts else None
        if caller is not None:
            steps[caller, file] = None

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Walk(tuple(files), tuple(steps))


def drawing(found: Walk) -> list[str]:
    """A line for each room that calls others: `room → room (pairs of files)`, in the order of the walk."""
    lines: dict[str, list[str]] = {}
    for (caller, called), count in found.calls.items():
        lines.setdefault(caller or "door", []).append(called + (f" ×{count}" if count > 1 else ""))
    width = max(map(len, lines), default=0)
    return [f"{caller:{width}} ─▶ {', '.join(called)}" for caller, called in lines.items()]


def summary(found: Walk) -> str:
    """The counts in one line."""
    rooms = {room_of(file) for file in found.files} - {""}
    back = ", ".join(f"{caller} ─▶ {called}" for caller, called in found.ways_back) or "none"
    crossings = f"{found.crossings} crossings, {found.between_deciders} without rooms of values"
    return f"{len(found.files)} files of {len(rooms)} rooms entered, {crossings}, ways back: {back}"


DRAWN = re.compile(r"(`python tools/walk\.py ([^`]+)`.*?```text\n)(.*?)(```)", re.DOTALL)
"""In a page: a call of this tool, and the next block of text, which holds what it prints."""


def drawn_again(page: str) -> str:
    """A page with its walks as they are today, each from a process of its own."""

    def draw(found: re.Match[str]) -> str:
        words = [sys.executable, __file__, *shlex.split(found[2])]
        return found[1] + subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT).stdout + found[4]

    return DRAWN.sub(draw, page)


def main() -> None:
    parser = argparse.ArgumentParser(description="Count and draw the way of a call through the rooms.")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT, help="another checkout, to compare with")
    parser.add_argument("--page", type=pathlib.Path, help="a page whose walks are drawn again, in place of a call")
    parser.add_argument("words", nargs=argparse.REMAINDER, help="the words of a kvinspect command")
    asked = parser.parse_args()
    if asked.page:
        asked.page.write_text(drawn_again(asked.page.read_text(encoding="utf-8")), encoding="utf-8")
        return
    sys.path.insert(0, str(asked.tree.resolve()))
    run = importlib.import_module("kvinspect.cli.main").run
    sys.argv = ["kvinspect", *asked.words]
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        found = walk(run, asked.tree.resolve() / "kvinspect")
    print("\n".join([f"{asked.words[0]}: {summary(found)}", *drawing(found)]))


if __name__ == "__main__":
    main()
