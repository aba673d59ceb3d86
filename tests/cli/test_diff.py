"""`kvinspect diff` as a process."""

import json
import re

import pytest
import yaml

from conftest import ROOT

LLAMA = "configs/llama-3.1-8b.yaml"
PAIR = ("examples/prefill-tp2.yaml", "examples/decode-tp4.yaml")
CPU = """\
platform: cpu
kv_cache_config:
  num_blocks: 4
  kv_cache_groups:
    - layer_names: [l.0]
      backend: CPU_ATTN
      kv_cache_spec: {kind: full_attention, block_size: 16, num_kv_heads: 4, head_size: 64, dtype: bfloat16}
"""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((LLAMA, LLAMA), 0),
        ((LLAMA, "--engine", "0.26"), 0),
        ((LLAMA, "--engine", "0.25"), 1),
        ((LLAMA, "--engine", "0.25", "--engine", "0.26"), 1),
        (PAIR, 1),
        (("configs/whisper-large-v3-rocm.yaml", "--engine", "0.27"), 2),
    ],
)
def test_the_exit_code_says_whether_blocks_can_be_read(run, arguments, code):
    done = run("diff", *arguments)
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((LLAMA,), "one document is compared with itself"),
        ((LLAMA, LLAMA, LLAMA), "two documents are compared, not 3"),
        ((LLAMA, "--engine", "0.25", "--engine", "0.26", "--engine", "0.27"), "two releases are compared, not 3"),
        (("-", "-"), "standard input holds one document"),
        ((LLAMA, "nowhere.yaml"), "nowhere.yaml: cannot be read"),
        ((LLAMA, "--engine", "0.1"), "0.1"),
        (("configs/gemma-3-27b-two-images.yaml", LLAMA), "kv_cache_config: is missing"),
    ],
)
def test_a_wrong_call_is_said_in_a_line(run, arguments, said):
    done = run("diff", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_json_is_one_object_with_both_settings(run):
    found = json.loads(run("diff", LLAMA, "--engine", "0.25", "--engine", "0.26", "--format", "json").stdout)
    assert [found[side]["engine"] for side in "ab"] == ["0.25", "0.26"]
    assert (found["verdict"], found["compatible"], len(found["layers"])) == ("different", False, 32)
    assert found["layers"][0]["blocks"] == [{"offset": 0, "block_stride": 65536, "runs": 1, "size": 65536}] * 2
    same = run("diff", LLAMA, "--engine", "0.25", "--engine", "0.26", "--format", "yaml").stdout
    assert yaml.safe_load(same) == found


def test_a_document_from_standard_input(run):
    done = run("diff", "-", "--engine", "0.27", "--engine", "0.28", stdin=CPU)
    assert done.returncode == 2
    assert "? cannot be judged" in done.stdout
    assert "the instruction set of the CPU" in done.stdout


def test_nothing_to_compare_is_not_compatible(run):
    done = run("diff", "-", LLAMA, stdin="kv_cache_config: {num_blocks: 4, kv_cache_groups: []}")
    assert done.returncode == 2
    assert "nothing to compare" in done.stdout


def test_layers_alike_are_one_table_unless_all_are_asked_for(run):
    folded, every = (run("diff", *PAIR, *more).stdout for more in ((), ("--all-layers",)))
    assert folded.count("a rank holds") == 1
    assert "model.layers.{0..31}.self_attn.attn (32 layers)" in folded
    assert every.count("a rank holds") == 32


def test_foreign_names_cannot_act_on_a_terminal_or_become_markup(run, tmp_path):
    path = tmp_path / "odd.yaml"
    path.write_text(CPU.replace("[l.0]", '["l\\e[31m<b>|"]').replace("CPU_ATTN", "FLASH_ATTN").replace("cpu", "cuda"))
    for how in ("table", "markdown"):
        shown = run("diff", path, PAIR[0], "--engine", "0.28", "--format", how).stdout
        assert "\x1b" not in shown
        assert "only in A" in shown
        assert how == "table" or "<b>" not in shown


def test_markdown_into_a_file(run, tmp_path):
    path = tmp_path / "diff.md"
    done = run("diff", *PAIR, "--format", "markdown", "-o", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "| requested CUDA graph mode | PIECEWISE | FULL\\_DECODE\\_ONLY |" in path.read_text(encoding="utf-8")


def test_the_page_shows_what_the_program_prints(run):
    page = (ROOT / "docs" / "diff.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```console\nkvinspect (.*?)\n```\n\n```text\n(.*?)^```", page, flags=re.M | re.S)
    assert len(shown) == 2
    for command, text in shown:
        assert run(*command.split()).stdout == text


MODEL = "examples/models/qwen3-8b"


def both(*words):
    return [MODEL, "--", MODEL, *words]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (both(), 0),
        (both("--max-num-seqs", "512"), 0),
        (both("--kv-cache-dtype", "fp8"), 1),
        (both("--kv-cache-dtype=fp8", "--gpu", "H100", "--weights", "16GB"), 1),
        ([MODEL, "-tp", "2", "--", "vllm", "serve", MODEL, "-tp", "2"], 0),
        ([MODEL, f"{MODEL}/config.json"], 0),
        ([f"{MODEL}/config.json", "--engine", "0.27", "--engine", "0.28"], 0),
        ([MODEL, "--kv-cache-dtype", "fp8", "--engine", "0.25"], 1),
        ([LLAMA, "--", MODEL, "--engine", "0.28"], 1),
        ([LLAMA, "--", LLAMA], 0),
    ],
)
def test_models_with_flags_are_compared(run, arguments, code):
    done = run("diff", *arguments)
    assert (done.returncode, done.stderr) == (code, "")


def test_what_a_flag_changes_is_said_of_the_words(run):
    done = run("diff", MODEL, "--", MODEL, "--kv-cache-dtype", "fp8", "--engine", "0.33", "-f", "json")
    answer = json.loads(done.stdout)
    assert answer["words"] == [MODEL, f"{MODEL} --kv-cache-dtype fp8"]
    assert answer["changes"] == {}
    assert answer["layers"][0]["changes"]["page_size_bytes"] == {"a": 65536, "b": 32768}
    assert answer["a"]["num_blocks"] == answer["b"]["num_blocks"] == 1024
    assert f"{MODEL} --kv-cache-dtype fp8" in run("diff", *both("--kv-cache-dtype", "fp8")).stdout


def test_memory_holds_for_both_sides(run):
    memory = ("--available-kv-cache-memory", "8GiB")
    answer = json.loads(run("diff", *both("--kv-cache-dtype", "fp8"), *memory, "-f", "json").stdout)
    assert answer["changes"]["num_blocks"] == {"a": 3640, "b": 7281}


def test_a_model_without_memory_has_the_blocks_of_the_other_side(run):
    answer = json.loads(run("diff", MODEL, "--", "examples/decode-tp4.yaml", "-f", "json").stdout)
    assert answer["a"]["num_blocks"] == answer["b"]["num_blocks"] == 4096


def test_of_a_pipeline_the_first_worker_is_compared(run):
    done = run("diff", MODEL, "-pp", "2", "--", MODEL, "-q")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"kvinspect: of {MODEL} -pp 2 this is worker 0 of 2\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([MODEL], "a model is compared with itself"),
        ([MODEL, "--max-num-seqs", "4"], "a model is compared with itself"),
        ([MODEL, "--"], "there is nothing behind --"),
        (["--", MODEL], "there is nothing before --"),
        (["--"], "there is nothing before --"),
        ([*both(), "--", MODEL], "two documents are compared, not 3"),
        ([MODEL, "--kv-cache-dtype", "--", MODEL], "A: --kv-cache-dtype lacks its value"),
        (both("--max-num-seqs", "x"), "<engine arguments> of B: max_num_seqs: expected a whole number"),
        (both("--hf-overrides", "{"), "<engine arguments> of B: hf_overrides"),
        (both("--max-num-sequs", "4"), "B: --max-num-sequs is not a flag of vLLM 0.33.0; did you mean --max-num-seqs?"),
        ([MODEL, "--", "nosuch"], "B: there is no file or folder nosuch"),
        (["nosuch", "--", MODEL], "A: there is no file or folder nosuch"),
        ([MODEL, "--", "--max-num-seqs", "4"], "B: which model?"),
        ([LLAMA, "--max-num-seqs", "4", "--", MODEL], "A: a document says by itself"),
        ([LLAMA, "--", LLAMA, "--gpu", "H100"], "a document says by itself"),
        ([LLAMA, LLAMA, "--", MODEL], "one document or model on each side of --, not 2"),
        (both("--gpu", "H1000"), "H1000"),
        (both("\x1b[31m", "-x"), "B: "),
        (both("--kv-cache-dtype", "fp8", "--engine", "0.1"), "0.1"),
    ],
)
def test_a_wrong_call_about_models_is_said_with_its_side(run, arguments, said):
    done = run("diff", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())
    assert "\x1b" not in done.stderr


def test_a_model_that_the_engine_refuses_is_not_judged(run):
    done = run("diff", *both("--available-kv-cache-memory", "1GiB"))
    assert done.returncode == 2
    assert "refused" in done.stdout
