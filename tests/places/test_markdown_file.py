"""Markdown and notebooks: which fences and cells are read, with the places of the outer file."""

import json

import pytest

from kvinspect.document.problem import Mark
from kvinspect.places import markdown_file, notebook_file


def fenced(language, text="vllm serve m --seed 1"):
    return list(markdown_file.find(f"# A\n\n```{language}\n{text}\n```\n", "a.md"))


@pytest.mark.parametrize(
    "language", ["", "bash", "sh", "shell", "console", "Bash", "{.bash .annotate}", 'bash title="run.sh"']
)
def test_fences_of_a_shell(language):
    (one,) = fenced(language)
    assert (one.form, one.words[1].mark) == ("Markdown: shell fence", Mark(4, 14))


@pytest.mark.parametrize("language", ["text", "json", "diff", "output", "markdown"])
def test_fences_of_other_languages(language):
    assert fenced(language) == []


def test_a_session_is_read_behind_its_prompts():
    (one,) = fenced("console", "vllm serve old --seed 2\n$ vllm serve m \\\n    --seed 1\nvllm serve args")
    assert [(word.text, *word.mark) for word in one.words] == [("m", 5, 14), ("--seed", 6, 5), ("1", 6, 12)]


@pytest.mark.parametrize("language", ["bash", "python", ""])
def test_a_cell_pasted_into_a_fence(language):
    (one,) = fenced(
        language,
        "# a cell\nimport os\n!vllm serve {m} --seed 1 &" if language == "python" else "!vllm serve m --seed 1",
    )
    assert [word.text for word in one.words[1:]] == ["--seed", "1"]
    assert one.words[1].mark.column == (17 if language == "python" else 15)


def test_imports_of_an_earlier_fence_count():
    text = "```python\nfrom vllm import LLM\n```\n\n```py\n>>> LLM('m', seed=1)\n```\n"
    (one,) = markdown_file.find(text, "a.md")
    assert (one.form, one.entries[1].key.mark) == ("Markdown: Python fence", Mark(6, 14))


@pytest.mark.parametrize("before", ["> ", "- ", "1. ", "    ", '=== "tab"\n\n    '])
def test_fences_inside_other_blocks(before):
    indent = "> " if before == "> " else " " * len(before.split("\n")[-1])
    text = f"{before}```bash\n{indent}vllm serve m --seed 1\n{indent}```\n"
    (one,) = markdown_file.find(text, "a.md")
    line, column = one.words[1].mark
    assert text.split("\n")[line - 1][column - 1 :] == "--seed 1"


def notebook(*cells, kind="code"):
    return json.dumps({"cells": [{"cell_type": kind, "source": cell} for cell in cells], "nbformat": 4}, indent=1)


@pytest.mark.parametrize(
    "cell",
    [
        ["!vllm serve m --seed 1\n"],
        "!vllm serve m --seed 1",
        ["%%bash\n", "vllm serve m --seed 1"],
        ["x = 1\n", "if x:\n", "  !nohup vllm serve m \\\n", "    --seed 1 &\n", "y = 2"],
        ["import os\n", "os.system('vllm serve m --seed 1')"],
    ],
)
def test_commands_of_cells(cell):
    text = notebook(cell)
    (one,) = notebook_file.find(text, "a.ipynb")
    line, column = one.words[1].mark
    assert (one.form, [word.text for word in one.words]) == ("Notebook", ["m", "--seed", "1"])
    assert text.split("\n")[line - 1][column - 1 :].startswith("--seed")


def test_cells_share_their_imports_and_magics_are_passed_over():
    text = notebook(["%pip install vllm\n", "from vllm import LLM"], ["%time\n", "LLM('m', seed=1)"])
    (one,) = notebook_file.find(text, "a.ipynb")
    assert [entry.key.text for entry in one.entries] == ["model", "seed"]


def test_text_and_output_hold_none():
    assert list(notebook_file.find(notebook("```\nvllm serve m --seed 1\n```", kind="markdown"), "a.ipynb")) == []


def test_a_name_in_braces_is_a_variable():
    (one,) = notebook_file.find(notebook("!vllm serve {model} --seed 1"), "a.ipynb")
    assert (one.words[0].text, one.words[0].opaque) == ("${model}", True)
