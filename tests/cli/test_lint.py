"""The commands `lint` and `rule` as processes."""

import json
import re
import subprocess

import pytest

from conftest import ROOT

EAGLE = ROOT / "tests" / "linting" / "eagle.yaml"
PAGES = ROOT / "docs" / "rules"


@pytest.fixture
def folder(tmp_path):
    configs = tmp_path / "configs"
    configs.mkdir()
    (configs / "eagle.yaml").write_text(EAGLE.read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


@pytest.fixture
def lint(run, folder):
    def runner(*arguments, **more):
        env = {"PYTHONPATH": str(ROOT), **more.pop("env", {})}
        return run("lint", *arguments, cwd=folder, env=env, **more)

    return runner


def test_the_shipped_configs_lint_clean(run):
    done = run("lint", "configs/")
    assert (done.returncode, done.stdout) == (
        0,
        f"All checks passed! ({len(list((ROOT / 'configs').iterdir()))} files)\n",
    )


def test_a_finding_is_a_line_a_snippet_and_a_summary(lint):
    done = lint()
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].startswith(
        "configs/eagle.yaml:17:46: warning[KV303] spec-decode-downgrade: a decode step has 4 tokens"
    )
    assert lines[1] == "17 | speculative_config: {num_speculative_tokens: 3, method: eagle3}"
    assert lines[2] == "   |                                              ^"
    assert lines[3] == "Found 1 finding (1 warning) in 1 file."
    assert done.stderr == ""


def test_exit_codes(lint, folder):
    assert lint("--exit-zero").returncode == 0
    assert lint("--fail-on", "error").returncode == 0
    assert lint("--ignore", "KV303").returncode == 0
    assert lint("--select", "KV1").returncode == 0
    assert lint("--select", "KV3O3").returncode == 2
    assert lint("--engine", "0.7").returncode == 2
    assert lint("nowhere.yaml").returncode == 2
    assert lint("nowhere*").returncode == 2
    (folder / "configs" / "odd.yaml").write_text(
        'engine: "0.7"\nkv_cache_config: {num_blocks: 1, kv_cache_groups: []}\n'
    )
    assert lint().returncode == 2
    assert lint("--exit-zero").returncode == 2


def test_files_of_other_kinds_are_skipped_in_folders_and_not_when_named(lint, folder):
    (folder / "configs" / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\n")
    done = lint("configs")
    assert (done.returncode, "pod.yaml" in done.stdout + done.stderr) == (1, False)
    assert "1 file skipped" in lint("configs", "--verbose").stderr
    assert lint("configs/pod.yaml").returncode == 2


def test_a_folder_without_anything_of_vllm_is_clean(lint, folder):
    (folder / "other").mkdir()
    (folder / "other" / "broken.yaml").write_text("a: [1\n", encoding="utf-8")
    (folder / "other" / "options.yaml").write_text("kv_cache_config: {free_gpu_memory_fraction: 0.9}\n")
    done = lint("other")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Nothing was checked.\n", "")
    (folder / "other" / "document.yaml").write_text("kv_cache_config: {num_blocks: [1\n", encoding="utf-8")
    assert lint("other").returncode == 1


def test_places_are_listed(lint, folder):
    import json

    (folder / "deploy").mkdir()
    compose = "services:\n  a:\n    image: vllm/vllm-openai:v0.28.0\n    command: [--model, m/x, --max-num-seqs, '8']\n"
    (folder / "deploy" / "compose.yaml").write_text(compose, encoding="utf-8")
    (place,) = json.loads(lint("deploy", "--places", "--format", "json").stdout)
    assert (place["file"], place["line"], place["column"]) == ("deploy/compose.yaml", 4, 15)
    assert (place["release"]["value"], place["release"]["line"], place["model"]["value"]) == ("0.28.0", 3, "m/x")
    assert [(one["name"], one["value"]) for one in place["flags"]] == [("model", "m/x"), ("max-num-seqs", "8")]
    assert lint("deploy", "--places").stdout.splitlines()[-1] == "1 place in 1 file."
    assert lint("deploy", "--places", "--format", "sarif").returncode == 2


def test_the_value_of_a_secret_is_in_no_list_of_places(lint, folder):
    script = "vllm serve m/x --api-key abc123 --hf-token ${TOKEN:-def456}\n"
    (folder / "start.sh").write_text(script, encoding="utf-8")
    told = lint("start.sh", "--places", "--format", "json").stdout
    assert told.count('"***"') == 3
    assert not {"abc123", "def456"} & set(told.split('"'))


def test_a_variable_that_no_release_reads_any_more_is_found_where_it_is_set(lint, folder):
    (folder / "start.sh").write_text("VLLM_ATTENTION_BACKEND=TRITON_ATTN vllm serve m/x\n", encoding="utf-8")
    line = lint("start.sh").stdout.splitlines()[0]
    assert line.startswith("start.sh:1:1: warning[KV008]")
    assert "use --attention-backend" in line


@pytest.mark.parametrize("how", ["text", "json", "github", "sarif", "junit", "gitlab"])
def test_a_file_that_cannot_be_judged_is_in_every_format(lint, folder, how):
    (folder / "configs" / "null.json").write_text("null")
    done = lint("configs/null.json", "--format", how)
    assert (done.returncode, done.stderr) == (2, "")
    assert "KV001" in done.stdout
    assert "All checks passed" not in done.stdout
    assert lint("configs/null.json", "--skip-others").returncode == 0


def test_a_file_that_cannot_be_read_costs_the_others_nothing(lint, folder):
    (folder / "configs" / "loop.yaml").symlink_to("loop.yaml")
    for paths in (["configs"], ["configs/loop.yaml", "configs/eagle.yaml"]):
        done = lint(*paths, "--format", "json")
        found = {(finding["code"], finding["source"]) for finding in json.loads(done.stdout)["findings"]}
        assert found == {("KV303", "configs/eagle.yaml"), ("KV001", "configs/loop.yaml")}
        assert done.returncode == 2
    assert 'errors="1"' in lint("--format", "junit").stdout


def test_a_name_that_is_too_long_is_an_error_of_its_file(lint):
    done = lint("x" * 300 + ".yaml", "configs")
    assert (done.returncode, "File name too long" in done.stdout, "KV303" in done.stdout) == (2, True, True)


@pytest.mark.parametrize("option", [("--engine", ""), ("--engine", ","), ("--select", ""), ("--select", " , ")])
def test_an_option_that_names_nothing_is_a_wrong_call(lint, option):
    done = lint(*option)
    assert (done.returncode, option[0] in done.stderr) == (2, True)


def test_what_git_ignores_is_left_alone(lint, folder):
    (folder / ".git").mkdir()
    (folder / ".gitignore").write_text("configs/*.yaml\n!configs/kept.yaml\nbuild/\n")
    (folder / "configs" / "kept.yaml").write_text(EAGLE.read_text())
    (folder / "configs" / "build").mkdir()
    (folder / "configs" / "build" / "x.yaml").write_text(EAGLE.read_text())
    (folder / "configs" / "deep").mkdir()
    (folder / "configs" / "deep" / ".gitignore").write_text("y.yaml\n")
    for name in ("x.yaml", "y.yaml"):
        (folder / "configs" / "deep" / name).write_text(EAGLE.read_text())
    found = json.loads(lint("--format", "json", "configs").stdout)
    assert [finding["source"] for finding in found["findings"]] == ["configs/deep/x.yaml", "configs/kept.yaml"]
    subprocess.run(["rm", "-r", str(folder / ".git")], check=True)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "configs/*.yaml"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(listed.stdout.split()) == ["configs/deep/x.yaml", "configs/kept.yaml"]


def test_standard_input_and_patterns(lint):
    assert "<stdin>:17:46: warning[KV303]" in lint("-", stdin=EAGLE.read_text()).stdout
    assert lint("configs/ea*.yaml").returncode == 1


@pytest.mark.parametrize("how", ["text", "json", "github", "sarif", "junit", "gitlab"])
def test_every_format_goes_to_a_file_as_well(lint, folder, how):
    printed = lint("--format", how).stdout
    assert lint("--format", how, "-o", "out").stdout == ""
    assert (folder / "out").read_text(encoding="utf-8") == printed
    assert "KV303" in printed


def test_in_a_workflow_findings_are_annotations(lint):
    done = lint(env={"GITHUB_ACTIONS": "true"})
    assert done.stdout.startswith(
        "::warning file=configs/eagle.yaml,line=17,col=46,title=KV303 spec-decode-downgrade::"
    )


def test_a_baseline_is_written_and_left_out(lint, folder):
    assert lint("--write-baseline", "known.json").returncode == 0
    assert lint("--baseline", "known.json").returncode == 0
    (folder / "kvinspect.toml").write_text("baseline = 'known.json'")
    assert lint().returncode == 0
    assert "1 finding" in lint("--write-baseline", "again.json").stderr
    (folder / "configs" / "other.yaml").write_text(EAGLE.read_text())
    assert lint().returncode == 1


def test_a_baseline_that_is_not_there_is_an_error_wherever_it_is_named(lint, folder):
    assert lint("--baseline", "nope.json").returncode == 2
    for place in (folder, folder / "configs"):
        (place / "kvinspect.toml").write_text("baseline = 'nope.json'")
        done = lint()
        assert (done.returncode, "nope.json: cannot be read" in done.stderr) == (2, True)
        assert lint("--write-baseline", "new.json").returncode == 0
        (place / "kvinspect.toml").rename(place / "named.toml")
        assert lint("--config", str(place / "named.toml")).returncode == 2


def test_wrong_settings_end_with_2(lint, folder):
    (folder / "kvinspect.toml").write_text("selct = []")
    done = lint()
    assert (done.returncode, "did you mean select?" in done.stderr) == (2, True)


def test_releases_beside_each_other_are_the_upgrade_check(run):
    done = run(
        "lint", "configs/whisper-large-v3-rocm.yaml", "--engine", "0.25,0.27", "--format", "json", "--select", "KV1"
    )
    found = {f["code"]: (f["releases"], f["absent"]) for f in json.loads(done.stdout)["findings"]}
    assert found == {"KV102": (["0.27.1"], ["0.25.1"]), "KV113": (["0.27.1"], ["0.25.1"])}
    assert done.returncode == 1


def test_several_processes_say_the_same(run):
    one = run("lint", "docs/rules", "configs", "tests/linting", "examples", "--format", "json")
    many = run("lint", "docs/rules", "configs", "tests/linting", "examples", "--format", "json", "--jobs", "3")
    assert one.stdout == many.stdout
    assert json.loads(one.stdout)["findings"]


def test_statistics_and_verbose(lint):
    assert lint("--statistics").stdout.splitlines()[0].split() == ["1", "KV303", "spec-decode-downgrade", "(warning)"]
    assert "configs/eagle.yaml: document, vLLM 0.27.1" in lint("--verbose").stderr


def test_rule_prints_pages_and_lists(run):
    assert run("rule", "KV103").stdout == (PAGES / "KV103.md").read_text(encoding="utf-8")
    assert run("rule", "mixed-layouts-skipped").stdout == (PAGES / "KV103.md").read_text(encoding="utf-8")
    listed = run("rule").stdout
    codes = {path.stem for path in PAGES.glob("KV*.md")}
    assert codes
    assert codes <= set(re.findall(r"KV\d+", listed))
    assert json.loads(run("rule", "KV103", "--format", "json").stdout)[0]["severity"] == "error"
    wrong = run("rule", "KV1O3")
    assert (wrong.returncode, "did you mean KV103?" in wrong.stderr) == (2, True)
