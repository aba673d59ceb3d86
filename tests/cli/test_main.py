"""The program as a whole: the page without words, the list of commands, errors of a call."""

import pytest


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
