"""Texts made to hurt: every detector ends, says nothing wrong, raises nothing and runs nothing."""

import json
import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvinspect.places.find import detect

NAMES = ("a.sh", "a.md", "a.py", "a.ipynb", "Dockerfile")
COMMAND = "vllm serve m --seed 1\n"
TEXTS = {
    "round": "(" * 100_000,
    "square": "[" * 100_000,
    "curly": "{" * 100_000,
    "closing": ")" * 100_000,
    "expansions": "$(" * 50_000,
    "quotes": '"' * 100_001,
    "block quotes": ">" * 100_000,
    "lists": "- " * 50_000,
    "fences": "```\n" * 20_000,
    "continued": "\\\n" * 50_000,
    "heredocs": "RUN <<A\n" * 10_000,
    "one line": "vllm serve " + "a" * 10_000_000,
    "long call": "vllm serve " + "--a 1 " * 50_000,
    "arrays": "A=(--x 1)\n" + "A+=(--x 1)\n" * 1000 + 'vllm serve m "${A[@]}"\n' * 1000,
    "variables": "".join(f"A{i}=$A{i + 1}\n" for i in range(2000)) + "vllm serve $A0\n",
    "itself": 'A=$A\nB=("${B[@]}" $A)\nvllm serve $A "${B[@]}"\n',
    "sums": "x=['vllm','serve']" + "+['a']" * 3000 + "\n",
    "strings": "x='vllm serve a --b'\n" * 3000,
    "expressions": "x=f'vllm serve " + "{a}" * 3000 + "'\n",
    "surrogates": "vllm serve \ud800 é --a 1\n",
    "zeros": "vllm\x00serve m --a\n",
    "carriage returns": "vllm serve a --b 1\r\n" * 100 + "\r",
    "cells": json.dumps({"cells": [{"cell_type": "code", "source": ["!" + COMMAND] * 500}]}),
    "no notebook": '{"cells": [[{"source": "vllm', "deep notebook": '{"cells":' * 20_000,
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_every_text_is_read_to_its_end(name, text):
    places = list(detect(text if "vllm" in text else COMMAND + text, name))
    assert all(place.words or place.entries for place in places)


PIECES = [
    "vllm serve ",
    "vllm",
    "python -m vllm.entrypoints.openai.api_server ",
    "docker run ",
    "vllm/vllm-openai:v0.32.0 ",
]
PIECES += [
    "--seed 1 ",
    "-tp ",
    '"',
    "'",
    "$",
    "${A:-b}",
    "$(",
    "`",
    ")",
    "(",
    "{",
    "}",
    "[",
    "]",
    "\\",
    "\n",
    " ",
    "é",
    "#",
]
PIECES += [
    "A=",
    "A+=(",
    "export ",
    "<<A\n",
    "A\n",
    "|",
    "&&",
    "> ",
    "```bash\n",
    "```\n",
    "    ",
    "- ",
    "LLM(",
    "f'",
    "**",
    ",",
]
PIECES += [
    "from vllm import LLM\n",
    "FROM ",
    "RUN ",
    "CMD [",
    "ENV ",
    '{"cells": [{"cell_type": "code", "source": [',
    "!",
    "%%bash",
]


@given(text=st.lists(st.sampled_from(PIECES), max_size=40).map("".join), name=st.sampled_from(NAMES))
@settings(max_examples=300, deadline=None)
def test_marks_lie_in_the_file(text, name):
    lines = text.split("\n")
    for place in detect(text, name):
        words = [*place.words, *place.whole, *(entry.key for entry in place.entries)]
        for mark in [word.mark for word in words] + [word.begins for word in words]:
            assert 1 <= mark.line <= len(lines)
            assert 1 <= mark.column <= len(lines[mark.line - 1]) + 1


@given(text=st.text(max_size=200))
@settings(max_examples=100, deadline=None)
@pytest.mark.parametrize("name", NAMES)
def test_any_text_is_read(name, text):
    list(detect(f"{COMMAND}{text}\n{COMMAND}", name))


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_run(name, tmp_path, monkeypatch):
    def refused(*_args, **_more):
        raise AssertionError("a program is started")

    for module, names in ((subprocess, ("Popen", "run")), (os, ("system", "popen", "execv", "fork", "posix_spawn"))):
        for one in names:
            monkeypatch.setattr(module, one, refused)
    monkeypatch.chdir(tmp_path)
    calls = f"vllm serve $(touch a) `touch b` --seed 1; touch c\nopen('{tmp_path}/d', 'w')\n"
    notebook = json.dumps({"cells": [{"cell_type": "code", "source": f"open('e', 'w')\n!{calls}"}]})
    for text in (calls, f"```bash\n{calls}```\n```python\n{calls}```\n", f"RUN {calls}", f"'{calls}'", notebook):
        list(detect(text, name))
    assert list(tmp_path.iterdir()) == []
