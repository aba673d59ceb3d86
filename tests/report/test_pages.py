"""Pages of HTML: what they say, that they need nothing else, and how a browser shows them where there is one."""

import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser

import pytest

from kvinspect.report.html import Drawing, html
from kvinspect.report.page_parts import Column, Heading, Item, Paragraph, Picture, Span, Table, cell, columns, spans

CALLS = {
    "plan": ("plan", "google/gemma-3-27b-it", "--gpu", "H200"),
    "refused": ("plan", "examples/models/gemma-3-27b", "--gpu", "H100"),
    "sweep": ("plan", "examples/models/qwen3-8b", "--gpu", "H100", "--sweep", "max_num_seqs=64,128,256"),
    "map": ("map", "examples/rocm-hybrid.yaml"),
    "mask": ("mm-prefix", "configs/gemma-3-27b-two-images.yaml"),
}
SAYS = {
    "plan": ("✓ Fits: ", "FULL_AND_PIECEWISE", "memory of each GPU", "Attention backends", "<svg"),
    "refused": ("≈ Tight: ", "What would fit", "--kv-cache-dtype fp8"),
    "sweep": ("✓ All 3 plans fit", "max_num_seqs", "<svg", "<table"),
    "map": ("✗ Unsound", "block 1 of model.layers.0.self_attn.attn", "<svg"),
    "mask": ("↓ 1 of 2 multimodal ranges attends bidirectionally", "<svg"),
}
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FOREIGN = "<script>alert(1)</script>"


@pytest.fixture
def page(run, tmp_path, request):
    """The page of a call, as a file."""

    def written(name):
        made = tmp_path / f"{name}.html"
        done = run(*CALLS[name], "-o", made)
        assert done.returncode in (0, 1), done.stderr
        return made

    return written


class Checked(HTMLParser):
    """A parser that pairs tags."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", CALLS)
def test_a_page_begins_with_the_verdict_and_needs_nothing_else(page, name):
    text = page(name).read_text(encoding="ascii")
    plain = unescape(text)
    verdict, *rest = SAYS[name]
    assert re.sub("<[^>]*>", "", re.search("<h1>(.*?)</h1>", plain)[1]).startswith(verdict)
    assert all(words in plain for words in rest)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    parser = Checked()
    parser.feed(text)
    assert parser.open == []


def test_foreign_text_stays_text_in_every_block():
    line, one = spans(Span(FOREIGN, "strong")), cell(FOREIGN)
    blocks = [Heading(line, line), Paragraph(line), Item(FOREIGN, line), Picture((line,))]
    blocks.append(Table(columns(FOREIGN, Column(FOREIGN, "number")), ((one, one),)))
    text = html(FOREIGN, [*blocks, Drawing("<svg></svg>")])
    assert text.count("<script>") == 1
    assert text.count("&lt;script&gt;") == 11


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", CALLS)
def test_a_browser_shows_a_page_without_scrolling_it_sideways(page, name, width):
    made = page(name)
    probe = (
        "<script>addEventListener('load',()=>{const cell=document.querySelector('.cell');if(cell)cell.focus();"
        "document.title=document.documentElement.scrollWidth+' '+innerWidth+' '+"
        "(cell?document.getElementById('detail').textContent===cell.getAttribute('aria-label'):true)})</script>"
    )
    made.write_text(made.read_text().replace("</body>", f"{probe}</body>"))
    call = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},900", "--dump-dom"]
    done = subprocess.run([*call, made.as_uri()], capture_output=True, text=True, timeout=60, check=False)
    found = re.search(r"<title>(\d+) (\d+) (\w+)</title>", done.stdout)
    if found is None:
        pytest.skip("Chromium does not start here")
    wide, window, told = found.groups()
    assert int(wide) <= max(int(window), width)
    assert told == "true"
