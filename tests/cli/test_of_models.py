"""Commands about a cache, asked about a model with the flags of `vllm serve`."""

import json

import pytest

MODEL = "examples/models/qwen3-8b"
MEMORY = ("--kv-cache-memory-bytes", "8GiB")


@pytest.mark.parametrize(
    "memory",
    [
        MEMORY,
        ("--available-kv-cache-memory", "8GiB"),
        ("--gpu", "H100", "--weights", "16.4GB"),
        ("--gpu-memory", "80GiB", "--weights", "16.4GB"),
        ("--num-gpu-blocks-override", "4000"),
    ],
    ids=lambda memory: memory[0],
)
@pytest.mark.parametrize("model", [MODEL, f"{MODEL}/config.json", "Qwen/Qwen3-8B"])
def test_a_model_answers_as_the_document_of_its_plan(run, tmp_path, model, memory):
    words = (model, "-tp", "2", *memory)
    assert run("plan", *words, "-o", tmp_path / "doc.yaml").returncode == 0
    ours, its = (json.loads(run("align", *one, "-f", "json").stdout) for one in (words, [tmp_path / "doc.yaml"]))
    for key in ("num_blocks", "layers", "decision", "sound", "kv_cache_layout"):
        assert ours[key] == its[key]
    drawn, again = (run("map", *one) for one in (words, [tmp_path / "doc.yaml"]))
    assert drawn.returncode == again.returncode == 0
    assert drawn.stdout.splitlines()[2:] == again.stdout.splitlines()[2:]


def test_each_stage_of_a_pipeline_is_answered(run, tmp_path):
    done = run("align", MODEL, "-pp", "2", *MEMORY, "-f", "json")
    answers = json.loads(done.stdout)["answers"]
    assert [len(answer["layers"]) for answer in answers] == [18, 18]
    assert answers[1]["layers"][0]["layer_name"] == "model.layers.18.self_attn.attn"
    assert "worker 0 of 2" in run("map", MODEL, "-pp", "2", *MEMORY).stderr


def test_a_release_a_platform_and_the_number_of_blocks_count(run):
    words = (MODEL, "--engine", "0.27", "--platform", "rocm", "--num-blocks", "8")
    answer = json.loads(run("align", *words, "-f", "json").stdout)
    assert (answer["engine"], answer["platform"], answer["num_blocks"]) == ("0.27", "rocm", 8)


def test_models_and_documents_go_together(run):
    done = run("align", "configs/whisper-large-v3-rocm.yaml", MODEL, "--num-blocks", "8", "-f", "json")
    assert [answer["num_blocks"] for answer in json.loads(done.stdout)["answers"]] == [8, 8]
    assert done.returncode == 0


@pytest.mark.parametrize("command", ["align", "map"])
def test_a_cache_that_the_engine_refuses_ends_with_1(run, command):
    done = run(command, MODEL, "--available-kv-cache-memory", "1GiB")
    assert done.returncode == 1
    assert "one request of 40,960 tokens needs" in done.stdout + done.stderr


@pytest.mark.parametrize("command", ["align", "map"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([MODEL], "how much memory is there for the cache?"),
        ([f"{MODEL}/config.json"], "how much memory is there for the cache?"),
        ([MODEL, "--tensor-parallel-sizes", "2", *MEMORY], "did you mean"),
        ([MODEL, "--gpu", "H1000"], "H1000"),
        (["nosuch", *MEMORY], "there is no file or folder"),
        (["configs/llama-3.1-8b.yaml", *MEMORY], "says by itself"),
        (["configs/llama-3.1-8b.yaml", "--gpu", "H100"], "says by itself"),
    ],
)
def test_what_is_wrong_with_a_model_is_said(run, command, words, said):
    done = run(command, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


@pytest.mark.parametrize("command", ["align", "map"])
def test_what_the_engine_refuses_of_a_model_ends_with_1(run, command):
    done = run(command, MODEL, "-tp", "3", *MEMORY)
    assert (done.returncode, done.stdout) == (1, "")
    assert "tensor_parallel_size" in done.stderr
