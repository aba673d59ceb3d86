"""The action's and the GitLab job's own scripts, run as their runners run them, with the program where they install it."""

import json
import re
import subprocess

import pytest
import yaml

from conftest import ROOT

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step.get("name", step.get("uses")): step for step in ACTION["runs"]["steps"]}
EAGLE = (ROOT / "tests" / "linting" / "eagle.yaml").read_text(encoding="utf-8")
CLEAN = (ROOT / "configs" / "llama-3.1-8b.yaml").read_text(encoding="utf-8")


@pytest.fixture
def repository(tmp_path):
    configs = tmp_path / "repository" / "configs"
    configs.mkdir(parents=True)
    (configs / "llama.yaml").write_text(CLEAN, encoding="utf-8")
    return configs.parent


@pytest.fixture
def step(repository, script):
    """Runs a step of the action by its name, with inputs, as a runner does: `bash --noprofile --norc -eo pipefail`."""

    def runner(name, **inputs):
        given = {key: str(entry.get("default", "")) for key, entry in ACTION["inputs"].items()}
        given |= {key.replace("_", "-"): value for key, value in inputs.items()}
        env = {k: _filled(v, given) for k, v in STEPS[name].get("env", {}).items()}
        call = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
        return subprocess.run(
            call,
            cwd=repository,
            env={**script, "GITHUB_ACTIONS": "true", **env},
            capture_output=True,
            text=True,
            check=False,
        )

    return runner


def _filled(text, inputs):
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text)


def test_no_script_has_an_input_pasted_into_it():
    assert not [step for step in STEPS.values() if "${{" in step.get("run", "")]


def test_a_clean_repository_passes(step, repository):
    assert step("Write SARIF").returncode == 0
    done = step("Lint")
    assert (done.returncode, done.stdout) == (0, "All checks passed! (1 file)\n")
    assert json.loads((repository / "kvinspect.sarif").read_text(encoding="utf-8"))["runs"][0]["results"] == []


def test_a_finding_is_an_annotation_a_result_and_a_failed_job(step, repository):
    (repository / "configs" / "eagle.yaml").write_text(EAGLE, encoding="utf-8")
    assert step("Write SARIF", sarif_file="found.sarif").returncode == 0
    done = step("Lint")
    assert done.returncode == 1
    assert re.match(
        r"::warning file=configs/eagle\.yaml,line=17,col=46,title=KV303 spec-decode-downgrade::", done.stdout
    )
    (result,) = json.loads((repository / "found.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("KV303", "warning")


def test_inputs_reach_the_program(step, repository):
    (repository / "configs" / "eagle.yaml").write_text(EAGLE, encoding="utf-8")
    assert step("Lint", fail_on="error").returncode == 0
    assert step("Lint", paths="configs/llama.yaml\n\n").returncode == 0
    assert step("Lint", paths="configs/llama.yaml\nconfigs/eagle.yaml\n").returncode == 1
    assert step("Lint", engine="0.25, 0.27").stdout.count("::warning") == 1


def test_a_call_that_is_wrong_fails_the_job_and_not_the_upload(step, repository):
    assert step("Write SARIF", engine="0.7").returncode == 0
    assert step("Lint", engine="0.7").returncode == 2
    assert not (repository / "kvinspect.sarif").exists()


def test_paths_and_names_are_words_and_no_commands(step, repository):
    name = "configs/$(touch pwned); --exit-zero `id`.yaml"
    (repository / name).write_text(EAGLE, encoding="utf-8")
    assert step("Lint", paths=name).returncode == 1
    assert step("Lint", paths="--exit-zero").returncode == 2
    assert not (repository / "pwned").exists()


def test_the_program_is_where_the_install_step_puts_it():
    assert 'venv "$RUNNER_TEMP/kvinspect"' in STEPS["Install"]["run"]
    assert all('"$RUNNER_TEMP/kvinspect/bin/kvinspect" lint' in STEPS[name]["run"] for name in ("Write SARIF", "Lint"))


def test_the_gitlab_job_writes_a_report_and_fails(repository, script):
    job = yaml.safe_load((ROOT / "examples" / "ci" / "gitlab-ci.yml").read_text(encoding="utf-8"))["kvinspect"]
    lines = "\n".join(line for line in job["script"] if "pip install" not in line)

    def run():
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", lines], cwd=repository, env=script, check=False, capture_output=True
        )

    report = repository / job["artifacts"]["reports"]["codequality"]
    assert run().returncode == 0
    assert json.loads(report.read_text(encoding="utf-8")) == []
    (repository / "configs" / "eagle.yaml").write_text(EAGLE, encoding="utf-8")
    assert run().returncode == 1
    assert [issue["check_name"] for issue in json.loads(report.read_text(encoding="utf-8"))] == ["KV303"]
