import xml.etree.ElementTree as ET

import pytest

WHISPER = "configs/whisper-large-v3-rocm.yaml"


def test_a_picture_in_the_terminal(run):
    done = run("map", WHISPER)
    assert done.returncode == 0
    assert "│  K0 │ K1!  │" in done.stdout or "K1!" in done.stdout
    assert "Why: " in done.stdout
    assert run("map", "examples/rocm-hybrid.yaml").returncode == 1


@pytest.mark.parametrize("name", ["a.svg", "a.html", "a.txt"])
def test_the_ending_of_the_file_says_the_format(run, tmp_path, name):
    out = tmp_path / name
    assert run("map", WHISPER, "-o", out).stdout == ""
    text = out.read_text(encoding="utf-8")
    if name.endswith("svg"):
        ET.fromstring(text)
    assert text.startswith({"svg": "<svg", "html": "<!DOCTYPE html>", "txt": "whisper"}[name.split(".")[1]])


def test_an_allocation_and_layers_can_be_chosen(run):
    text = run("map", WHISPER, "--allocation", "3", "--layer", "*.self_attn.*").stdout
    assert "model.decoder.layers.3.self_attn.attn" in text
    assert "encoder_attn" not in text.split("Why")[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--allocation", "99"], "there are 32 tensors"),
        (["--layer", "nothing*"], "no layer on tensor"),
        (["--engine", "0.99"], "expected a vLLM release"),
        (["--format", "png"], "Invalid value"),
    ],
)
def test_what_cannot_be_drawn_is_said(run, arguments, message):
    done = run("map", WHISPER, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_nothing_to_draw(run):
    done = run("map", "-", stdin="kv_cache_config: {num_blocks: 1, kv_cache_groups: []}")
    assert (done.returncode, "nothing to draw" in done.stderr) == (2, True)
