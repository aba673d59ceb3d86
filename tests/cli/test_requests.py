"""`--requests 32 --prompt 8k --output 1k`, as a process."""

import json

import pytest

import kvinspect
from kvinspect.planning.request_load import RequestShape

MODEL = "examples/models/qwen3-8b"
MEMORY = ("--available-kv-cache-memory", "12.57GiB", "--engine", "0.27")


def asked(run, *words):
    done = run("plan", MODEL, *MEMORY, *words, "-f", "json")
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)["requests"]


def test_requests_of_full_attention_take_their_blocks(run):
    code, found = asked(run, "--requests", "8", "--prompt", "8k", "--output", "1k")
    assert code == 0
    assert found["verdict"] == "fits"
    assert (found["blocks"], found["blocks_per_request"], found["blocks_needed"]) == (5719, 563, 4504)
    assert found["at_once"] == {"low": 10, "estimate": 10, "high": 10}
    assert found["share"] == 4504 / 5719


def test_a_shared_prefix_counts_once(run):
    _, found = asked(run, "--requests", "8", "--prompt", "8k", "--output", "1k", "--shared-prefix", "2k")
    assert (found["shared_blocks"], found["blocks_needed"]) == (125, 125 + 8 * (563 - 125))
    off = asked(run, "--requests", "8", "--prompt", "8k", "--shared-prefix", "2k", "--no-enable-prefix-caching")[1]
    assert off["shared_blocks"] == 0


def test_what_limits_them(run):
    words = ("--requests", "20", "--prompt", "2k", "--output", "1k")
    assert asked(run, *words, "--max-num-seqs", "16")[1]["limited_by"] == "max_num_seqs"
    code, found = asked(run, "--requests", "1", "--prompt", "200k")
    assert (code, found["verdict"], found["limited_by"]) == (1, "does not fit", "max_model_len")
    assert asked(run, "--requests", "11", "--prompt", "8k", "--output", "1k")[0] == 1


def test_a_window_costs_a_request_no_more_when_it_is_longer(run):
    def blocks(length):
        words = (
            "plan",
            "google/gemma-3-27b-it",
            "--gpu",
            "2xH100",
            "--requests",
            "4",
            "--prompt",
            length,
            "-f",
            "json",
        )
        return json.loads(run(*words).stdout)["requests"]["blocks_per_request"]

    assert blocks("64k") - blocks("48k") < blocks("48k") - blocks("32k") + 2
    assert blocks("64k") < 2 * blocks("32k")


def test_the_answer_is_the_first_line(run):
    done = run("plan", MODEL, *MEMORY, "--requests", "8", "--prompt", "8k", "--output", "1k")
    assert done.stdout.splitlines()[0].startswith(
        "✓ Fits: 8 requests of 8,000 + 1,000 tokens; 10 can run concurrently;"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("--requests", "8"),
        ("--prompt", "8k"),
        ("--requests", "x", "--prompt", "8k"),
        ("--requests", "0", "--prompt", "8k"),
        ("--requests", "8", "--prompt", "1.5K"),
        ("--requests", "8", "--prompt", "9" * 30),
        ("--requests", "8", "--prompt", "1k", "--shared-prefix", "2k"),
        ("--requests", "8", "--prompt", "1k", "--sweep", "max_model_len=8k..16k"),
    ],
)
def test_what_is_no_shape_is_one_clear_error(run, words):
    done = run("plan", MODEL, *MEMORY, *words)
    assert done.returncode == 2
    assert "Error: " in done.stderr


def test_output_is_still_a_file(run, tmp_path):
    assert run("plan", MODEL, *MEMORY, "--output", tmp_path / "a.json").returncode == 0
    assert (tmp_path / "a.json").exists()


def test_from_python():
    shape = RequestShape(8, 8000, 1000)
    found = kvinspect.plan_model(f"{MODEL}/config.json", 13_496_934_727, engine="0.27", requests=shape)
    assert found.load.verdict == "fits"
    with pytest.raises(ValueError, match="number"):
        kvinspect.plan_model(f"{MODEL}/config.json", 1 << 33, requests=RequestShape(0, 1, 1))
