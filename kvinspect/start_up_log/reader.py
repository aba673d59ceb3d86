"""A start-up log of vLLM as the numbers in it, each with its line; for the releases from 0.19 on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import chain, islice
from typing import Any, NamedTuple

from kvinspect.document.frozen import Frozen
from kvinspect.document.limits import MAX_LOG_ERRORS, MAX_LOG_LINE, MAX_LOG_LINES
from kvinspect.document.problem import DocumentError, Problem
from kvinspect.start_up_log.errors import ANY_ERROR, FAILURES, STOPPED, Failure
from kvinspect.start_up_log.messages import COUNTS, DECIMALS, MESSAGES, Message

Value = int | Decimal | str
_BY_FAILURE = dict(zip(FAILURES, MESSAGES[-len(FAILURES) - 1 : -1], strict=True))
"""The form of each known failure: they stand before the one of any error."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_WORKER = re.compile(r"\((?P<worker>[A-Za-z]\w{0,60})(?: pid=\d{1,10})?\)")
STARTS, STOPS = ("size", "concurrency"), ("too_small", "no_memory", STOPPED, ANY_ERROR)
"""Kinds of lines: those of an engine that has its cache, and those of one that does not start; of the last kind some
are survived.
"""
HALF_A_DIGIT = Decimal("0.005")
"""What a number with two decimals is rounded by at most."""


class LogLine(NamedTuple):
    """A line that tells of the KV cache; `text` is what was recognised, `values` the numbers in it."""

    number: int
    kind: str
    text: str
    values: Mapping[str, Value]
    meaning: str
    worker: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The line as JSON; decimal numbers as they were printed."""
        values = {name: str(value) if isinstance(value, Decimal) else value for name, value in self.values.items()}
        row = {"line": self.number, "worker": self.worker or None, "kind": self.kind, "text": self.text}
        return {**row, "values": values, "meaning": self.meaning}


class StartUpLog(NamedTuple):
    """What a log tells. Where an engine was started more than once in it, the last start counts."""

    source: str
    lines: tuple[LogLine, ...] = ()

    def of(self, kind: str) -> tuple[LogLine, ...]:
        """The lines of a kind, in order."""
        return tuple(line for line in self.lines if line.kind == kind)

    def value(self, kind: str, name: str) -> Any:
        """A number of the last line of a kind, None where there is none."""
        lines = self.of(kind)
        return lines[-1].values.get(name) if lines else None

    @property
    def release(self) -> str | None:
        """The release as it calls itself."""
        found = self.value("release", "release")
        return None if found is None else str(found)

    @property
    def num_tokens(self) -> int | None:
        """The size of the cache in tokens, whichever of the two meanings it has."""
        return _whole(self.value("size", "tokens"))

    @property
    def max_model_len(self) -> int | None:
        """Tokens of the longest request."""
        return _whole(self.value("concurrency", "length") or self.value("too_small", "length"))

    @property
    def max_concurrency(self) -> Decimal | None:
        """Requests of that length that fit at a time, to two decimals."""
        found = self.value("concurrency", "times")
        return found if isinstance(found, Decimal) else None

    @property
    def num_blocks(self) -> int | None:
        """Blocks of the block manager, which only few logs tell."""
        return _whole(self.value("blocks", "blocks") or self.value("override", "to"))

    @property
    def attention_block_size(self) -> int | None:
        """Tokens of an attention layer's block, where it was enlarged for another layer's page."""
        return _whole(self.value("attention_block", "tokens"))

    @property
    def mamba_padding_percent(self) -> Decimal | None:
        """By how much a state was padded, to two decimals."""
        found = self.value("mamba_padding", "percent")
        return found if isinstance(found, Decimal) else None

    @property
    def padding_layers(self) -> int | None:
        """Places in groups that no layer takes."""
        return _whole(self.value("padding_layers", "layers"))

    @property
    def available_gib(self) -> dict[str, Decimal]:
        """Worker → GiB for its cache, to two decimals; the worker is empty where the log does not name it."""
        lines = (*self.of("available"), *self.of("reserved"), *self.of("reduced"))
        found = {line.worker: line.values["gib"] for line in lines}
        return {worker: gib for worker, gib in found.items() if isinstance(gib, Decimal)}

    @property
    def starts(self) -> bool | None:
        """Whether the engine got as far as its cache, None where the log does not tell."""
        begun = [index for index, line in enumerate(self.lines) if line.kind == "release"]
        told = [line.kind for line in self.lines[begun[-1] if begun else 0 :] if line.kind in (*STARTS, *STOPS)]
        stopped = told[-1:] and told[-1] in STOPS
        return not (stopped or (begun and any(kind in STOPS[:-1] for kind in told))) if told else None

    @property
    def cudagraph_mode(self) -> str | None:
        """The CUDA graph mode that came out last, where a line tells of a change."""
        changes = [line for line in self.lines if line.kind in ("graphs_narrowed", "graphs_overridden")]
        return str(changes[-1].values["mode"]) if changes else "NONE" if self.of("eager") else None

    @property
    def size_meaning(self) -> str | None:
        """What the size in tokens is; None where the log does not tell.

        `concurrency`: floor(concurrency × greatest length), as `get_kv_cache_capacity` has it (0.25 to 0.33).
        `blocks`: blocks // groups × block size, as `_report_kv_cache_config` of older releases has it. The numbers
        themselves tell which; for one group of layers they are the same.
        """
        tokens, times, length = self.num_tokens, self.max_concurrency, self.max_model_len
        if tokens is None or times is None or length is None:
            return None
        low, high = ((times - HALF_A_DIGIT) * length, (times + HALF_A_DIGIT) * length)
        return "concurrency" if int(low) <= tokens <= high else "blocks"

    @property
    def blocks_per_group(self) -> int | None:
        """Blocks by groups, where the size is counted so and the block size is known."""
        tokens, block = self.num_tokens, self.attention_block_size
        if self.size_meaning != "blocks" or tokens is None or not block or tokens % block:
            return None
        return tokens // block

    def to_dict(self) -> dict[str, Any]:
        """The log as JSON; decimal numbers as they were printed."""
        return {
            "source": self.source,
            "release": self.release,
            "num_tokens": self.num_tokens,
            "size_meaning": self.size_meaning,
            "blocks_per_group": self.blocks_per_group,
            "max_model_len": self.max_model_len,
            "max_concurrency": _printed(self.max_concurrency),
            "num_blocks": self.num_blocks,
            "attention_block_size": self.attention_block_size,
            "mamba_padding_percent": _printed(self.mamba_padding_percent),
            "padding_layers": self.padding_layers,
            "available_gib": {worker: str(gib) for worker, gib in self.available_gib.items()},
            "cudagraph_mode": self.cudagraph_mode,
            "lines": [line.to_dict() for line in self.lines],
        }


def read_start_up_log(text: str | Iterable[str], source: str = "the log") -> StartUpLog:
    """The lines of a log that tell of the KV cache; `text` is the whole, or its lines one by one.

    Colours, time stamps, prefixes of workers and of containers may be there or not. Of a line the first MAX_LOG_LINE
    characters are looked at. A log without any line that tells gives a value without lines. Raises DocumentError of
    kind `limit` for more than MAX_LOG_LINES that might tell.
    """
    whole = text if isinstance(text, str) else "\n".join(line.rstrip("\r\n") for line in text)
    found = _numbered(_COLOUR.sub("", whole.replace("\r\n", "\n").replace("\r", "\n")), source)
    log = StartUpLog(source, found)
    sentence = _size_sentence(log)
    return log._replace(lines=tuple(_with_size(sentence, line) for line in found))


def _numbered(text: str, source: str) -> tuple[LogLine, ...]:
    """What a text says, in the order of its lines, but for errors that do not tell of the start."""
    return tuple(_while_starting(_in_order(text, _at_most(_all_candidates(text), source))))


def lines_that_tell(text: str) -> list[LogLine]:
    """What a piece of a log says, in the order of its lines: at most MAX_LOG_LINES, every error among them."""
    return _in_order(text, islice(_all_candidates(text), MAX_LOG_LINES))


def _all_candidates(text: str) -> Iterator[Candidate]:
    return chain.from_iterable(
        islice(_candidates(text, message), MAX_LOG_ERRORS if message.kind == ANY_ERROR else None)
        for message in MESSAGES
    )


def _in_order(text: str, candidates: Iterable[Candidate]) -> list[LogLine]:
    """The lines that candidates turn out to be, numbered."""
    said = [(start, line) for message, start, plain in candidates if (line := _line(plain, message))]
    number, counted, lines = 1, 0, []
    for start, line in sorted(said, key=lambda one: one[0]):
        number += text.count("\n", counted, start)
        counted = start
        lines.append(line._replace(number=number))
    return lines


def _while_starting(lines: Iterable[LogLine]) -> Iterator[LogLine]:
    """The lines without errors that a running server prints, and without those that another line explains."""
    serving, explained = False, set[int]()
    for line in lines:
        serving = line.kind == "serving" or (serving and line.kind != "release")
        if line.kind != ANY_ERROR:
            explained.add(line.number)
            yield line
        elif not serving and line.number not in explained:
            yield line


Candidate = tuple[Message, int, str]
"""A message, where a line with its words starts, and the line."""


def _at_most(candidates: Iterable[Candidate], source: str) -> Iterator[Candidate]:
    for count, candidate in enumerate(candidates):
        if count == MAX_LOG_LINES:
            expected = f"at most {MAX_LOG_LINES} lines with words that tell of the KV cache"
            raise DocumentError([Problem((), expected=expected, found="more", kind="limit", source=source)])
        yield candidate


def _candidates(text: str, message: Message) -> Iterator[Candidate]:
    end = -1
    while (found := text.find(message.words, end + 1)) >= 0:
        start = text.rfind("\n", end + 1, found) + 1 or end + 1
        end = text.find("\n", found)
        end = len(text) if end < 0 else end
        yield message, start, text[start : min(end, start + MAX_LOG_LINE)]


def _line(plain: str, message: Message) -> LogLine | None:
    found = message.pattern.search(plain)
    if found is None:
        return None
    worker = _WORKER.search(plain)
    values = {name: _value(name, word) for name, word in found.groupdict().items() if word is not None}
    meaning = message.meaning.format_map({**found.groupdict(default="another"), **values})
    return LogLine(0, message.kind, found[0], Frozen(values), meaning, worker["worker"] if worker else "")


def of_failure(failure: Failure, text: str) -> LogLine | None:
    """The line of a known failure in a text, without its number; None where it is another one."""
    return _line(text, _BY_FAILURE[failure])


def _value(name: str, word: str) -> Value:
    if name in COUNTS:
        return int(word.replace(",", ""))
    return Decimal(word) if name in DECIMALS else word


def _with_size(sentence: str, line: LogLine) -> LogLine:
    """The line of the cache's size with its meaning, which the lines around it decide."""
    return line._replace(meaning=sentence.format_map(line.values)) if line.kind == "size" else line


def _size_sentence(log: StartUpLog) -> str:
    """What the size means, with a place for its tokens: found once, for a long log may have thousands of such lines."""
    if log.size_meaning == "concurrency":
        return (
            f"{{tokens:,}} = floor(concurrency × {log.max_model_len:,}): tokens in requests of the maximum length; "
            f"with windows or states, shorter requests fit more tokens."
        )
    if log.size_meaning == "blocks":
        each = f"{log.blocks_per_group:,} × {log.attention_block_size:,}" if log.blocks_per_group else "that"
        return (
            f"{{tokens:,}} = blocks // groups × block size ({each}): not what requests can use, because a request's "
            f"groups do not take equally many blocks; the concurrency says that."
        )
    return "{tokens:,} tokens; which of the two meanings it has, a line with the concurrency would tell."


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None


def _printed(value: Decimal | None) -> str | None:
    return None if value is None else str(value)
