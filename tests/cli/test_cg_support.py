"""The command `cg-support` as a process."""

import json

import pytest

LLAMA = "configs/llama-3.1-8b-eagle3.yaml"
HYBRID = "configs/qwen3-next-80b-a3b-256-seqs.yaml"


def test_the_mode_comes_first_then_the_limiting_backend_the_reason_and_the_way_back(run):
    done = run("cg-support", LLAMA)
    assert done.returncode == 0
    assert done.stdout.startswith("↓ PIECEWISE (requested: FULL_AND_PIECEWISE)\n")
    text = " ".join(done.stdout.split())
    assert "UNIFORM_SINGLE_TOKEN_DECODE ← limits │" in text
    assert text.count("← limits") == 1
    assert "Why PIECEWISE: with speculative decoding a decode step has 4 tokens per request" in text
    assert "To get FULL_AND_PIECEWISE, one of these (re-evaluated):" in text
    assert "drop --speculative-config" in text
    assert done.stderr == ""


def test_alike_groups_are_one_row_unless_all_layers_are_asked_for(run):
    text = run("cg-support", "configs/gemma-3-27b.yaml").stdout
    assert text.startswith("✓ FULL_AND_PIECEWISE, as requested\n")
    assert "│ 0–6 " in text
    assert "62 layers in 7 groups" in text
    every = run("cg-support", "configs/gemma-3-27b.yaml", "--all-layers").stdout
    assert "│ 6     │" in every
    assert every.count("language_model.model.layers.") == 62


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("arguments", [[LLAMA], [], ["--matrix"]])
def test_nothing_is_wider_than_the_terminal(run, width, arguments):
    lines = run("cg-support", *arguments, env={"COLUMNS": str(width)}).stdout.splitlines()
    assert max(map(len, lines)) <= width


def test_json_is_the_answer_of_the_settled_format(run):
    answer = json.loads(run("cg-support", LLAMA, "--format", "json").stdout)
    assert answer["schema_version"] == 1
    assert {"kv_cache_group_id", "backend", "support", "narrowed", "why"} <= answer["groups"][0].keys()
    assert (answer["min_cg_support"], answer["min_cg_attn_backend"]) == (
        "UNIFORM_SINGLE_TOKEN_DECODE",
        "FlashInferBackend",
    )
    assert (answer["requested_mode"], answer["resolved_mode"]) == ("FULL_AND_PIECEWISE", "PIECEWISE")
    assert answer["steps"][0].keys() == {"from", "to", "why"}


def test_exit_codes(run):
    assert run("cg-support", LLAMA, "--quiet").returncode == 0
    assert run("cg-support", LLAMA, "--quiet", "--strict").returncode == 1
    assert run("cg-support", HYBRID, "--quiet").returncode == 1
    assert run("cg-support", LLAMA, "--engine", "0.1").returncode == 2
    assert run("cg-support", "--backend", "NONE").returncode == 2
    assert run("cg-support", "--platform", "vax").returncode == 2
    assert run("cg-support", "docs/").returncode == 2


@pytest.mark.parametrize(
    ("device", "platform", "capability"),
    [
        (["--gpu", "H100"], "cuda", "9.0"),
        (["--gpu", "2xMI300X"], "rocm", "9.4"),
        (["--device-capability", "12.0"], "cuda", "12.0"),
        (["--platform", "rocm"], "rocm", "9.4"),
    ],
)
def test_a_model_is_asked_about_under_a_device(run, device, platform, capability):
    answer = json.loads(run("cg-support", "Qwen/Qwen3-8B", *device, "--format", "json").stdout)
    assert (answer["platform"], answer["device_capability"]) == (platform, capability)


@pytest.mark.parametrize(
    "words",
    [["--gpu", "H100"], [LLAMA, "--gpu", "H100"], [LLAMA, "--platform", "rocm"], [LLAMA, "--matrix", "--gpu", "H100"]],
)
def test_a_device_is_refused_where_no_model_is_named(run, words):
    assert run("cg-support", *words).returncode == 2


def test_without_a_file_the_backends_are_told(run):
    text = run("cg-support", "--engine", "0.28").stdout
    assert "FLASHINFER_MLA_SPARSE_SM120" in text
    assert "decode context parallel size above 1" in text
    one = run("cg-support", "--engine", "0.28", "--backend", "TritonAttentionBackend", "--format", "json")
    assert [row["backend"] for row in json.loads(one.stdout)["backends"]] == ["TRITON_ATTN"]


def test_the_matrix_of_a_file_is_under_its_settings(run):
    plain = json.loads(run("cg-support", "--matrix", "--format", "json").stdout)
    spec = json.loads(run("cg-support", LLAMA, "--matrix", "--format", "json").stdout)
    assert (plain["under"]["query_len"], spec["under"]["query_len"]) == (1, 4)
    assert len(spec["matrix"]) == 20


@pytest.mark.parametrize("how", ["table", "markdown", "json", "yaml"])
def test_foreign_names_cannot_break_out(run, how, whisper):
    evil = "a\x1b[31m|`*<b>\n::error::x"
    whisper["kv_cache_config"]["kv_cache_groups"][0]["layer_names"] = [evil]
    text = run("cg-support", "-", "--format", how, stdin=json.dumps(whisper)).stdout
    assert "\x1b" not in text
    assert "<b>" not in text or how != "markdown"
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())


MODEL = "examples/models/qwen3-8b"


@pytest.mark.parametrize("words", [[MODEL], [f"{MODEL}/config.json"], ["Qwen/Qwen3-8B"], [MODEL, "-tp", "2"]])
def test_a_model_is_asked_about_directly(run, words):
    done = run("cg-support", *words, "--format", "json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["resolved_mode"]) == (0, "FULL_AND_PIECEWISE")
    assert answer["groups"][0]["backend"] == "FLASH_ATTN"


def test_flags_of_a_model_count(run):
    done = run("cg-support", MODEL, "--max-num-seqs", "7", "-cc.cudagraph_mode=FULL", "--format", "json")
    answer = json.loads(done.stdout)
    assert answer["requested_mode"] == answer["resolved_mode"] == "FULL"
    assert done.returncode == 0


def test_a_model_answers_as_the_document_of_its_plan(run, tmp_path):
    memory = ("--kv-cache-memory-bytes", "8GiB")
    assert run("plan", MODEL, *memory, "-o", tmp_path / "doc.yaml").returncode == 0
    ours, its = (
        json.loads(run("cg-support", *words, "-f", "json").stdout)
        for words in ((MODEL, *memory), (tmp_path / "doc.yaml",))
    )
    assert [ours[key] for key in ("groups", "steps", "capture_sizes", "num_blocks")] == [
        its[key] for key in ("groups", "steps", "capture_sizes", "num_blocks")
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["configs/llama-3.1-8b.yaml", "--max-num-seqs", "7"], "says by itself"),
        ([MODEL, "--max-num-sqs", "7"], "did you mean"),
        (["nosuch"], "there is no file or folder"),
        ([MODEL, "--matrix"], "--matrix"),
    ],
)
def test_what_is_wrong_with_a_model_is_said(run, words, said):
    done = run("cg-support", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_what_the_engine_refuses_of_a_model_ends_with_1(run):
    done = run("cg-support", MODEL, "--tensor-parallel-size", "3")
    assert (done.returncode, done.stdout) == (1, "")
    assert "3" in done.stderr
