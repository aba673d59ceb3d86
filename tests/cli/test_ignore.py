"""Patterns of a .gitignore: what git says of drawn ones, and no more work than the path and the patterns are long."""

import random
import shutil
import subprocess

import pytest

from kvinspect.cli.ignore import Rules

PIECES = [
    "a", "b", "*", "*", "**", "/", "/", "?", "[ab]", "[!a]", "[a-c]", "[", "]", "\\", " ", "!", "#", ".", "-", "[^]", "[]a]",
    "[a\\]", "[[:alpha:]]", "[[:x:]]", "[[:", "[a-", "***", "é", "\r", "[\\", "[-a]", "foo", "[a-\\c]", "[:a]", "[[a]",
]  # fmt: skip
NAMES = [
    "a",
    "b",
    "c",
    "foo",
    "-",
    "]",
    "[",
    "é",
    "a b",
    "abc",
    "foob",
    "ab ",
    "a.b",
    "!",
    "#",
    "\\",
    "a\\",
    " ",
    "[a",
    "aé",
]


def drawn(chance):
    """(the text of a .gitignore, paths)."""
    lines = ["".join(chance.choices(PIECES, k=chance.randint(0, 7))) for _ in range(chance.randint(1, 3))]
    text = chance.choice(["\n", "\r\n"]).join(lines).encode()
    text = text.replace(b"b", b"\0") if chance.random() < 0.05 else text
    text = b"\xef\xbb\xbf" + text if chance.random() < 0.05 else text
    return text, list({"/".join(chance.choices(NAMES, k=chance.randint(1, 3))): None for _ in range(12)})


def verdict(rules, path):
    """As git tells of a path: a folder that is ignored takes all below it along."""
    parts = path.encode().split(b"/")
    found = None
    for count in range(1, len(parts) + 1):
        found = rules.ignore(b"/".join(parts[:count]), is_folder=count < len(parts))
        if found and count < len(parts):
            return True
    return found


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_git_says_the_same_of_drawn_patterns(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for seed in range(150):
        text, paths = drawn(random.Random(seed))
        (tmp_path / ".gitignore").write_bytes(text)
        ask = ["git", "check-ignore", "--no-index", "-z", "-v", "-n", "--stdin"]
        asked = "".join(f"{path}\0" for path in paths).encode()
        out = subprocess.run(ask, input=asked, cwd=tmp_path, capture_output=True).stdout.split(b"\0")
        said = [pattern and not pattern.startswith(b"!") for pattern in out[2::4]]
        rules = Rules(text)
        found = [b"" if (one := verdict(rules, path)) is None else one for path in paths]
        assert found == said, (text, paths)


@pytest.mark.parametrize(
    "text",
    [
        "*a" * 11,
        "*a" * 30_000 + "b",
        "**/" * 20_000 + "b",
        "**/a/" * 10_000 + "b",
        "*" * 60_000 + "b",
        "a*?" * 20_000,
        "[!b]*" * 12_000,
        "[[:alpha:]]*" * 5_000 + "b",
        "*a*b\n" * 12_000,
        "/**/x/**/y\n" * 5_000,
        "[" * 60_000,
        "[[:" * 20_000,
        "[a" * 30_000,
        "\\" * 60_001,
        " " * 60_000 + "\\",
    ],
)
def test_no_pattern_takes_longer_than_it_is_long(text):
    rules = Rules(text.encode())
    steps = []
    for automaton in (rules._names, rules._paths):
        entered = automaton._entered
        automaton._entered = lambda states, entered=entered: steps.append(1) or entered(states)
    path = b"/".join([b"a" * 255] * 10)
    rules.ignore(path, is_folder=False)
    assert len(steps) <= len(path) + 255


def test_the_bits_of_an_automaton_are_as_many_as_the_text_is_long():
    text = b"*a?[b-d]**/x\n" * 4_000
    rules = Rules(text)
    assert rules._paths._ends.bit_length() + rules._names._ends.bit_length() <= len(text)
