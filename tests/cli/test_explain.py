"""`kvinspect explain`: what a log of a failed start ends with, and the changes that are planned for it."""

import json

import pytest

from conftest import ROOT

CASES = "tests/cases/failed_starts"
ERRORS = "tests/cases/start_up_errors"


@pytest.mark.parametrize(
    ("name", "failures", "code"),
    [
        ("too-few-state-blocks", ["state-blocks"], 1),
        ("no-backend", ["no-backend"], 1),
        ("manager-off-too-small", ["too-small"], 1),
        ("not-one-type", ["not-one-type"], 1),
        ("too-small", ["too-small"], 1),
        ("no-memory", ["no-memory"], 1),
        ("graphs-narrowed", [], 1),
        ("all-of-them", ["pages-not-equal", "no-common-block", "state-blocks", "free-memory", "remote-block"], 1),
    ],
)
def test_reported_logs_are_explained(run, name, failures, code):
    done = run("explain", f"{ERRORS}/{name}.log", "-f", "json")
    found = json.loads(done.stdout)
    assert ([one["name"] for one in found["failures"]], done.returncode) == (failures, code)


def test_too_many_sequences_are_planned_again_and_the_log_s_number_starts(run):
    done = run("explain", f"{CASES}/state-blocks.log", "-f", "json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["planned_again"]["result"]) == (1, "does not start")
    assert [(one["flags"], one["result"]) for one in found["tried"]] == [("--max-num-seqs 334", "starts")]
    assert "--max-num-seqs 1024" in found["command"]


def test_a_length_that_fits_is_found_and_the_line_to_start_it_has_it_once(run):
    done = run("explain", f"{CASES}/too-small.log")
    assert done.returncode == 1
    assert done.stdout.startswith("✗ Did not start: one request of the greatest length needs 5.62 GiB")
    line = next(line for line in done.stdout.splitlines() if line.startswith("Start it: "))
    planned = run("plan", *line.split()[4:], "--available-kv-cache-memory", "4.245GiB")
    assert planned.returncode == 0, planned.stdout


def test_the_call_names_a_model_that_the_log_does_not(run, tmp_path):
    log = tmp_path / "start.log"
    text = (ROOT / CASES / "too-small.log").read_text().replace("Qwen/Qwen3-8B", "/models/mine")
    log.write_text(text)
    without = json.loads(run("explain", str(log), "-f", "json").stdout)
    assert (without["planned_again"], "/models/mine" in without["not_planned"]) == (None, True)
    done = run("explain", str(log), "examples/models/qwen3-8b", "-f", "json")
    assert json.loads(done.stdout)["planned_again"]["result"] == "does not start"


def test_the_log_s_memory_is_not_that_of_more_gpus(run, tmp_path):
    log = tmp_path / "start.log"
    text = (ROOT / CASES / "too-small.log").read_text()
    log.write_text(text.replace("Based on", "No available memory for the cache blocks. Based on"))
    found = json.loads(run("explain", str(log), "-f", "json").stdout)
    results = {one["flags"]: one["result"] for one in found["tried"]}
    assert results["--gpu-memory-utilization 0.95"] == "not planned"
    assert results["--kv-cache-dtype fp8"] == "starts"


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("GPU KV cache size: 214,135 tokens\nApplication startup complete.\n", 0, "✓ Started: 214,135 tokens"),
        ("hello\n", 2, "? Unknown: no line"),
        ("ValueError: nobody has thought of this\n", 2, "? Unknown: the log has errors"),
        ("ValueError: No available memory for the cache blocks.\n", 1, "✗ Did not start: weights and activations"),
    ],
)
def test_standard_input_is_read(run, text, code, says):
    done = run("explain", "-", stdin=text)
    assert done.returncode == code
    assert done.stdout.startswith(says)


def test_no_file_that_a_log_names_is_read(run, tmp_path):
    log = tmp_path / "start.log"
    for model in (f"{ROOT}/examples/models/qwen3-8b", "~/qwen", "../qwen", "--config=/etc/passwd"):
        log.write_text((ROOT / CASES / "too-small.log").read_text().replace("Qwen/Qwen3-8B", model))
        assert json.loads(run("explain", str(log), "-f", "json").stdout)["planned_again"] is None


def test_a_log_that_is_not_there(run):
    done = run("explain", "no-such.log")
    assert done.returncode == 2
    assert "no-such.log: cannot be read" in done.stderr
