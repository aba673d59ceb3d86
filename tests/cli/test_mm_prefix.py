"""The command `mm-prefix` as a process, and its pictures."""

import json
import xml.etree.ElementTree as ET

import pytest

import kvinspect
from kvinspect.report.mask.html import html
from kvinspect.report.mask.svg import svg

GEMMA = "configs/gemma-3-27b-two-images.yaml"
SVG = "{http://www.w3.org/2000/svg}"
EVIL = """
engine: "0.27"
multimodal:
  requests:
    - req_id: "r<script>\\e[31m"
      mm_features: [{modality: "im<b>age", mm_position: {offset: 0, length: 4}}]
"""


def test_ranges_and_what_was_skipped_with_the_mask(run):
    done = run("mm-prefix", GEMMA)
    assert done.returncode == 0
    assert "bidirectional: 14–269" in done.stdout
    assert "causally: 1280 tokens are more than the sliding window of 1024" in done.stdout
    assert "  54 ██▒▒▒▒▒▒▒▒" in done.stdout


def test_json_is_the_answer_of_the_settled_format(run):
    answer = json.loads(run("mm-prefix", GEMMA, "--format", "json").stdout)
    assert answer["req_doc_ranges"] == {"0": [[14, 269]]}
    request = answer["requests"][0]
    assert (request["req_id"], request["ranges"]) == ("two-images", [[14, 269]])
    assert request["skipped"][0]["range"] == [332, 1611]


@pytest.mark.parametrize("name", ["mask.svg", "mask.html", "mask.json", "mask.md", "mask.txt"])
def test_the_ending_of_the_file_says_the_format(run, tmp_path, name):
    assert run("mm-prefix", GEMMA, "-o", tmp_path / name).returncode == 0
    text = (tmp_path / name).read_text(encoding="utf-8")
    starts = {
        "svg": "<svg",
        "html": "<!DOCTYPE html>",
        "json": "{",
        "md": "###",
        "txt": "↓ 1 of 2 multimodal ranges attends bidirectionally\ngemma",
    }
    assert text.startswith(starts[name.rpartition(".")[2]])


def test_exit_codes(run, tmp_path):
    assert run("mm-prefix", GEMMA, "-o", tmp_path / "mask.png").returncode == 2
    assert run("mm-prefix", GEMMA, GEMMA, "--format", "svg").returncode == 2
    assert run("mm-prefix", "configs/llama-3.1-8b.yaml").returncode == 2
    odd = "multimodal: {requests: [{req_id: a, mm_features: [{modality: image, mm_position: {offset: 0, length: 0}}]}]}"
    done = run("mm-prefix", "-", stdin=odd)
    assert (done.returncode, "<stdin>:1:" in done.stdout) == (1, True)


def test_a_folder_is_every_document_with_requests(run):
    done = run("mm-prefix", "configs/", "--format", "json")
    assert len(json.loads(done.stdout)["answers"]) == 1
    assert "(no multimodal)" in done.stderr


@pytest.mark.parametrize("width", [80, 100])
def test_nothing_is_wider_than_the_terminal(run, width):
    lines = run("mm-prefix", GEMMA, env={"COLUMNS": str(width)}).stdout.splitlines()
    assert max(map(len, lines)) <= width


def test_an_ascii_terminal_tells_the_marks_apart(run):
    text = run("mm-prefix", GEMMA, env={"PYTHONIOENCODING": "ascii"}).stdout
    assert text.isascii()
    assert "## causal, %% bidirectional" in " ".join(text.split())


def test_pictures_are_well_formed_and_escape_foreign_names():
    import yaml

    answer = kvinspect.mm_prefix(yaml.safe_load(EVIL.replace("\\\\e", "\\e")))
    root = ET.fromstring(svg(answer))
    assert root.tag == f"{SVG}svg"
    labels = [cell.get("aria-label") for cell in root.iter(f"{SVG}g") if cell.get("class") == "cell"]
    assert labels == [
        "tokens 0 to 3, im<b>age of feature 0, stays causal: im<b>age attends causally; only image and video attend bidirectionally"
    ]
    assert "<script>\\x1b" not in html(answer)
    assert "<b>" not in html(answer)


def test_every_span_can_be_pointed_at():
    answer = kvinspect.mm_prefix(
        {
            "engine": "0.27",
            "multimodal": {
                "sliding_window": 8,
                "requests": [
                    {
                        "req_id": "a",
                        "mm_features": [
                            {"modality": "image", "mm_position": {"offset": 2, "length": 6}},
                            {"modality": "image", "mm_position": {"offset": 10, "length": 20}},
                        ],
                    }
                ],
            },
        }
    )
    drawn = svg(answer)
    assert drawn.count('tabindex="0"') == 2
    assert drawn.count('class="both"') == 1
    assert "tokens 10 to 29, image of feature 1, stays causal: 20 tokens are more than the sliding window of 8" in drawn
