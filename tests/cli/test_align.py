"""The command as a real process."""

import json

import pytest
import yaml

import golden
from conftest import ROOT
from golden import compare

WHISPER = "configs/whisper-large-v3-rocm.yaml"
REFUSED = "configs/whisper-large-v3-rocm-0.27.yaml"


def test_a_table_with_the_answer_first_and_the_reason_beside_it(run):
    done = run("align", WHISPER)
    assert done.returncode == 0
    text = done.stdout
    first, second = text.splitlines()[:2]
    assert first == "✓ Sound: no two blocks of 64 layers share bytes; vLLM restrides 32 views"
    assert second.startswith("whisper-large-v3-rocm.yaml · vLLM 0.25 · rocm · NHD · 512 blocks")
    assert "allocations 0–31 (32 alike) · 40 MiB each · shared by 2 layers" in text
    assert "model.decoder.layers.{0..31}.encoder_attn.attn" in text
    assert "40960 → 20480, 20480 → 10485760, 1280, 64, 1" in text
    assert "restrided ✓ sound" in text
    assert "Why: TRITON_ATTN puts the blocks first (dim 0), ROCM_ATTN puts K/V before the blocks (dim 1)" in text
    assert done.stderr == ""


def test_off_a_terminal_nothing_is_cut_off_or_coloured(run):
    text = run("align", "configs/").stdout
    assert "…" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(run, width):
    text = run("align", WHISPER, env={"COLUMNS": str(width)}).stdout
    assert max(map(len, text.splitlines())) <= width
    joined = "".join(text.split())
    assert "restrided" in joined
    assert "layers.{0..31}." in joined


def test_off_a_terminal_and_with_wide_nothing_is_lost(run):
    text = run("align", WHISPER).stdout
    assert run("align", WHISPER, "--wide", env={"COLUMNS": "80"}).stdout == text
    joined = "".join(text.split())
    for value in ("model.decoder.layers.{0..31}.encoder_attn.attn", "40960→20480", "10485760", "restrided"):
        assert value in joined


def test_json_is_one_object_and_nothing_else(run):
    done = run("align", WHISPER, "--format", "json", "--device", "cpu")
    answer = json.loads(done.stdout)
    assert answer["schema_version"] == 1
    assert answer["source"] == WHISPER
    assert answer["engine"] == "0.25"
    assert answer["device"] == "cpu"
    assert len(answer["layers"]) == 64
    assert answer["layers"][0]["stride"] == [10485760, 20480, 1280, 64, 1]


def test_yaml_says_the_same_as_json(run):
    as_json = json.loads(run("align", WHISPER, "--format", "json").stdout)
    assert yaml.safe_load(run("align", WHISPER, "--format", "yaml").stdout) == as_json


def test_markdown_has_a_table_that_github_reads(run):
    text = run("align", WHISPER, "--format", "markdown").stdout
    assert "| layer | backend | block dim | shape | stride | decision |" in text
    assert text.count("\n| ") == 4


def test_several_files_are_one_object(run):
    done = run("align", WHISPER, REFUSED, "--format", "json")
    assert [answer["decision"] for answer in json.loads(done.stdout)["answers"]] == ["restrided", "refused"]
    assert done.returncode == 1


def test_a_folder_is_every_document_in_it(run, tmp_path):
    (tmp_path / "a.yaml").write_text((ROOT / WHISPER).read_text())
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.json").write_text((ROOT / "configs/mistral-7b.json").read_text())
    (tmp_path / "other.json").write_text('{"scripts": {}}')
    (tmp_path / ".hidden.yaml").write_text("[")
    done = run("align", tmp_path, "--format", "json")
    assert len(json.loads(done.stdout)["answers"]) == 2
    assert "skipped 1 file (no kv_cache_config)" in done.stderr
    assert done.returncode == 0


def test_standard_input(run):
    text = (ROOT / WHISPER).read_text()
    answer = json.loads(run("align", "-", "--format", "json", stdin=text).stdout)
    assert (answer["source"], answer["decision"]) == ("<stdin>", "restrided")
    document = json.dumps(yaml.safe_load(text))
    assert json.loads(run("align", "-", "--format", "json", stdin=document).stdout)["decision"] == "restrided"


def test_exit_codes(run, tmp_path):
    assert run("align", WHISPER).returncode == 0
    assert run("align", REFUSED).returncode == 1
    assert run("align", "nothing.yaml").returncode == 2
    assert run("align", WHISPER, "--bogus").returncode == 2
    assert run("align", WHISPER, "--engine", "0.24").returncode == 2
    assert run("align", WHISPER, "--device", "gpu").returncode == 2
    assert run("align", WHISPER, "--num-blocks", "0").returncode == 2
    assert run("align", WHISPER, "--device", "cuda:77").returncode == 3
    missing = run("align", "no-such-file.yaml", "--device", "cuda:77")
    assert missing.returncode == 3, "the device is chosen once, before the first document is read"
    assert run("align", REFUSED, "nothing.yaml").returncode == 2
    assert run("align", WHISPER, "-o", tmp_path / "no" / "such" / "folder.txt").returncode == 2


def test_an_error_reads_like_a_compilers(run, tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text((ROOT / WHISPER).read_text().replace("head_size: 64", "head_size: 64x", 1))
    done = run("align", bad)
    assert done.returncode == 2
    assert done.stdout == ""
    place, snippet, caret = done.stderr.splitlines()
    assert place.startswith(f"{bad}:13:")
    assert 'kv_cache_spec.head_size: expected an integer > 0, found "64x"' in place
    assert snippet[caret.index("^") :].startswith("64x")


def test_an_unknown_release_of_the_call_is_said_without_blaming_the_file(run):
    done = run("align", WHISPER, "--engine", "0.24")
    assert done.stderr.startswith("engine: expected a vLLM release")
    assert "did you mean 0.25?" in done.stderr
    assert "^" not in done.stderr


def test_a_file_is_written_whole_or_not_at_all(run, tmp_path):
    out = tmp_path / "answer.json"
    out.write_text("before")
    assert run("align", "nothing.yaml", "--format", "json", "-o", out).returncode == 2
    assert out.read_text() == "before"
    assert run("align", WHISPER, "--format", "json", "-o", out).stdout == ""
    assert json.loads(out.read_text())["decision"] == "restrided"
    assert list(tmp_path.iterdir()) == [out]


def test_layers_can_be_picked_and_unfolded(run):
    text = run("align", WHISPER, "--layer", "*.3.encoder*").stdout
    assert "layers.3.encoder_attn.attn" in text
    assert "layers.3.self_attn.attn  " not in text
    text = run("align", WHISPER, "--all-layers").stdout
    assert text.count("│ model.decoder.layers.") == 64


def test_explain_gives_the_reason_of_each_step(run):
    text = run("align", WHISPER, "--explain").stdout
    assert "group 0: 16 tokens, the manager's block size, which ROCM_ATTN supports" in text
    assert "select_common_block_size" in text


def test_quiet_prints_nothing_but_errors(run):
    done = run("align", REFUSED, "--quiet")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 1)


def test_another_number_of_blocks(run):
    answer = json.loads(run("align", WHISPER, "--num-blocks", "7", "--format", "json").stdout)
    assert answer["num_blocks"] == 7
    assert answer["tensors"][0]["size"] == 7 * 81920


@pytest.mark.parametrize(
    ("arguments", "environment", "coloured"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        ([], {"GITHUB_ACTIONS": "true"}, False),
    ],
)
def test_colour_is_flag_before_force_before_no_before_terminal(run, arguments, environment, coloured):
    assert ("\x1b[" in run("align", WHISPER, *arguments, env=environment).stdout) == coloured


def test_an_ascii_terminal_gets_ascii(run):
    done = run("align", WHISPER, env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "40960 > 20480" in done.stdout


EVIL = "l.\x1b[31mred\x07\n::error::x]]>|`<b>\u202e.0"


@pytest.mark.parametrize("how", ["table", "json", "yaml", "markdown"])
def test_foreign_names_cannot_break_out(run, how, whisper):
    whisper["kv_cache_config"]["kv_cache_groups"][0]["layer_names"] = [EVIL, "s.1"]
    text = run("align", "-", "--format", how, stdin=json.dumps(whisper)).stdout
    assert "red" in text
    for character in "\x1b\x07\u202e":
        assert character not in text
    assert "\n::error" not in text
    assert how != "markdown" or "<b>" not in text
    assert how != "json" or any(layer["layer_name"] == EVIL for layer in json.loads(text)["layers"])


def test_foreign_file_names_and_values_cannot_break_out(run, tmp_path):
    bad = tmp_path / "a\x1b[31m\n.yaml"
    bad.write_text('platform: "\\e[31m\\n::error::"\n')
    done = run("align", bad)
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert "\n::error" not in done.stderr


def test_help_has_examples_that_run_as_they_stand(run):
    text = run("align", "--help").stdout
    examples = [line.strip() for line in text.splitlines() if line.strip().startswith("kvinspect ")]
    assert len(examples) >= 3
    for example in examples:
        assert run(*example.split()[1:]).returncode in (0, 1), example


def test_the_program_says_its_version_and_helps_without_arguments(run):
    assert run("--version").stdout.startswith("kvinspect 0.")
    assert "align" in run("--help").stdout


def test_a_broken_pipe_is_no_traceback(run):
    import subprocess
    import sys

    command = f"{sys.executable} -m kvinspect align configs/ --format json --all-layers | head -c 10"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)
    assert "Traceback" not in done.stderr


def test_an_internal_error_is_one_line_that_says_how_to_report_it(run, tmp_path):
    sabotage = tmp_path / "sitecustomize.py"
    sabotage.write_text(
        "import kvinspect.engine.align_document as r\ndef boom(*a): raise RuntimeError('boom\\x1b')\nr.align_stages = boom\n"
    )
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = run("align", WHISPER, env=environment)
    assert done.returncode == 70
    assert "internal error: RuntimeError: boom\\x1b" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Traceback" in run("align", WHISPER, "--debug", env=environment).stderr


def test_the_command_answers_as_the_api(run):
    for case in golden.answers("align-0.28.0")[:12]:
        done = run("align", "-", "--format", "json", stdin=json.dumps(case["document"]))
        if not done.stdout:
            assert (done.returncode, case["align"]["stage"] in compare.EARLY) == (2, True)
            continue
        difference = compare.difference(compare.by_name(case["align"]), compare.by_name(json.loads(done.stdout)))
        assert list(difference) == []
        assert done.returncode == (0 if case["align"]["sound"] else 1)
