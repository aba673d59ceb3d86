"""What README and docs show is what the program prints."""

import re
import shlex
import subprocess
import sys

import pytest
import yaml

from conftest import ROOT
from kvinspect.document.load import load

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
README = PAGES[0].read_text(encoding="utf-8")


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)


SCREENS = re.findall(r"^```console\n(kvinspect [^\n]*)\n```\n\n```text\n(.*?)```", README, flags=re.M | re.S)


def test_the_readme_begins_with_what_people_who_serve_models_ask():
    commands = [command for command, _ in SCREENS]
    assert commands[0] == blocks(PAGES[0], "console")[0].strip()
    assert commands[0] == "kvinspect plan Qwen/Qwen3-32B --gpu 2xH100 --max-model-len 32k --kv-cache-dtype fp8"
    assert [command.split()[1] for command in commands] == ["plan", "plan", "fit", "align"]
    assert len(SCREENS) == len(blocks(PAGES[0], "text"))


@pytest.mark.parametrize(("command", "shown"), SCREENS, ids=[command for command, _ in SCREENS])
def test_the_readme_shows_what_the_program_prints(run, command, shown):
    done = run(*shlex.split(command)[1:], env={"HF_ENDPOINT": "http://127.0.0.1:1", "COLUMNS": "100"})
    assert done.stdout == shown


def test_the_python_of_the_readme_runs():
    for code in blocks(PAGES[0], "python"):
        subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, capture_output=True)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_every_example_runs(path):
    subprocess.run([sys.executable, path], check=True, cwd=ROOT, capture_output=True)


def test_the_documents_in_the_docs_are_documents():
    pages = [page for page in PAGES if page.parent.name != "rules"]
    found = [yaml.safe_load(text) for page in pages for text in blocks(page, "yaml")]
    whole = [value for value in found if "engine" in value]
    assert len(whole) >= 2
    for value in whole:
        load(value)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_within_the_repository_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_readme_has_the_command_that_ci_runs():
    pattern = re.search(r"command=\$\(sed -n 's/\^\\\((.*?)\\\)\$", (ROOT / ".ci" / "run").read_text())[1]
    assert len(re.findall(f"^{pattern}$", README, flags=re.M)) == 1


QUESTIONS = re.findall(
    r"^## (.*?)\n\n```console\n(kvinspect .*?)\n```\n\n```text\n(.*?)```",
    (ROOT / "docs" / "questions.md").read_text(encoding="utf-8"),
    flags=re.M | re.S,
)


def test_there_are_questions_and_the_readme_leads_to_them():
    text = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    assert len(QUESTIONS) == len(re.findall("^## ", text, flags=re.M)) >= 10
    assert all(question.endswith("?") for question, _, _ in QUESTIONS)
    assert "docs/questions.md" in README


@pytest.mark.parametrize(("command", "shown"), [one[1:] for one in QUESTIONS], ids=[one[0] for one in QUESTIONS])
def test_a_question_is_answered_first_and_without_a_network(run, command, shown):
    done = run(*shlex.split(command)[1:], env={"HF_ENDPOINT": "http://127.0.0.1:1"})
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout.startswith(shown)
