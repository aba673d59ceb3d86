"""Fences of Markdown: shell with and without prompts, Python, YAML, Dockerfiles. Inline code and texts hold none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kvinspect.document.problem import Mark
from kvinspect.places import dockerfile, forms, python_file, shell, yaml_file
from kvinspect.places.fragment import Fragment
from kvinspect.places.ipython import parted
from kvinspect.places.source import Source, of_file, of_lines

MAX_CHARACTERS = 2_000_000
_BLOCKS = ["fence", "blockquote", "list", "code", "html_block", "heading"]
_DEEP = 3
"""Fences that stand indented below each other, as MkDocs' tabs have them."""

_SHELL_PROMPT = re.compile(r"\s*(?:\$ +|!(?=\w))")
_PYTHON_PROMPT = re.compile(r"\s*(?:>>>|\.\.\.) ?")


class Fence(NamedTuple):
    """What stands in a fence, and the language that it names."""

    language: str
    source: Source


def find(text: str, name: str) -> Iterator[Fragment]:
    """The places of a Markdown file."""
    if "vllm" not in text.lower() or len(text) > MAX_CHARACTERS:
        return
    names: python_file.Names = {}
    for fence in _fences(of_file(text), 0):
        reader = READERS.get(fence.language)
        if reader is not None:
            yield from reader(fence.source, names)


def _fences(source: Source, deep: int) -> Iterator[Fence]:
    """The fences of a text in their order; an indented block that has fences is looked into."""
    if "```" not in source.text and "~~~" not in source.text:
        return
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero").enable(_BLOCKS).disable("inline")
    lines = source.text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for token in parser.parse(source.text):
        if token.map is None or token.type not in ("fence", "code_block"):
            continue
        first = token.map[0] + (token.type == "fence")
        inner = _inside(source, lines, starts, first, token.content)
        if token.type == "fence":
            yield Fence(_language(token.info), inner)
        elif deep < _DEEP:
            yield from _fences(inner, deep + 1)


def _language(info: str) -> str:
    """The language that a fence names: `bash`, `{.bash .annotate}`, `python title="serve.py"`."""
    return next(iter(info.strip().strip("{}.").replace(",", " ").split()), "").lower().strip("{}.")


def _inside(source: Source, lines: Sequence[str], starts: Sequence[int], first: int, content: str) -> Source:
    """A block's content, each line with where it begins behind indentation and marks of quotes."""
    marks = []
    for number, line in enumerate(content.splitlines()):
        at = min(first + number, len(lines) - 1)
        written = lines[at].rstrip("\r\n")
        before = len(written) - len(line) if written.endswith(line) else 0
        marks.append(source.at(starts[at] + before))
    return of_lines(content, marks)


def _unprompted(source: Source, prompt: re.Pattern[str]) -> Source:
    """What is typed behind the prompts of a session; all of it where there are none."""
    lines = source.text.split("\n")
    if not any(prompt.match(line) for line in lines):
        return source
    found: list[str] = []
    marks: list[Mark] = []
    at, goes_on = 0, False
    for line in lines:
        typed = prompt.match(line)
        skipped = typed.end() if typed else 0
        kept = line[skipped:] if typed or goes_on else ""
        goes_on = kept.endswith("\\")
        found.append(kept)
        marks.append(source.at(at + skipped))
        at += len(line) + 1
    return of_lines("\n".join(found), marks)


def _shell(source: Source, names: python_file.Names) -> Iterator[Fragment]:
    return shell.find_in(_unprompted(source, _SHELL_PROMPT), forms.MARKDOWN_SHELL)


def _python(source: Source, names: python_file.Names) -> Iterator[Fragment]:
    cell = parted(_unprompted(source, _PYTHON_PROMPT))
    yield from shell.find_in(cell.shell, forms.MARKDOWN_SHELL)
    yield from python_file.find_in(cell.python, forms.MARKDOWN_PYTHON, names)


def _dockerfile(source: Source, names: python_file.Names) -> Iterator[Fragment]:
    return dockerfile.find_in(source)


def _yaml(source: Source, names: python_file.Names) -> Iterator[Fragment]:
    for found in yaml_file.find_in(source):
        kind = forms.YAML_SHELL if found.form == forms.YAML_FLAGS else found.form
        yield found._replace(form=f"{forms.MARKDOWN_YAML}, {kind.partition(': ')[2]}")


READERS: dict[str, Callable[[Source, python_file.Names], Iterator[Fragment]]] = {
    **dict.fromkeys(("", "bash", "sh", "shell", "zsh", "console", "shell-session", "terminal", "shellscript"), _shell),
    **dict.fromkeys(("python", "py", "python3", "pycon", "ipython"), _python),
    **dict.fromkeys(("yaml", "yml"), _yaml),
    **dict.fromkeys(("dockerfile", "docker", "containerfile"), _dockerfile),
}
"""A fence's language → what reads it; a fence of another one holds nothing."""
