"""`kvinspect plan` as a process."""

import html
import json
import pathlib

import pytest
import yaml

import kvinspect

MODEL = "examples/models/qwen3-8b"
MEMORY = ("--available-kv-cache-memory", "12.57GiB", "--engine", "0.27")
DOCUMENT = """\
engine: "0.27"
kv_cache_specs:
  "l.{0..3}": {kind: full_attention, block_size: 16, num_kv_heads: 8, head_size: 128, dtype: bfloat16, backend: FLASH_ATTN}
available_memory: [1073741824]
model_config: {max_model_len: 4096}
"""


def test_a_model_in_every_format(run):
    shown = run("plan", MODEL, *MEMORY, "--explain")
    assert (shown.returncode, shown.stderr) == (0, "")
    for words in (
        "5,720 blocks",
        "Qwen3ForCausalLM",
        "GPU KV cache size: 91,520 tokens",
        "FLASH_ATTN: highest-priority backend",
    ):
        assert words in shown.stdout
    assert "GPU KV cache size" not in run("plan", MODEL, *MEMORY).stdout
    found = json.loads(run("plan", MODEL, *MEMORY, "-f", "json").stdout)
    assert (found["num_blocks"], found["num_tokens"], found["max_concurrency"]) == (5720, 91520, 2.234375)
    assert yaml.safe_load(run("plan", MODEL, *MEMORY, "-f", "yaml").stdout) == found
    assert run("plan", MODEL, *MEMORY, "-f", "markdown").stdout.startswith("#")


def test_flags_win_over_the_file(run, tmp_path):
    serve = tmp_path / "serve.yaml"
    serve.write_text("tensor-parallel-size: 4\nmax-model-len: 4096\nkv-cache-memory-bytes: 20G\n")
    found = json.loads(run("plan", MODEL, "--config", serve, "-tp", "2", "--engine", "0.27", "-f", "json").stdout)
    assert found["max_model_len"] == 4096
    assert found["groups"][0]["kv_cache_spec"]["num_kv_heads"] == 4
    assert found["memory"].items() >= {"size": 20 << 30, "how": "given", "exact": True, "gpu": None}.items()


@pytest.mark.parametrize(
    "words",
    [
        ("-cc.cudagraph_mode=FULL",),
        ("-cc.cudagraph_mode", "FULL"),
        ("-cc.mode=3",),
        ("-ac.flash_attn_version=3",),
        ("-dph",),
        ("-O3",),
        ("-O", "3"),
    ],
)
def test_flags_with_one_dash_are_flags_of_vllm(run, words):
    done = run("plan", MODEL, *MEMORY, *words, "-fjson")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["num_blocks"] == 5720


def test_keys_of_a_short_flag_reach_the_document(run, tmp_path):
    made = tmp_path / "plan.yaml"
    assert run("plan", MODEL, *MEMORY, "-cc.cudagraph_mode=FULL", "-o", made).returncode == 0
    assert yaml.safe_load(made.read_text())["compilation_config"] == {"cudagraph_mode": "FULL"}


def test_a_serve_file_names_its_model(run, root, tmp_path):
    serve = tmp_path / "serve.yaml"
    serve.write_text(f"model: {root / MODEL}\nkv-cache-memory-bytes: 20G\n")
    assert "Qwen3ForCausalLM" in run("plan", serve).stdout
    assert run("plan", "vllm", "serve", root / MODEL, "--config", serve).returncode == 0


@pytest.mark.parametrize(
    ("line", "place", "words"),
    [
        ("tensor-parallel-size: 0", "2:23", "tensor-parallel-size: expected a whole number from 1"),
        ("kv_cache_dtype: fp9", "2:17", "did you mean fp8?"),
        ("attention-backend: FLASHINFR", "2:20", "attention-backend: expected a backend of the release"),
    ],
)
def test_values_of_a_file_are_placed_in_it(run, root, tmp_path, line, place, words):
    serve = tmp_path / "serve.yaml"
    serve.write_text(f"model: {root / MODEL}\n{line}\n")
    for call in ((serve,), ("--config", serve)):
        done = run("plan", *call, *MEMORY)
        assert (done.returncode, done.stderr.startswith(f"{serve}:{place}: ")) == (2, True)
        assert words in done.stderr


def test_a_value_of_a_flag_is_not_placed_in_the_file(run, root, tmp_path):
    serve = tmp_path / "serve.yaml"
    serve.write_text(f"model: {root / MODEL}\ntensor-parallel-size: 2\n")
    done = run("plan", "--config", serve, *MEMORY, "-tp", "0")
    assert done.stderr.startswith("<engine arguments>: tensor_parallel_size: ")
    done = run("plan", MODEL, *MEMORY, "--attention-backend", "FOO")
    assert done.stderr.startswith("<engine arguments>: attention_backend: expected a backend")


def test_the_document_that_is_written_aligns(run, tmp_path):
    made = tmp_path / "plan.yaml"
    assert run("plan", MODEL, *MEMORY, "-o", made).returncode == 0
    for command in ("align", "cg-support", "lint"):
        done = run(command, made)
        assert done.returncode == 0, done.stdout + done.stderr
    assert kvinspect.load(made).num_blocks == 5720


def test_each_stage_of_a_pipeline_has_its_document(run, tmp_path):
    made = tmp_path / "plan.yaml"
    done = run("plan", MODEL, *MEMORY, "-pp", "2", "-o", made)
    assert (done.returncode, done.stdout) == (0, "")
    files = (made, tmp_path / "plan.1.yaml")
    assert done.stderr.splitlines() == [f"wrote {file}: 11,441 blocks, worker {i} of 2" for i, file in enumerate(files)]
    layers = [yaml.safe_load(file.read_text())["kv_cache_config"]["kv_cache_groups"][0] for file in files]
    assert [one["layer_names"] for one in layers] == [
        ["model.layers.{0..17}.self_attn.attn"],
        ["model.layers.{18..35}.self_attn.attn"],
    ]
    assert run("align", *files).returncode == 0
    done = run("plan", MODEL, *MEMORY, "-pp", "2", "-f", "document")
    assert "worker 0 of 2" in done.stdout
    assert "worker 0 of 2" in done.stderr


def test_what_was_written_is_said_unless_quiet(run, tmp_path):
    for ending in ("yaml", "json"):
        made = tmp_path / f"plan.{ending}"
        assert run("plan", MODEL, *MEMORY, "-o", made).stderr == f"wrote {made}: 5,720 blocks\n"
        assert run("plan", MODEL, *MEMORY, "-o", made, "--quiet").stderr == ""
    made = tmp_path / "sweep.svg"
    done = run("plan", MODEL, *MEMORY, "-o", made, "--sweep", "block_size=16,32")
    assert done.stderr.endswith(f"wrote {made}: 2 plans\n")


@pytest.mark.parametrize("auto", ["auto", "-1"])
def test_a_length_that_was_chosen_is_said(run, auto):
    call = ("plan", MODEL, "--engine", "0.27", "--kv-cache-memory-bytes", "2G")
    assert (
        "max_model_len auto: the longest request that fits has 14,560 tokens"
        in run(*call, "--max-model-len", auto).stdout
    )
    assert "auto: " not in run(*call, "--max-model-len", "8k").stdout


def test_a_planning_document(run):
    shown = run("plan", "-", stdin=DOCUMENT)
    assert (shown.returncode, "4,096 blocks" in shown.stdout) == (0, True)
    assert run("plan", "-", "--max-model-len", "3", stdin=DOCUMENT).returncode == 2


def test_a_refusal_ends_with_1_and_writes_no_document(run, tmp_path):
    made = tmp_path / "plan.yaml"
    done = run("plan", MODEL, "--kv-cache-memory-bytes", "64M", "-o", made)
    assert (done.returncode, made.exists()) == (1, False)
    assert "the longest request that fits has" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((MODEL,), "how much memory is there for the cache?"),
        ((MODEL, *MEMORY, "--tensor-paralel-size", "2"), "did you mean --tensor-parallel-size?"),
        ((MODEL, *MEMORY, "--tensor-parallel-size", "none"), "tensor_parallel_size"),
        (("nowhere/config.json", *MEMORY), "no file or folder"),
        (("examples", *MEMORY), "has no config.json"),
        ((MODEL, "--available-kv-cache-memory", "many"), "expected a size"),
        ((MODEL, *MEMORY, "--sweep", "max_model_len"), "expected NAME=VALUES"),
        ((MODEL, *MEMORY, "--sweep", "max_modle_len=1,2"), "max_model_len"),
        ((MODEL, *MEMORY, "-f", "svg"), "--sweep"),
        (("n" * 300, *MEMORY), "there is no file or folder nnn"),
        (("a/" * 3000, *MEMORY), "there is no file or folder a/"),
        ((MODEL, "--available-kv-cache-memory", "1GiB", "--engine", "0.99"), "0.99"),
    ],
)
def test_bad_calls_say_what_is_wrong_in_a_few_lines(run, arguments, words):
    done = run("plan", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_architecture_is_said_with_a_way_out(run, tmp_path):
    (tmp_path / "config.json").write_text('{"architectures": ["LamaForCausalLM"], "model_type": "lama"}')
    done = run("plan", tmp_path, *MEMORY)
    assert done.returncode == 2
    for words in ("config.json:1:20", "LamaForCausalLM", "did you mean LlamaForCausalLM?", "by hand"):
        assert words in done.stderr


def test_a_sweep_in_every_format(run, tmp_path):
    sweep = ("--sweep", "max_model_len=1k..8k", "--sweep", "kv_cache_dtype=auto,fp8")
    shown = run("plan", MODEL, *MEMORY, *sweep)
    assert (shown.returncode, shown.stdout.count("█") > 20, "8 plans" in shown.stdout) == (0, True, True)
    found = json.loads(run("plan", MODEL, *MEMORY, *sweep, "-f", "json").stdout)
    assert [point["values"]["max_model_len"] for point in found["points"]] == [
        n for n in (1000, 2000, 4000, 8000) for _ in "ab"
    ]
    assert found["points"][0]["num_blocks"] == 5720
    for ending, start in ((".svg", "<svg"), (".html", "<!DOCTYPE html>"), (".md", "#"), (".json", "{")):
        made = tmp_path / f"sweep{ending}"
        assert run("plan", MODEL, *MEMORY, *sweep, "-o", made).returncode == 0
        assert made.read_text().startswith(start)
    assert run("plan", MODEL, *MEMORY, *sweep, "-o", tmp_path / "sweep.yaml").returncode == 2


def test_a_sweep_in_which_some_points_are_refused(run):
    done = run("plan", MODEL, "--kv-cache-memory-bytes", "2G", "--sweep", "max_model_len=8k..32k")
    assert (done.returncode, "refused 1" in done.stdout, "needs 2.2 GiB" in done.stdout) == (1, True, True)


@pytest.mark.parametrize(
    ("sweep", "refused", "why"),
    [
        ("max_model_len=8k..128k", (64000, 128000), "is longer than the model's 40960 tokens"),
        ("tensor_parallel_size=1,2,3,4", (3,), "cannot be divided among tensor_parallel_size 3"),
        ("block_size=7,16", (7,), "block size 7"),
    ],
)
def test_an_impossible_point_leaves_the_others_planned(run, tmp_path, sweep, refused, why):
    call = ("plan", MODEL, "--gpu-memory", "80GiB", "--weights", "16.4GB", "--sweep", sweep)
    done = run(*call)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.count("refused ") == len(refused)
    assert why in " ".join(done.stdout.split())
    found = json.loads(run(*call, "-f", "json").stdout)
    for point in found["points"]:
        (value,) = point["values"].values()
        assert (point["num_blocks"] is None, why in (point["refusal"] or "")) == (value in refused, value in refused)
    for ending in (".svg", ".html", ".md"):
        made = tmp_path / f"sweep{ending}"
        assert run(*call, "-o", made).returncode == 1
        assert why in html.unescape(made.read_text()).replace("\\", "")


def test_a_sweep_of_which_no_point_is_possible_says_why(run):
    done = run("plan", MODEL, *MEMORY, "--sweep", "block_size=7,9")
    assert (done.returncode, done.stdout) == (1, "")
    assert "block size 7" in done.stderr
    assert "block size 9" in done.stderr


def test_a_sweep_says_what_a_request_and_the_memory_of_each_point_are(run):
    call = ("plan", MODEL, "--gpu-memory", "80GiB", "--weights", "16.4GB", "--sweep", "tensor_parallel_size=1,2")
    shown = run(*call).stdout
    assert "2,560 blocks, 5.63 GiB" in shown
    assert "2,560 blocks, 2.81 GiB" in shown
    assert "estimated for each plan" in shown
    assert "over 2 ranks" not in shown
    found = json.loads(run(*call, "-f", "json").stdout)
    assert "num_blocks" not in found
    assert [point["bytes_per_request"] for point in found["points"]] == [6039797760, 3019898880]
    assert ["one of 2 ranks" in point["memory_how"] for point in found["points"]] == [False, True]


LOG = """\
INFO 08-01 12:00:00 [core.py:107] Initializing a V1 LLM engine (v0.27.1) with config: model='x'
(EngineCore pid=1) INFO 08-01 12:00:00 [gpu_worker.py:298] Available KV cache memory: 12.57 GiB
(EngineCore pid=1) INFO 08-01 12:00:00 [kv_cache_utils.py:1087] GPU KV cache size: 91,520 tokens
(EngineCore pid=1) INFO 08-01 12:00:00 [kv_cache_utils.py:1091] Maximum concurrency for 40,960 tokens per request: 2.23x
"""


def test_a_log_is_explained_by_itself(run):
    shown = run("plan", "--log", "-", stdin=LOG)
    assert (shown.returncode, "floor(concurrency × 40,960)" in shown.stdout) == (0, True)


@pytest.mark.parametrize(("ranks", "code"), [("1", 0), ("2", 1)])
def test_a_log_is_held_against_the_plan_of_the_model(run, ranks, code):
    done = run("plan", MODEL, "-tp", ranks, "--log", "-", "-f", "json", stdin=LOG)
    found = json.loads(done.stdout)
    assert done.returncode == code
    assert {row["what"]: row["agrees"] for row in found["compared"]} == {
        "longest request in tokens": True,
        "tokens": code == 0,
        "concurrent requests": code == 0,
    }


def test_a_log_without_memory_asks_for_it(run):
    silent = "\n".join(line for line in LOG.splitlines() if "Available" not in line)
    done = run("plan", MODEL, "--log", "-", stdin=silent)
    assert (done.returncode, "how much memory" in done.stderr) == (2, True)
    assert run("plan", MODEL, "--log", "-", *MEMORY, stdin=silent).returncode == 0
    assert run("plan", "--log", "nowhere.log").returncode == 2


def test_the_release_of_the_plan_beside_a_log(run):
    """A release that is not known is said, with its line; --engine holds the log against another one's plan."""
    unknown = LOG.replace("0.27.1", "0.99.0")
    done = run("plan", MODEL, "--log", "-", stdin=unknown)
    assert (done.returncode, done.stdout) == (2, "")
    for words in ("standard input:1:1: expected a vLLM release", "found vLLM 0.99.0", "--engine"):
        assert words in done.stderr
    assert run("plan", "--log", "-", stdin=unknown).returncode == 0
    shown = run("plan", MODEL, "--log", "-", "--engine", "0.27", stdin=unknown)
    assert (shown.returncode, shown.stderr) == (0, "")
    for words in ("the plan · vLLM 0.27.1", "the log is from vLLM 0.99.0, the plan is for 0.27.1"):
        assert words in shown.stdout
    same = run("plan", MODEL, "--log", "-", stdin=LOG.replace("0.27.1", "0.27.1+cpu")).stdout
    assert "the plan · vLLM 0.27.1" in same
    assert "the log is from" not in same
    silent = run("plan", MODEL, "--log", "-", stdin=LOG.split("\n", 1)[1])
    assert "the log does not name its release" in silent.stdout


@pytest.mark.parametrize("flags", [("--available-kv-cache-memory", "5GiB"), ("--num-gpu-blocks-override", "2")])
def test_a_log_beside_a_plan_that_is_refused(run, flags):
    shown = run("plan", MODEL, *flags, "--log", "-", stdin=LOG)
    assert (shown.returncode, shown.stderr) == (1, "")
    assert "✗ Refused at start-up (plan): ValueError" in shown.stdout
    assert "│ refused" in shown.stdout
    found = json.loads(run("plan", MODEL, *flags, "--log", "-", "-f", "json", stdin=LOG).stdout)
    assert "one request of 40,960 tokens needs" in found["plan"]["error"]["text"]
    assert {row["what"]: (row["most"], row["agrees"]) for row in found["compared"]} == {
        "the engine starts": (False, False),
        "longest request in tokens": (40960, True),
        "tokens": (None, False),
        "concurrent requests": (None, False),
    }


@pytest.mark.parametrize("size", ["0.00", "-0.68"])
def test_a_log_of_no_memory_at_all(run, size):
    text = LOG.replace("12.57", size).split("(EngineCore pid=1) INFO 08-01 12:00:00 [kv_cache_utils.py:1087]")[0]
    done = run("plan", MODEL, "--log", "-", stdin=text + "ValueError: No available memory for the cache blocks.\n")
    assert (done.returncode, done.stderr) == (1, "")
    assert f"{size} GiB, rounded" in done.stdout
    row = next(line for line in done.stdout.splitlines() if "the engine starts" in line)
    assert "✓ as planned" in row


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((MODEL, "--sweep", "max_model_len=1k..8k"), ("--sweep",)),
        ((MODEL, "-f", "document"), ("--format document",)),
        ((MODEL, "-o", "{made}.yaml"), ("--output", "-f yaml")),
        ((MODEL, "-f", "svg"), ("--format svg",)),
        (("--engine", "0.27"), ("--engine", "name the model")),
        (("--available-kv-cache-memory", "5GiB"), ("sizes", "name the model")),
    ],
)
def test_what_cannot_go_with_a_log_is_said(run, tmp_path, arguments, words):
    made = tmp_path / "made"
    done = run("plan", *(word.format(made=made) for word in arguments), "--log", "-", stdin=LOG)
    assert (done.returncode, done.stdout, list(tmp_path.glob("made*"))) == (2, "", [])
    for word in ("--log", *words):
        assert word in " ".join(done.stderr.split())


def test_a_log_is_written_into_a_file(run, tmp_path):
    for name, how, start in (
        ("a.json", (), "{"),
        ("a.yaml", ("-f", "yaml"), "schema"),
        ("a.txt", (), "standard input"),
    ):
        made = tmp_path / name
        assert run("plan", MODEL, "--log", "-", *how, "-o", made, stdin=LOG).returncode == 0
        assert made.read_text().startswith(start)


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\x00\x01" * 500, b"GPU KV cache size: ,,, tokens\n"])
def test_a_file_that_is_no_log(run, tmp_path, data):
    log = tmp_path / "a.log"
    log.write_bytes(data)
    for done in (run("plan", "--log", log), run("plan", "--log", "-", stdin=data)):
        assert (done.returncode, done.stdout or b"") in ((2, ""), (2, b""))
    assert f"{log}: expected a start-up log of vLLM" in run("plan", "--log", log).stderr


def test_a_log_that_cannot_be_read(run, tmp_path):
    for name, why in ((tmp_path / "nowhere", "No such file or directory"), (tmp_path, "Is a directory")):
        done = run("plan", "--log", name)
        assert (done.returncode, done.stderr) == (2, f"{name}: cannot be read: {why}\n")


@pytest.mark.skipif(not pathlib.Path("/dev/zero").exists(), reason="needs a file without an end")
def test_an_endless_log_is_not_read_to_its_end(run):
    done = run("plan", "--log", "/dev/zero", timeout=50)
    assert (done.returncode, done.stderr) == (
        2,
        "/dev/zero: expected at most 8388608 bytes of a start-up log, found more\n",
    )


def test_a_log_without_a_number_of_the_plan(run):
    done = run("plan", MODEL, *MEMORY, "--log", "-", stdin="Using FLASH_ATTN attention backend\n")
    assert (done.returncode, "with the size of the KV cache" in " ".join(done.stderr.split())) == (2, True)


def test_who_chose_the_release(run):
    words = ("plan", MODEL, "--available-kv-cache-memory", "12GiB", "-f", "json")
    assert json.loads(run(*words).stdout)["engine_source"] in ("newest", "installed")
    assert json.loads(run(*words, "--engine", "0.27").stdout)["engine_source"] == "argument"


def test_a_call_of_too_many_words_is_refused(run):
    done = run("plan", MODEL, *MEMORY, *["-tp=1"] * 6_000)
    assert (done.returncode, "at most 5,000 words" in done.stderr) == (2, True)


def last_lines(run, *words):
    """What a plan says behind its groups: CUDA graphs, then the line that starts the server."""
    lines = run("plan", *words).stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("CUDA graphs: "))
    return lines[at], lines[lines.index("To start it:") + 1]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((MODEL, "--gpu", "2xH100"), f"{MODEL} --tensor-parallel-size 2"),
        ((MODEL, "--gpu", "2xH100", "-pp", "2"), f"{MODEL} -pp 2"),
        ((f"{MODEL}/config.json", *MEMORY), MODEL),
        (("--model", MODEL, "--max-num-seqs=64", *MEMORY), f"{MODEL} --max-num-seqs=64"),
        ((f"VLLM_USE_V2_MODEL_RUNNER=0 vllm serve --model={MODEL} --port $PORT", *MEMORY), f'{MODEL} --port "$PORT"'),
    ],
    ids=str,
)
def test_a_plan_that_fits_ends_with_the_command_and_the_graphs(run, words, line):
    graphs, command = last_lines(run, *words)
    assert graphs == "CUDA graphs: ✓ FULL_AND_PIECEWISE, as requested."
    assert command.removeprefix("VLLM_USE_V2_MODEL_RUNNER=0 ") == f"vllm serve {line}"
    assert run("plan", command, "--gpu", "2xH100").stdout.startswith("✓ Fits")


def test_a_model_in_a_file_of_another_name_has_no_command(run, root, tmp_path):
    file = tmp_path / "qwen3-8b.json"
    file.write_text((root / MODEL / "config.json").read_text())
    done = run("plan", str(file), *MEMORY)
    assert (done.returncode, "vllm serve" in done.stdout) == (0, False)


def test_a_serve_file_is_started_by_config(run, root, tmp_path):
    file = tmp_path / "serve.yaml"
    file.write_text(f"model: {root / MODEL}\nmax-model-len: 8192\n")
    assert last_lines(run, str(file), *MEMORY)[1] == f"vllm serve --config {file}"


def test_a_plan_says_why_another_mode_of_cuda_graphs_results(run):
    drafts = '{"method": "ngram", "num_speculative_tokens": 3}'
    flags = (
        "--attention-backend",
        "FLASHINFER",
        "--device-capability",
        "9.0",
        "-dcp",
        "2",
        "--speculative-config",
        drafts,
    )
    graphs, _ = last_lines(run, MODEL, *MEMORY, "-tp", "16", *flags)
    alone = run("cg-support", MODEL, "-tp", "16", "--engine", "0.27", *flags).stdout.splitlines()
    assert graphs.startswith("CUDA graphs: ↓ PIECEWISE (requested: FULL_AND_PIECEWISE): ")
    assert alone[0] in graphs


def test_a_plan_that_does_not_fit_has_no_command_to_start(run):
    assert "vllm serve" not in run("plan", "deepseek-ai/DeepSeek-V3", "--gpu", "8xH100").stdout
