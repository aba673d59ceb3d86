"""Pictures: what is drawn, and that every drawing is well formed."""

import json
import xml.etree.ElementTree as ET

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.report import terminal
from kvinspect.report.map import html, page, svg
from kvinspect.report.map.scene import matching, scene
from kvinspect.report.page_parts import spans

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def drawn(whisper):
    answer = kvinspect.align(whisper)
    return scene(answer, answer.tensors[0], matching(answer, answer.tensors[0], None))


def test_before_and_after_are_panels_of_one_axis(drawn):
    assert [panel.moment for panel in drawn.panels] == ["before the alignment", "after the alignment"]
    before, after = drawn.panels
    assert any(cell.meets for bar in before.bars for cell in bar.cells)
    assert not any(cell.meets for bar in after.bars for cell in bar.cells)


def test_of_many_blocks_the_first_and_the_last_are_drawn(drawn):
    assert drawn.shown == (0, 1, 2, 7)
    assert [column.hidden for column in drawn.columns].count(True) == 2


def test_of_few_blocks_all_are_drawn(whisper):
    answer = kvinspect.align(whisper, num_blocks=5)
    drawn = scene(answer, answer.tensors[0])
    assert drawn.shown == (0, 1, 2, 3, 4)
    assert not any(column.hidden for column in drawn.columns)


def test_cells_are_the_bytes_of_the_blocks(drawn):
    bar = drawn.panels[0].bars[0]
    assert [(cell.label, cell.start) for cell in bar.cells[:3]] == [("K0", 0), ("K1!", 8192), ("K2!", 16384)]
    assert bar.cells[-1].label == "V7"
    assert bar.cells[-1].end == drawn.size


def test_a_cell_tells_which_block_lies_on_its_bytes(drawn):
    cell = drawn.panels[0].bars[0].cells[1]
    assert cell.meets == ("block 0 of x.0",)
    words = svg.described(drawn.panels[0].bars[0], cell, drawn.panels[0].moment)
    assert words == (
        "s.0: block 1, keys, bytes 8192 to 16383, before the alignment; on the same bytes lies block 0 of x.0"
    )


def test_states_of_a_state_space_layer_are_cells_of_their_own():
    document = json.loads((ROOT / "tests/cases/findings/align-05-mamba-kv-first-unsound.json").read_text())
    answer = kvinspect.align({**document, "engine": "0.25"})
    labels = {cell.label for bar in scene(answer, answer.tensors[0]).panels[-1].bars for cell in bar.cells}
    assert {"S0:0", "S1:0"} <= labels


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_terminal_picture_fits_its_terminal(whisper, width):
    answer = kvinspect.align(whisper, num_blocks=512)
    tensor = answer.tensors[0]
    text = terminal.render(page.page(answer, tensor, ["s.0", "x.0"], 3, width), width=width, colour=False)
    assert max(map(len, text.splitlines())) <= width
    assert "K1!" in text
    assert "before the alignment" in text.splitlines()[2]
    assert ("after the alignment" in text.splitlines()[2]) == (width == 200)


def test_svg_is_well_formed_and_every_cell_can_be_reached_and_read(drawn):
    root = ET.fromstring(svg.svg(drawn, "a <b> & \x1b c.yaml"))
    cells = [group for group in root.iter(f"{SVG}g") if "cell" in group.get("class", "")]
    assert len(cells) == sum(len(bar.cells) for panel in drawn.panels for bar in panel.bars)
    for cell in cells:
        assert cell.get("tabindex") == "0"
        assert cell.find(f"{SVG}title").text == cell.get("aria-label")
        assert cell.find(f"{SVG}text").text
    clashes = [cell for cell in cells if "clash" in cell.get("class")]
    assert clashes
    assert all(cell.find(f"{SVG}text").text.endswith("!") for cell in clashes)


def test_html_needs_nothing_else_and_foreign_text_stays_text(drawn):
    text = html.html(drawn, "<script>alert(1)</script>", spans("why <i>"), "why <b>")
    assert "why <i>" not in text
    assert "<script>alert" not in text
    assert "why <b>" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_the_picture_of_a_counterexample_has_two_bars_and_two_blocks(whisper):
    answer = kvinspect.align({**whisper, "kv_cache_layout": "HND"})
    assert answer.sound is False
    text = "\n".join("".join(s.text for s in line) for line in page.counterexample(answer, answer.tensors[0]).lines)
    assert "s.0" in text
    assert "x.0" in text
    assert "K1!" in text


def test_a_sound_allocation_has_no_counterexample(whisper):
    answer = kvinspect.align(whisper)
    assert page.counterexample(answer, answer.tensors[0]) is None


def test_the_pictures_in_the_docs_are_what_the_program_draws(run):
    for command, path in PICTURES.items():
        done = run(*command.split()[1:], "--format", "svg")
        assert done.stdout == (ROOT / "docs" / "pictures" / path).read_text(encoding="utf-8"), path


PICTURES = {
    "kvinspect map configs/whisper-large-v3-rocm.yaml": "whisper-rocm.svg",
    "kvinspect map examples/rocm-hybrid.yaml": "rocm-hybrid.svg",
    "kvinspect mm-prefix configs/gemma-3-27b-two-images.yaml": "gemma-3-two-images.svg",
}
