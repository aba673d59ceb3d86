"""Where output goes: files of every sort, pipes that close, encodings that lack a character, streams that are not there."""

import json
import os
import stat
import subprocess
import sys

import pytest

from conftest import ROOT

WHISPER = "configs/whisper-large-v3-rocm.yaml"


def shell(command, **more):
    command = command.replace("kvinspect", f"{sys.executable} -m kvinspect")
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False, **more)


def test_a_link_is_followed_and_a_mode_kept(run, tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    assert run("align", WHISPER, "-o", link).returncode == 0
    assert link.is_symlink()
    assert "restrided" in real.read_text(encoding="utf-8")
    assert stat.S_IMODE(real.stat().st_mode) == 0o600


def test_a_pipe_is_written_to_as_it_is(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    done = shell(f"cat {fifo} & kvinspect align {WHISPER} -o {fifo}; wait")
    assert (done.returncode, "restrided" in done.stdout) == (0, True)
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_dash_is_standard_output(run, tmp_path):
    done = run("align", ROOT / WHISPER, "-o", "-", cwd=tmp_path, env={"PYTHONPATH": str(ROOT)})
    assert "restrided" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_named_as_it_was_called(run, tmp_path):
    done = run("align", WHISPER, "-o", tmp_path / "nowhere" / "x.txt")
    assert done.returncode == 2
    assert done.stderr.strip().endswith(f"'{tmp_path}/nowhere/x.txt'")


def test_quiet_still_writes_a_file(run, tmp_path):
    assert run("align", WHISPER, "-q", "-o", tmp_path / "x.json", "-f", "json").stdout == ""
    assert json.loads((tmp_path / "x.json").read_text())["decision"] == "restrided"


@pytest.mark.parametrize("arguments", ["align configs/ --all-layers -f json", "schema", "map configs/gemma-3-27b.yaml"])
def test_a_pipe_that_closes_is_no_finding_and_no_traceback(arguments):
    done = shell(f"kvinspect {arguments} | true; echo ${{PIPESTATUS[0]}}")
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert done.stdout.strip() in ("141", "0")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_closed_streams_are_no_traceback(closed):
    done = shell(f"kvinspect align {WHISPER} {closed}")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


def test_a_closed_standard_input_is_said():
    done = shell("kvinspect align - <&-")
    assert (done.returncode, "standard input is closed" in done.stderr) == (2, True)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize(
    "arguments", [["align", "-f", "markdown"], ["map", "-f", "svg"], ["map", "-f", "html"], ["map"]]
)
def test_what_an_encoding_lacks_is_written_otherwise(run, encoding, arguments):
    done = run(arguments[0], WHISPER, *arguments[1:], env={"PYTHONIOENCODING": encoding}, stdin=b"")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii() or encoding != "ascii"
    assert done.stdout.isascii() or arguments[-1] not in ("svg", "html")


@pytest.mark.parametrize("columns", ["²", "99999999", "0", "-5", "x"])
def test_a_width_that_cannot_be_is_not_believed(run, columns):
    assert run("align", WHISPER, "--explain", env={"COLUMNS": columns}, timeout=20).returncode == 0


def test_numbers_in_names_are_left_alone_in_json(run, whisper):
    whisper["kv_cache_config"]["kv_cache_groups"][0]["layer_names"] = ["x[ 1,  2 ]", "s.1"]
    answer = json.loads(run("align", "-", "-f", "json", stdin=json.dumps(whisper)).stdout)
    assert answer["layers"][0]["layer_name"] == "x[ 1,  2 ]"


def test_a_name_cannot_close_a_fence_or_speak_to_a_ci_runner(run, whisper):
    names = ["```", "::error file=x::hello"]
    whisper["kv_cache_config"]["kv_cache_groups"][0]["layer_names"] = names
    whisper["engine"] = "0.27"
    markdown = run("align", "-", "-f", "markdown", stdin=json.dumps(whisper)).stdout
    fences = [line for line in markdown.splitlines() if line.startswith("````")]
    assert len(fences) >= 2
    for how in ("align", "map"):
        text = run(how, "-", stdin=json.dumps(whisper)).stdout
        assert not any(line.strip().startswith("::") for line in text.splitlines())


def test_a_folder_without_documents_is_no_success(run, tmp_path):
    done = run("align", tmp_path)
    assert (done.returncode, "there is no document" in done.stderr) == (2, True)


def test_a_refusal_is_a_refusal_in_pictures_too(run, whisper):
    whisper["kv_cache_config"]["kv_cache_groups"][0]["kv_cache_spec"]["block_size"] = 32
    done = run("map", "-", stdin=json.dumps(whisper))
    assert (done.returncode, "there is nothing to draw: the engine refuses" in done.stderr) == (1, True)


def test_a_layer_that_nothing_matches_is_an_error_and_json_is_picked_as_well(run):
    assert run("align", WHISPER, "--layer", "nope").returncode == 2
    answer = json.loads(run("align", WHISPER, "--layer", "*.5.self*", "-f", "json").stdout)
    assert [layer["layer_name"] for layer in answer["layers"]] == ["model.decoder.layers.5.self_attn.attn"]
    assert len(answer["tensors"]) == 1


def test_several_documents_are_several_answers_even_if_one_is_bad(run, tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("kv_cache_config: 1\n")
    done = run("align", WHISPER, bad, "-f", "json")
    assert (done.returncode, len(json.loads(done.stdout)["answers"])) == (2, 1)
