"""`kvinspect fit`: the smallest number of each GPU, as a process and from Python."""

import json
import shlex

import pytest

import kvinspect
from kvinspect.bundled.lookup import bundled
from kvinspect.commands.launch import launch_of_text
from kvinspect.commands.serve_line import serve_line
from kvinspect.hardware.gpu import Gpu
from kvinspect.hardware.gpus import Gpus
from kvinspect.question.fit import ALIKE, MOST_PLANS, USUAL, Wanted, smallest

SHAPE = ("--requests", "32", "--prompt", "8k", "--output", "1k")
CALLS = [
    ("Qwen/Qwen3-32B", "--gpu", "L4,L40S,H100,H200"),
    ("Qwen/Qwen3-32B", *SHAPE, "--gpu", "RTX 5090,H100"),
    ("Qwen/Qwen3-8B", *SHAPE, "-dp", "2", "--gpu", "L4,H100"),
    ("Qwen/Qwen3-8B", "--requests", "600", "--prompt", "1k", "--gpu", "L4,A100"),
    ("google/gemma-3-27b-it", "--max-model-len", "64k", "--gpu", "L40S"),
    ("microsoft/phi-4", "--requests", "40", "--prompt", "4k", "--gpu", "A10"),
]


def asked(run, *words):
    done = run("fit", *words, "-f", "json")
    return done.returncode, json.loads(done.stdout)


def planned(run, command, number, gpu, words):
    """The plan of a `vllm serve` line on GPUs, with what the call asked about requests."""
    shape = words[words.index("--requests") : words.index("--gpu")] if "--requests" in words else ()
    shape = [one for one in shape if one not in ("-dp", "2")]
    return run("plan", command, "--gpu", f"{number}x{gpu}", *shape)


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_each_command_fits_when_it_is_planned(run, words):
    code, found = asked(run, *words)
    assert code == 0
    assert {one["gpu"] for one in found["deployments"]} >= {found["deployments"][0]["gpu"]}
    for one in found["deployments"]:
        done = planned(run, one["command"], one["number"], one["gpu"], words)
        assert done.stdout.startswith("✓ Fits" if one["verdict"] == "fits" else "≈ Tight"), done.stdout + done.stderr


def test_fewer_do_not_fit():
    config = bundled("Qwen/Qwen3-32B").config
    shape = kvinspect.RequestShape(32, 8000, 1000)
    found = kvinspect.fit(config, gpus=["L40S", "H100"], requests=shape)
    numbers = {one.gpu: one.number for one in found.deployments if one.verdict == "fits"}
    assert numbers == {"H100": 2, "L40S": 4}
    fewer = kvinspect.fit(config, gpus=[f"{number - 1}x{gpu}" for gpu, number in numbers.items()], requests=shape)
    assert not fewer.clean
    assert [one.verdict for one in fewer.deployments if one.verdict == "fits"] == []


def test_the_best_is_first(run):
    _, found = asked(run, "Qwen/Qwen3-32B")
    assert {one["gpu"] for one in found["deployments"]} == set(USUAL)
    ranks = [(one["verdict"] != "fits", one["number"], one["gpu_memory"]) for one in found["deployments"]]
    assert ranks == sorted(ranks)


def test_the_table_answers_first_and_ends_with_the_line_to_copy(run):
    lines = run("fit", "Qwen/Qwen3-32B", *SHAPE, "--gpu", "H100").stdout.splitlines()
    assert lines[0] == "✓ Fits on 2×H100: 32 requests of 8,000 + 1,000 tokens (estimated)"
    assert lines[-1] == "vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2 --max-model-len 9000"
    narrow = run("fit", "Qwen/Qwen3-32B", *SHAPE, "--gpu", "H100", env={"COLUMNS": "50"}).stdout.splitlines()
    assert narrow[-1] == lines[-1]
    shown = run("fit", "Qwen/Qwen3-32B", *SHAPE, "--gpu", "H100", "-f", "markdown").stdout
    assert f"```text\n{lines[-1]}\n```" in shown


def test_none_of_the_gpus(run):
    code, found = asked(run, "deepseek-ai/DeepSeek-V3", "--gpu", "8xL4,2xH100")
    assert code == 1
    assert [(one["number"], one["verdict"]) for one in found["deployments"]] == [
        (2, "does not fit"),
        (8, "does not fit"),
    ]
    assert all(one["why"] for one in found["deployments"])
    shown = run("fit", "deepseek-ai/DeepSeek-V3", "--gpu", "8xL4,2xH100").stdout
    assert shown.startswith("✗ Does not fit on any of these GPUs")
    assert "vllm serve" not in shown
    assert "ValueError" not in shown


def test_a_pasted_command_keeps_what_it_says(run):
    text = "CUDA_VISIBLE_DEVICES=0 VLLM_USE_V2_MODEL_RUNNER=0 vllm serve Qwen/Qwen3-8B --port $PORT -q fp8 --max-num-seqs 8 | tee log"
    code, found = asked(run, text, "--gpu", "L4")
    line = found["deployments"][0]["command"]
    assert code == 0
    assert '--port "$PORT" -q fp8 --max-num-seqs 8' in line
    assert launch_of_text(line).words[:2] == ("Qwen/Qwen3-8B", "--port")
    module = asked(run, "python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B", "--gpu", "L4")[1]
    assert module["deployments"][0]["command"].startswith("vllm serve Qwen/Qwen3-8B")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("Qwen/Qwen3-8B", "--gpu", "H10000"), "unknown GPU"),
        (("Qwen/Qwen3-8B", "--gpu", ","), "name a GPU or several"),
        (("Qwen/Qwen3-8B", "--kv-cache-memory-bytes", "1G"), "kv_cache_memory_bytes says how large"),
        (("Qwen/Qwen3-8B", "--num-gpu-blocks-override", "9"), "num_gpu_blocks_override says how large"),
        (("Qwen/Qwen3-8B", "--requests", "3"), "requests have a number and a length"),
        (("configs/llama-3.1-8b.yaml",), "document"),
        ((), "which model?"),
    ],
)
def test_what_cannot_be_asked_ends_with_2(run, words, said):
    done = run("fit", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("Qwen/Qwen3-8B", "-tp", "3"), "32 attention heads cannot be divided"),
        (("Qwen/Qwen3-32B", "--max-model-len", "128k"), '--hf-overrides \'{"rope_parameters"'),
    ],
)
def test_what_the_engine_refuses_on_any_gpu_ends_with_1(run, words, said):
    done = run("fit", *words)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stdout == ""


def test_a_size_that_a_call_says_stays(run):
    _, found = asked(run, "Qwen/Qwen3-32B", "-tp", "2", "--gpu", "L4")
    assert found["deployments"][0]["engine_args"] == {"pipeline_parallel_size": 2}
    _, found = asked(run, "Qwen/Qwen3-32B", "-tp", "2", "-pp", "1", "--gpu", "L4,H100")
    assert [one["number"] for one in found["deployments"]] == [2, 2]
    assert [one["verdict"] for one in found["deployments"]] == ["fits", "does not fit"]


def test_no_more_plans_than_the_limit_and_none_after_the_same_error_again():
    asked_for = []

    def plan(gpu, arguments):
        asked_for.append(arguments)
        raise ValueError("always" if same else f"{len(asked_for)} times")

    gpus = [Gpus(1, Gpu("X", 1 << 30, "cuda", "9.0", ""))]
    for same, most in ((True, ALIKE + 1), (False, MOST_PLANS + 2)):
        asked_for.clear()
        with pytest.raises(ValueError, match="always" if same else "1 times"):
            smallest(Wanted(plan, {}), gpus)
        assert len(asked_for) <= most


@pytest.mark.parametrize(
    "word", ["a b", "it's", "\x1a$KEY", 'x\x1a${KEY}"y`', "\x1a$(rm -rf /)", "\x1a`id`", "", "$HOME", "'\n'"]
)
def test_a_word_is_quoted_for_a_shell(word):
    line = serve_line([word])
    if "\x1a" not in word:
        assert shlex.split(line) == ["vllm", "serve", word]
    assert "$(" not in line
    assert "rm -rf" not in line
    assert launch_of_text(line + " m").words[-1] == "m"
