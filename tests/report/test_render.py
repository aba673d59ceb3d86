"""Pages in every format."""

from hypothesis import example, given
from hypothesis import strategies as st

from kvinspect.output.safe import safe, safe_line
from kvinspect.report import markdown, terminal
from kvinspect.report.fold import human_bytes
from kvinspect.report.page_parts import Heading, Page, Paragraph, Picture, Span, Table, cell, columns, spans

foreign = st.text(max_size=40)


@given(foreign)
def test_safe_text_is_printable_and_one_line(text):
    assert safe(text).isprintable()
    assert len(safe_line(text)) == len(text)
    assert safe_line(text).isprintable()


def page_of(text):
    return Page(
        (
            Heading(spans(Span(text, "strong")), spans("right")),
            Table(columns("a", "b"), ((cell(text), cell(text, "two")),)),
            Paragraph(spans(text)),
            Picture((spans(text),)),
        )
    )


@given(foreign, st.sampled_from([None, 20, 80]), st.booleans())
def test_a_terminal_page_has_no_control_characters_of_others(text, width, colour):
    out = terminal.render(page_of(text), width=width, colour=colour)
    plain = out.replace("\x1b[", "") if colour else out
    assert all(char.isprintable() or char == "\n" for char in plain)


@given(foreign)
@example("| ")
def test_markdown_keeps_a_row_a_row(text):
    *others, _ = page_of(text).blocks  # what is fenced stands as it is, a bar at its beginning too
    rows = [line for line in markdown.render(Page(tuple(others))).splitlines() if line.startswith("| ")]
    assert len(rows) == 3
    assert all(row.replace("\\|", "").count("|") == 3 for row in rows)


def test_sizes_are_written_in_the_unit_that_fits():
    assert [human_bytes(n) for n in (0, 1, 1023, 1024, 1536, 1 << 30, 5 << 60, 1 << 75)] == [
        "0 bytes", "1 byte", "1023 bytes", "1 KiB", "1.5 KiB", "1 GiB", "5 EiB", "32768 EiB",
    ]  # fmt: skip
