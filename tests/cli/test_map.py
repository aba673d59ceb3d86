import re
import xml.etree.ElementTree as ET

import pytest

import kvinspect
from kvinspect.report import terminal
from kvinspect.report.map.page import page
from kvinspect.report.map.scene import matching

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
    assert text.startswith({"svg": "<svg", "html": "<!DOCTYPE html>", "txt": "✓ Sound after"}[name.split(".")[1]])


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


def test_of_many_layers_are_drawn_as_many_as_fit(run, tmp_path):
    made = tmp_path / "plan.yaml"
    run("plan", "examples/models/qwen3-8b", "--kv-cache-memory-bytes", "21G", "--engine", "0.33", "-o", made)
    shown = run("map", made, "--blocks", "3").stdout
    assert max(map(len, shown.splitlines())) <= 120
    assert "of 36 layers, as many as fit" in shown
    drawn = tmp_path / "map.svg"
    run("map", made, "-o", drawn)
    assert "model.layers.35.self_attn.attn" in drawn.read_text()


def test_no_mark_of_the_scale_stands_twice(run, tmp_path):
    made = tmp_path / "plan.yaml"
    run("plan", "examples/models/qwen3-8b", "--kv-cache-memory-bytes", "21G", "--engine", "0.33", "-o", made)
    shown = run("map", made, "--layer", "*.35.*").stdout
    marks = [re.findall(r"[\d.]+ [KMG]iB", line) for line in shown.splitlines() if line.count("iB") > 1]
    assert marks
    assert all(len(found) == len(set(found)) for found in marks)


def test_the_layers_of_a_conflict_stay_in_a_narrow_picture():
    answer = kvinspect.align("examples/rocm-hybrid.yaml")
    tensor = next(one for one in answer.tensors if one.conflict)
    names = matching(answer, tensor, None)
    shown = terminal.render(page(answer, tensor, names, 3, 20), width=20, colour=False, encoding="utf-8")
    assert all(layer in shown.replace("\n", "") for layer in tensor.conflict.layers)


def test_a_planning_document_has_nothing_to_draw_yet(run, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text('{"kv_cache_specs": {}, "available_memory": [1]}', encoding="utf-8")
    done = run("map", path)
    assert (done.returncode, "kv_cache_config: is missing; map needs it" in done.stderr) == (2, True)
