"""The last start in a log: its release and flags, and whether and why it failed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import ROUND_DOWN, Decimal
from typing import Any, NamedTuple

from kvinspect.document.limits import MAX_LOG_LINES
from kvinspect.failed_starts.arguments import Arguments, of_config, of_dictionary
from kvinspect.failed_starts.pieces import Piece
from kvinspect.start_up_log.errors import ANY_ERROR, FAILURES, Failure
from kvinspect.start_up_log.reader import STARTS, LogLine, StartUpLog, lines_that_tell, of_failure

_ARGUMENTS = re.compile(r"non-default args: (?=\{)")
_CONFIG = re.compile(r"Initializing a V1 LLM engine \(v[\w.+-]{1,40}\) with config: ")
_DRAFT = re.compile(r"Loading drafter model")
_PREFIX = re.compile(
    r"^(?:\([A-Za-z]\w{0,60}(?: pid=\d{1,10})?\)\s{0,4})?"
    r"(?:(?:ERROR|WARNING|INFO) [\d :.-]{5,30}(?:\[[\w./:]{1,80}\])?)?"
)
_HUNDREDTH = Decimal(1).scaleb(-2)
_FOLDED = 6
"""Lines that a folded error takes at most."""
WARNINGS = ("hybrid_manager_off", "graphs_narrowed", "graphs_overridden", "eager", "override", "reduced")
"""Kinds of lines that tell of a start which differs from what was requested."""


class Found(NamedTuple):
    """A known failure in a log, and its line."""

    failure: Failure
    line: LogLine
    draft: bool = False
    """Whether it comes while the draft model is loaded."""

    @property
    def changes(self) -> tuple[str, ...]:
        """The flags that may help, those whose numbers the line does not say left out."""
        values = self.values
        said = (change.format_map(values) for change in self.failure.changes if _has(change, values))
        return tuple(said)

    @property
    def remedy(self) -> str:
        """What to do."""
        return self.failure.remedy.format_map(self.values)

    @property
    def values(self) -> dict[str, Any]:
        """The numbers of the line, and the share of the device that is free, rounded down to hundredths."""
        said = dict(self.line.values)
        free, of = said.get("available"), said.get("of_gib")
        if not isinstance(free, Decimal) or not isinstance(of, Decimal) or not 0 < free <= of:
            return said
        return {**said, "share": (free / of).quantize(_HUNDREDTH, ROUND_DOWN)}


def _has(change: str, values: Mapping[str, Any]) -> bool:
    return all(name in values for name in re.findall(r"\{(\w+)\}", change))


class LastStart(NamedTuple):
    """The last start of a log that tells something."""

    log: StartUpLog
    arguments: Arguments = Arguments()
    failures: tuple[Found, ...] = ()
    serving: bool = False

    @property
    def warnings(self) -> tuple[LogLine, ...]:
        """What differs from what was requested, each said once."""
        said = {line.text: line for line in reversed(self.log.lines) if line.kind in WARNINGS}
        return tuple(sorted(said.values(), key=lambda line: line.number))

    @property
    def other_errors(self) -> tuple[LogLine, ...]:
        """Errors whose meaning is not known."""
        return self.log.of(ANY_ERROR)

    @property
    def started(self) -> bool:
        """Whether the engine got its cache, and nothing is known to have failed."""
        sized = any(line.kind in STARTS for line in self.log.lines)
        return self.serving or (sized and not self.failures and not self.other_errors)


class _Start:
    """What is known of a start while its log is read."""

    def __init__(self) -> None:
        self.lines: list[LogLine] = []
        self.failures: dict[tuple[str, bool], Found] = {}
        self.arguments: Arguments | None = None
        self.config = Arguments()
        self.drafting = self.serving = False

    @property
    def ended(self) -> bool:
        return self.serving or bool(self.failures) or any(line.kind == ANY_ERROR for line in self.lines)

    def add(self, line: LogLine) -> None:
        """Take a line; what a running server prints tells nothing of its start."""
        if self.serving or len(self.lines) >= MAX_LOG_LINES:
            return
        self.serving = line.kind == "serving"
        self.lines.append(line)
        for failure in (one for one in FAILURES if one.kind == line.kind):
            if of_failure(failure, line.text):
                self.failures.setdefault((failure.name, self.drafting), Found(failure, line, self.drafting))
                return

    def value(self, source: str) -> LastStart:
        failures = () if self.serving else tuple(self.failures.values())
        log = StartUpLog(source, tuple(self.lines))
        return LastStart(log, self.arguments or self.config, failures, self.serving)


def last_start(read: Iterable[Piece], source: str) -> LastStart:
    """The last start of a log that is read piece by piece; the memory that it takes is that of one piece."""
    start = _Start()
    for number, event in (one for piece in read for one in _events(piece)):
        if isinstance(event, LogLine):
            start.add(event._replace(number=number))
        elif event.re is _DRAFT:
            start.drafting = True
        elif event.re is _ARGUMENTS:
            start = _Start() if start.ended or start.arguments else start
            start.arguments = of_dictionary(event.string[event.end() :])
        else:
            start = _Start() if start.ended and not start.arguments else start
            start.config = of_config(event.string[event.end() :])
    return start.value(source)


Event = LogLine | re.Match[str]


def _events(piece: Piece) -> Iterator[tuple[int, Event]]:
    """What the lines of a piece say, with the lines of the file; of one line a launch before its release."""
    found = lines_that_tell(piece.text)
    marks = [mark for pattern in (_ARGUMENTS, _CONFIG, _DRAFT) for mark in _marks(piece.text, pattern)]
    lines = piece.text.split("\n") if any(line.kind == ANY_ERROR for line in found) else []
    known = {line.number for line in found if line.kind != ANY_ERROR}
    said: list[tuple[int, Event]] = [
        *marks,
        *((one.number, one) for line in found if (one := _unfolded(line, lines, known))),
    ]
    for number, event in sorted(said, key=lambda one: one[0]):
        yield piece.numbers[number - 1], event


def _marks(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, re.Match[str]]]:
    number, counted = 1, 0
    for found in pattern.finditer(text):
        number += text.count("\n", counted, found.start())
        counted = found.start()
        end = text.find("\n", found.end())
        line = text[text.rfind("\n", 0, found.start()) + 1 : end if end >= 0 else len(text)]
        if mark := pattern.search(line):
            yield number, mark


def _unfolded(line: LogLine, lines: list[str], known: set[int]) -> LogLine | None:
    """An error as the known failure that it is with the lines that it was folded into; None for one said twice."""
    if line.kind != ANY_ERROR:
        return line
    if line.number in known:
        return None
    parts = [_PREFIX.sub("", one).strip()[:1_000] for one in lines[line.number - 1 : line.number - 1 + _FOLDED]]
    for text in (" ".join(parts), "".join(parts)):
        for failure in FAILURES:
            if failure.words.strip() in text and (found := of_failure(failure, text)):
                return found._replace(number=line.number, worker=line.worker)
    return line
