"""The files that other programs read are what those programs take: offline, by the schemas and validators they publish."""

import subprocess
import sys

import pytest
import yaml
from pre_commit import clientlib

from conftest import ROOT

FILES = {
    "action.yml": "github-actions",
    "examples/ci/github-workflow.yml": "github-workflows",
    "examples/ci/gitlab-ci.yml": "gitlab-ci",
}


def checked(path, schema):
    call = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path)]
    return subprocess.run(call, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("name", "schema"), FILES.items(), ids=FILES.values())
def test_a_file_fits_its_published_schema(name, schema):
    done = checked(ROOT / name, schema)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "schema", "before", "after"),
    [
        ("action.yml", "github-actions", "shell: bash", "shell: {}"),
        ("examples/ci/github-workflow.yml", "github-workflows", "runs-on: ubuntu-latest", "runs_on: ubuntu-latest"),
        ("examples/ci/gitlab-ci.yml", "gitlab-ci", "when: always", "when: sometimes"),
    ],
)
def test_the_schemas_refuse_what_is_wrong(name, schema, before, after, tmp_path):
    path = tmp_path / "wrong.yml"
    path.write_text((ROOT / name).read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    assert checked(path, schema).returncode == 1


def test_the_hooks_are_a_manifest_that_pre_commit_loads():
    hooks = clientlib.load_manifest(ROOT / ".pre-commit-hooks.yaml")
    assert [hook["id"] for hook in hooks] == ["kvinspect-lint"]


def test_the_example_of_a_pre_commit_config_loads_and_names_our_hook():
    config = clientlib.load_config(ROOT / "examples" / "ci" / "pre-commit-config.yaml")
    assert [hook["id"] for repo in config["repos"] for hook in repo["hooks"]] == ["kvinspect-lint"]


def test_the_workflow_hands_the_action_inputs_that_it_has():
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    workflow = yaml.safe_load((ROOT / "examples" / "ci" / "github-workflow.yml").read_text(encoding="utf-8"))
    (step,) = [step for step in workflow["jobs"]["kvinspect"]["steps"] if "kvinspect" in step["uses"]]
    assert set(step["with"]) <= set(action["inputs"])


def test_no_example_names_what_is_not_there_and_lint_passes_over_all(run):
    for path in (ROOT / "examples" / "ci").iterdir():
        text = path.read_text(encoding="utf-8")
        assert "OWNER" not in text
        assert "--quiet kvinspect" not in text
    done = run("lint", "examples/ci", "configs/llama-3.1-8b.yaml")
    assert done.returncode == 0, done.stdout
