"""Logs that no engine wrote: one message each, in time and memory by their length."""

import os
import re
import tracemalloc

import pytest

from kvinspect.api.plan_log import read_log
from kvinspect.document.limits import MAX_LOG_BYTES, MAX_LOG_LINE, MAX_LOG_LINES
from kvinspect.document.problem import DocumentError
from kvinspect.start_up_log.messages import MESSAGES
from kvinspect.start_up_log.reader import read_start_up_log

SIZE = "GPU KV cache size: 1,024 tokens"


def error_of(name):
    with pytest.raises(DocumentError) as raised:
        read_log(str(name))
    (problem,) = raised.value.errors
    return problem


def sparse(folder):
    with open(folder / "sparse.log", "wb") as file:
        file.truncate(1 << 30)
    return folder / "sparse.log"


def fifo(folder):
    os.mkfifo(folder / "fifo.log")
    return folder / "fifo.log"


def folder_of(folder):
    return folder


def written(data):
    def write(folder):
        (folder / "some.log").write_bytes(data)
        return folder / "some.log"

    return write


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (sparse, "limit", f"expected at most {MAX_LOG_BYTES} bytes of a start-up log, found more"),
        (lambda _: "/dev/zero", "limit", f"expected at most {MAX_LOG_BYTES} bytes of a start-up log, found more"),
        (folder_of, "unreadable", "cannot be read: Is a directory"),
        (lambda folder: folder / "none", "unreadable", "cannot be read: No such file or directory"),
        (lambda folder: folder / "\0", "unreadable", "cannot be read: embedded null byte"),
        (fifo, "invalid", "found no line about the KV cache"),
        (lambda _: "/dev/null", "invalid", "found no line about the KV cache"),
        (written(b"\xff\xfe\x00" * 1000), "invalid", "found no line about the KV cache"),
        (written(f"{SIZE}\n".encode() * (MAX_LOG_LINES + 1)), "limit", f"at most {MAX_LOG_LINES} lines with words"),
        (written(b" backend\n" * (MAX_LOG_LINES + 1)), "limit", f"at most {MAX_LOG_LINES} lines with words"),
    ],
)
def test_what_is_no_log(make, kind, text, tmp_path):
    problem = error_of(make(tmp_path))
    assert (problem.kind, text in problem.text) == (kind, True), problem


def test_a_name_that_no_encoding_can_read(tmp_path):
    problem = error_of(os.fsdecode(bytes(tmp_path / "log") + b"\xff"))
    assert problem.source.endswith("log\\xff")


def test_a_byte_that_is_no_text_spoils_its_line_alone(tmp_path):
    log = read_log(str(written(b"\xff\r\n\xff " + SIZE.encode() + b"\rx")(tmp_path)))
    assert [(line.number, line.text) for line in log.lines] == [(2, SIZE)]


def test_the_beginning_of_a_line_counts():
    there = MAX_LOG_LINE - len(SIZE)
    assert read_start_up_log("x" * (there - 1) + " " + SIZE).num_tokens == 1024
    assert not read_start_up_log("x" * there + " " + SIZE).lines


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kind)
def test_a_pattern_takes_time_by_the_length_of_a_line(message):
    """No part of it repeats without end, so that each place of a line is left after so many steps."""
    without_sets = re.sub(r"\\.|\[[^\]]*\]", "x", message.pattern.pattern)
    assert not re.search(r"(?<!\})[*+]", without_sets), message.pattern.pattern
    assert not re.search(r"\{[0-9]*,\}", without_sets)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.kind)
def test_a_line_has_the_words_that_it_is_found_by(message):
    plain = re.sub(r"\\([^\w])", r"\1", message.pattern.pattern)
    assert message.words in plain or message.words.strip() in plain
    assert len(message.words) >= 8 or message.kind == "error", "of errors only the first thousand are looked at"


@pytest.mark.parametrize(
    "unit",
    [
        "A is not supported with B (support: C ",
        "Using ",
        " backend\n",
        "\x1b[0",
        "KV cache size: ",
        "(Worker",
        "\u20ac\n",
    ],
)
def test_memory_is_by_the_bytes_of_the_log(unit):
    text = (unit * (60_000 // len(unit) + 1))[:60_000]
    tracemalloc.start()
    read_start_up_log(text)
    assert tracemalloc.get_traced_memory()[1] < 10 * len(text)
    tracemalloc.stop()


def test_a_line_of_every_word_again_and_again():
    line = "".join(message.words for message in MESSAGES)
    assert not read_start_up_log((line * 10)[:MAX_LOG_LINE]).of("size")
