"""The program as a whole: the page without words, the list of commands, errors of a call."""

import re

import pytest
import typer

from kvinspect.cli.command_list import COMMANDS
from kvinspect.cli.main import program


def test_without_words_a_short_page_says_what_can_be_asked(run):
    done = run()
    assert done.returncode == 0
    assert done.stderr == ""
    assert "kvinspect plan Qwen/Qwen3-32B --gpu 2xH100" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_summaries_of_commands_are_whole_at_80_columns(run):
    shown = run("--help", env={"COLUMNS": "80"}).stdout
    assert "..." not in shown.partition("Commands:")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["alin"], "Error: No such command 'alin'. Did you mean 'align', 'lint'?\nHelp: kvinspect --help\n"),
        (["align"], "Error: Missing argument 'FILE... | MODEL [VLLM FLAGS...]'.\nHelp: kvinspect align --help\n"),
        (["rule", "KVX"], "Error: Invalid value for RULE: no rule is called 'KVX'\nHelp: kvinspect rule --help\n"),
    ],
)
def test_an_error_of_a_call_is_a_line_without_usage(run, words, said):
    done = run(*words)
    assert done.returncode == 2
    assert done.stderr == said
    assert done.stdout == ""


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_the_help_of_a_command_names_values_and_no_types(run, command, columns):
    shown = run(command, "--help", env={"COLUMNS": columns}).stdout
    usage, _, rest = shown.partition("\n\n")
    assert not re.search(r"<(str|int|float|list)\b|list\[|\]\]\.\.\.|\}\.\.\.|\[\[", shown)
    assert usage.startswith(f"Usage: kvinspect {command} [OPTIONS]")
    prose = rest.partition("Examples:")[0] if command != "capture" else ""
    assert max(map(len, prose.splitlines()), default=0) <= int(columns)


def test_every_option_is_explained():
    for name, command in typer.main.get_command(program()).commands.items():
        for one in command.params:
            assert len((one.help or "").split()) >= 3, (name, one.name)
            assert one.help[0].isupper() or one.help.startswith("vLLM"), (name, one.name)
            assert one.help.endswith("."), (name, one.name)
