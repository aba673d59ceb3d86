"""The one writer of SVG: each drawing is well-formed XML, and foreign words stay words in it."""

from xml.etree import ElementTree

import pytest

from kvinspect.report.svg import document, element, number, text, told

HOSTILE = "<script>&\"'\x1b[31m\u202e"
SPACE = "{http://www.w3.org/2000/svg}"


def test_foreign_words_are_words_and_attributes():
    body = [text(1, 2.50, HOSTILE, "dim"), told("g", HOSTILE, element("rect", x=1, y=number(2)))]
    root = ElementTree.fromstring(document((100.4, 50), HOSTILE, "", body))
    shown = "<script>&\"'\\x1b[31m\\u202e"
    words, group = root.find(f"{SPACE}text"), root.find(f"{SPACE}g")
    assert (words.text, words.attrib) == (shown, {"class": "dim", "x": "1", "y": "2.5"})
    assert (group.get("aria-label"), group[0].text, group[1].tag) == (shown, shown, f"{SPACE}rect")
    assert (root.get("aria-label"), root.get("viewBox")) == (shown, "0 0 100 50")


@pytest.mark.parametrize(
    "call",
    [
        ("map", "configs/whisper-large-v3-rocm.yaml"),
        ("mm-prefix", "configs/gemma-3-27b-two-images.yaml"),
        ("plan", "examples/models/qwen3-8b", "--available-kv-cache-memory", "9GiB", "--sweep", "max-model-len=8k..32k"),
    ],
    ids=lambda call: call[0],
)
def test_every_drawing_is_well_formed_and_says_what_its_parts_are(run, tmp_path, call):
    file = tmp_path / "drawn.svg"
    done = run(*call, "-o", str(file))
    assert done.returncode == 0, done.stderr
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    cells = [part for part in root.iter() if "cell" in (part.get("class") or "").split()]
    assert cells
    for cell in cells:
        assert cell.get("aria-label") == cell.find(f"{SPACE}title").text
        assert (cell.get("tabindex"), cell.get("role")) == ("0", "img")
