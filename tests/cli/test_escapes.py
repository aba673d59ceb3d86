"""No word of a runner's and no character of a terminal's leaves kvinspect: each sink × each command × each syntax."""

import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT, document
from kvinspect.output.safe import Syntax, holds_command, without_commands
from kvinspect.report.data import as_json, as_yaml

COMMANDS = {
    "github": "::set-output name=v::sound",
    "v1": "l ##[set-output name=v]sound",
    "azure": "l ##vso[task.setvariable variable=v]sound",
    "wrapped": "a" * 97 + " " + "b" * 20 + " ::set-output name=v::sound",
    "next line": "x\n::set-output name=v::sound",
    "carriage return": "x\r::set-output name=v::sound",
    "blanks": " \u00a0\t::set-output name=v::sound",
    "terminal": "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m",
}
LOOKS_LIKE_A_COMMAND = re.compile(r"##\w*\[|^\s*::(?!(?:error|warning|notice) file=)", re.MULTILINE)
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


CALLS = {
    **{f"align {how}": ["align", "-f", how, "--explain"] for how in ("table", "json", "yaml", "markdown")},
    **{f"cg-support {how}": ["cg-support", "-f", how] for how in ("table", "json", "yaml", "markdown")},
    **{f"mm-prefix {how}": ["mm-prefix", "-f", how] for how in ("table", "json", "yaml", "markdown", "svg", "html")},
    **{f"map {how}": ["map", "-f", how] for how in ("text", "svg", "html")},
    **{f"doctor {how}": ["doctor", "-f", how] for how in ("table", "json", "yaml", "markdown")},
    **{f"lint {how}": ["lint", "-f", how] for how in ("text", "json", "github", "sarif", "junit", "gitlab")},
    **{
        f"diff {how}": ["diff", "configs/llama-3.1-8b.yaml", "-f", how] for how in ("table", "json", "yaml", "markdown")
    },
    "plan": ["plan"],
}


@pytest.mark.parametrize("name", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("backend", ["FLASH_ATTN", None], ids=["as a layer", "as a backend"])
def test_no_command_reaches_a_runner_in_any_format_of_any_command(printed, tmp_path, name, backend):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(document("l" if backend is None else name, backend or name)))
    calls = [[*call, str(file)] for call in CALLS.values()]
    for label, (code, out, err) in zip(CALLS, printed(calls), strict=True):
        assert code in (0, 1, 2), (label, err)
        for text in (out, err):
            assert not LOOKS_LIKE_A_COMMAND.search(text), (label, text)
            assert not RAW.search(text), (label, text)


def test_no_command_reaches_a_runner_from_a_call(printed, tmp_path):
    words = list(COMMANDS.values())
    calls = [
        [command, word] for command in ("align", "map", "lint", "rule", "plan", "doctor", "diff") for word in words
    ]
    calls += [
        ["align", str(ROOT / "configs/llama-3.1-8b.yaml"), option, word]
        for option in ("--engine", "--layer", "--device", "-f", "-o")
        for word in words
    ]
    calls += [["--" + word] for word in words]
    for call, (code, out, err) in zip(calls, printed(calls, tmp_path), strict=True):
        assert code in (0, 1, 2, 3), (call, err)
        for text in (out, err):
            assert not LOOKS_LIKE_A_COMMAND.search(text), (call, text)
            assert not RAW.search(text), (call, text)


foreign = st.lists(
    st.sampled_from(["#", ":", "[", "]", "vso", "\n", " ", "\\", '"', "'", "\r", "é", "?", "-", "a" * 90])
).map("".join)


@given(st.dictionaries(foreign, st.one_of(foreign, st.lists(foreign)), max_size=4))
def test_values_stay_what_they_are(value):
    for text, read in ((as_json(value), json.loads), (as_yaml(value), yaml.safe_load)):
        written = without_commands(text, Syntax.QUOTED)
        assert read(written) == value
        assert not LOOKS_LIKE_A_COMMAND.search(written)


@given(st.lists(st.sampled_from(["#", ":", "[", "vso", "\n", " ", "\x1b[1m"])).map("".join))
def test_nothing_is_left_and_what_is_harmless_is_left_alone(text):
    for syntax in Syntax:
        written = without_commands(text, syntax)
        assert not holds_command(written)
        assert holds_command(text) or written == text


def test_our_own_annotations_reach_github(run, tmp_path):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(document("##vso[x]y", "::x::y")))
    done = run("lint", file, "-f", "github")
    assert done.stdout.startswith("::error file=")
