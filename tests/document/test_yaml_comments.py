"""Comments are what PyYAML's scanner drops: a letter put into one changes no token, one put anywhere else does."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kvinspect.document.source import parse
from kvinspect.document.yaml_comments import yaml_comments

PIECES = [
    "a: 1\n", "# c\n", "  # c", " #c", "#c", "\n", "\r\n", "\r", "\x85", "\u2028", "\t", "- ", "- x # c\n", "b: 'x # s\n  # s'\n",
    'c: "x # s \\" # s" # c\n', "d: |\n  # s\n  x # s\n # c?\n", "e: >-2 # c\n    # s\n", "f: |+ # c\n\n  # s\n\n# c\n", "g: x\n  # c\n",
    "h: x#s # c\n", "i: [1, # c\n '# s', x#s]\n", "j: {k: 1 # c\n  , 'l # s': 2}\n", "&a ", "*a ", "!t ", "%YAML 1.1 # c\n", "--- # c\n",
    "--- | # c\n # s\n", "... # c\n", "? x # c\n", ": y # c\n", "\ufeff", "é𝕏", "# c # kvinspect: ignore\n", "'", '"', "|", ">", "  ",
]  # fmt: skip


def tokens(text):
    """What the scanner makes of a text, None where it makes nothing."""
    try:
        return [(type(token).__name__, getattr(token, "value", None)) for token in yaml.scan(text, yaml.CSafeLoader)]
    except (yaml.YAMLError, UnicodeError):
        return None


def commented(text):
    """The indices of the number signs in comments."""
    bare = text.removeprefix("\ufeff")
    starts, found = [0], set()
    for line in bare.replace("\r\n", "\r\x00").replace("\x00", "\n").splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for comment in yaml_comments(text):
        at = starts[comment.mark.line - 1] + comment.mark.column - 1
        assert bare[at : at + len(comment.text)] == comment.text
        found |= {at + i for i, char in enumerate(comment.text) if char == "#"}
    return {at + len(text) - len(bare) for at in found}


def holds(text):
    """Whether each number sign of a text is in a comment exactly where a letter behind it changes no token."""
    before, inside = tokens(text), commented(text)
    for at, char in enumerate(text):
        if char == "#":
            same = tokens(text[: at + 1] + "Z" + text[at + 1 :]) == before
            assert same == (at in inside), (text, at)


@settings(max_examples=400)
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_a_letter_in_a_comment_changes_nothing_and_one_elsewhere_does(text):
    if tokens(text) is not None:
        holds(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 'x # no'  # yes", ["# yes"]),
        ("a: | # yes\n  # no\n\n# yes too\nb: 1", ["# yes", "# yes too"]),
        ("a: |\n  x\n # outside\n  # as well\n", ["# outside", "# as well"]),
        ("a: x\n  y # yes\n", ["# yes"]),
        ("a: x#no\nb: x\t# yes", ["# yes"]),
        ("%YAML 1.1 # one\r\n--- # two\r\na: 1 # three\r\n", ["# one", "# two", "# three"]),
        ("[1, # yes\n'# no']", ["# yes"]),
        ("a: >2 # yes\n    # no", ["# yes"]),
        ("a: |# yes\n  # no", ["# yes"]),
        ("\ufeff# yes\na: '# no'", ["# yes"]),
        ("\ufeff\ufeffa: '# no' # yes", ["# yes"]),
    ],
)
def test_tricky_ones(text, expected):
    assert [comment.text for comment in yaml_comments(text)] == expected


def test_json_has_none():
    source = parse('{"a": "x # kvinspect: ignore"}', "x.json")
    assert list(source.comments(source.text)) == []
