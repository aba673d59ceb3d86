"""The pre-commit hook: its entry as pre-commit calls it, and pre-commit itself calling it."""

import shlex
import subprocess
import sys

import pytest
import yaml

from conftest import ROOT

(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
EAGLE = (ROOT / "tests" / "linting" / "eagle.yaml").read_text(encoding="utf-8")
CLEAN = (ROOT / "configs" / "llama-3.1-8b.yaml").read_text(encoding="utf-8")
POD = "apiVersion: v1\nkind: Pod\n"


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    for name, text in (("clean.yaml", CLEAN), ("pod.yaml", POD)):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def called(arguments, folder, env):
    return subprocess.run(arguments, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["clean.yaml"], 0),
        (["clean.yaml", "pod.yaml"], 0),
        (["pod.yaml"], 0),
        (["eagle.yaml", "pod.yaml"], 1),
    ],
)
def test_the_entry_takes_file_names_and_passes_over_other_kinds(names, code, repository, script):
    (repository / "eagle.yaml").write_text(EAGLE, encoding="utf-8")
    done = called([*shlex.split(HOOK["entry"]), *names], repository, script)
    assert (done.returncode, done.stderr) == (code, ""), done.stdout + done.stderr
    told = called([*shlex.split(HOOK["entry"]), "-v", *names], repository, script)
    assert ("1 file skipped" in told.stderr) == ("pod.yaml" in names)


def test_pre_commit_runs_it(repository, script, tmp_path):
    hook = {**HOOK, "language": "system"}
    config = {"repos": [{"repo": "local", "hooks": [hook]}]}
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    env = {**script, "PRE_COMMIT_HOME": str(tmp_path / "cache")}
    called(["git", "init", "-q"], repository, env)

    def run():
        called(["git", "add", "."], repository, env)
        return called([sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never"], repository, env)

    done = run()
    assert (done.returncode, "Passed" in done.stdout) == (0, True), done.stdout + done.stderr
    (repository / "eagle.yaml").write_text(EAGLE, encoding="utf-8")
    done = run()
    assert (done.returncode, "eagle.yaml:17:46: warning[KV303]" in done.stdout) == (1, True), done.stdout
