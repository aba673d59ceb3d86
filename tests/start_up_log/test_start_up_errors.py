"""Start-up logs of engines that do not start: the reason is told, and the call ends with 1."""

import pytest

from conftest import ROOT
from kvinspect.api.plan_log import LogAnswer
from kvinspect.document.limits import MAX_LOG_ERRORS
from kvinspect.start_up_log.reader import read_start_up_log

LOGS = ROOT / "tests/cases/start_up_errors"
BEGIN = "Initializing a V1 LLM engine (v0.30.0)\n"
SIZE = "GPU KV cache size: 214,135 tokens\n"
ERROR = "ERROR 08-02 11:20:11 [core.py:1108] ValueError: nobody has thought of this\n"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("too-few-state-blocks", "lower --max-num-seqs to 614"),
        ("no-backend", "no attention backend of cuda supports the layers"),
        ("manager-off-too-small", "needs 38.87 GiB, and there are 19.21"),
        ("not-one-type", "the layers do not become one type"),
        ("too-small", "needs 4.26 GiB, and there are 4.25"),
        ("no-memory", "leave nothing for the cache"),
        ("all-of-them", "pages of its layers cannot be made equal"),
        ("all-of-them", "no block size in common"),
        ("all-of-them", "28.9 GiB of the device (0.92 of its memory) are requested, and 20.1 GiB are free"),
        ("all-of-them", "blocks of 16 tokens with blocks of 32"),
    ],
)
def test_an_error_is_explained(name, why):
    log = read_start_up_log((LOGS / f"{name}.log").read_text())
    assert any("does not start" in line.meaning and why in line.meaning for line in log.lines)
    assert (log.starts, LogAnswer(log).clean) == (False, False)


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        (BEGIN + ERROR, False),
        (ERROR, False),
        (BEGIN + ERROR + SIZE, True),  # an error that was survived
        (BEGIN + SIZE + ERROR, False),  # after the cache, before the server
        (BEGIN + SIZE + "INFO: Application startup complete.\n" + ERROR, True),
        (BEGIN + ERROR + BEGIN + SIZE, True),
        (BEGIN + SIZE + "Application startup complete.\n" + BEGIN + ERROR, False),
        ((LOGS / "graphs-narrowed.log").read_text(), None),
    ],
)
def test_an_error_of_any_kind_stops_the_start_and_no_running_server(text, starts):
    log = read_start_up_log(text)
    assert (log.starts, LogAnswer(log).clean) == (starts, starts is not False)


def test_a_line_that_is_explained_is_not_repeated_as_an_error():
    log = read_start_up_log((LOGS / "too-few-state-blocks.log").read_text())
    assert [line.kind for line in log.lines] == ["stopped"]


def test_a_log_full_of_errors_is_read():
    log = read_start_up_log(BEGIN + ERROR * 20_000)
    assert len(log.of("error")) == MAX_LOG_ERRORS
