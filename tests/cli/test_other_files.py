"""Files that are no documents, where a command needs one."""

import pytest

from conftest import ROOT

MODEL = "examples/models/qwen3-8b"
CALLS = [("mm-prefix",)]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_a_model_is_named_in_one_line(run, call):
    name = f"{MODEL}/config.json"
    done = run(call[0], name, *call[1:])
    made = f"`kvinspect plan {name} … -o doc.yaml` makes one"
    assert (done.returncode, done.stderr) == (2, f"{name}: is a model's config.json, no inspection document; {made}\n")


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_a_serve_file_is_named_in_one_line(run, tmp_path, call):
    serve = tmp_path / "serve.yaml"
    serve.write_text("model: somewhere\ntensor-parallel-size: 4\n")
    done = run(call[0], serve, *call[1:])
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is a `vllm serve` file" in done.stderr


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
def test_a_folder_of_a_model_is_named(run, call):
    done = run(call[0], MODEL, *call[1:])
    assert done.returncode == 2
    assert "is a model's folder" in done.stderr


@pytest.mark.parametrize("command", ["align", "cg-support", "map"])
def test_a_model_on_standard_input_has_no_name_to_read_it_by(run, command):
    done = run(command, "-", stdin=(ROOT / MODEL / "config.json").read_text())
    assert (done.returncode, done.stdout) == (2, "")
    assert "is a model's config.json" in done.stderr


def test_a_folder_that_is_no_model(run, tmp_path):
    done = run("map", tmp_path)
    assert (done.returncode, "Is a directory" in done.stderr) == (2, True)


def test_none_is_a_word_among_conditions(run):
    shown = run("cg-support", "--engine", "0.33").stdout
    assert "None" not in shown
    assert "compute capability 7.x or 8.x, or none" in shown
