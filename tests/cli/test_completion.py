"""Shell completion: the scripts that shells load, what the program then answers, and a shell that runs both."""

import re
import shutil
import subprocess

import pytest

HOW = {
    "bash": lambda words: {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)},
    "zsh": lambda words: {"_TYPER_COMPLETE_ARGS": words},
    "fish": lambda words: {"_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
}


@pytest.fixture
def answered(script):
    def runner(shell, words, how="complete"):
        env = {**script, **HOW[shell](words), "_KVINSPECT_COMPLETE": f"{how}_{shell}"}
        return subprocess.run(["kvinspect"], env=env, capture_output=True, text=True, check=False)

    return runner


@pytest.mark.parametrize("shell", HOW)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("kvinspect li", "lint"),
        ("kvinspect lint --fo", "--format"),
        ("kvinspect lint --format sa", "sarif"),
        ("kvinspect lint --fail-on er", "error"),
        ("kvinspect rule KV10", "KV103"),
        ("kvinspect lint --select KV30", "KV301"),
    ],
)
def test_words_are_completed(shell, words, expected, answered):
    done = answered(shell, words)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(rf"(^|[\s\"]){expected}\b", done.stdout)
    assert "align" not in done.stdout


@pytest.mark.parametrize("shell", HOW)
def test_every_shell_gets_a_script(shell, answered):
    done = answered(shell, "", "source")
    assert done.returncode == 0
    assert f"_KVINSPECT_COMPLETE=complete_{shell}" in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_bash_runs_the_script(script):
    code = """
        eval "$(_KVINSPECT_COMPLETE=source_bash kvinspect)"
        complete -p kvinspect
        COMP_WORDS=(kvinspect ru) COMP_CWORD=1
        _kvinspect_completion kvinspect
        echo "${COMPREPLY[@]}"
    """
    done = subprocess.run(["bash", "--norc", "-c", code], env=script, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "rule"
    assert "_kvinspect_completion kvinspect" in done.stdout
