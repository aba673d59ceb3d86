"""Files that are judged in part, and files over which something goes wrong: said in every format, never clean."""

import json
import os

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.api.lint import Options, lint_many
from kvinspect.linting import lint_file as lint_run
from kvinspect.linting import read as reading
from kvinspect.linting.settings import Settings
from kvinspect.models import hub

EAGLE = (ROOT / "tests" / "linting" / "eagle.yaml").read_text(encoding="utf-8")
SAID = "judged by its flags only: the model's config.json is not here"
HOWS = ("text", "json", "github", "sarif", "junit", "gitlab")


@pytest.fixture
def lint(run, tmp_path):
    return lambda *arguments, **more: run("lint", *arguments, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, **more)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("model", ["", "model: Qwen/Qwen3-8B\n", "model: ./nowhere\n"])
def test_a_serve_file_whose_model_is_not_here_says_so_in_every_format(lint, tmp_path, how, model):
    (tmp_path / "serve.yaml").write_text(model + "tensor-parallel-size: 2\n", encoding="utf-8")
    done = lint("serve.yaml", "--format", how)
    assert (done.returncode, done.stderr) == (0, "")
    assert SAID in done.stdout.replace("&apos;", "'")
    assert "(1 file)" not in done.stdout


@pytest.mark.parametrize("how", HOWS)
def test_a_planning_document_without_memory_says_that_its_cache_is_not_judged(lint, tmp_path, how):
    spec = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype": "bfloat16"}
    document = {"engine": "0.28", "kv_cache_specs": {"l": spec}}
    (tmp_path / "x.json").write_text(json.dumps(document), encoding="utf-8")
    done = lint("x.json", "--format", how)
    assert (done.returncode, done.stderr) == (0, "")
    assert lint_run.NOT_PLANNED in done.stdout
    assert "All checks passed" not in done.stdout
    (tmp_path / "x.json").write_text(json.dumps(document | {"available_memory": [1 << 30]}), encoding="utf-8")
    assert lint_run.NOT_PLANNED not in lint("x.json", "--format", how).stdout


def test_the_summary_counts_what_was_judged_in_part(lint, tmp_path):
    (tmp_path / "serve.yaml").write_text("max-num-seqs: 16\n", encoding="utf-8")
    assert lint("serve.yaml").stdout == f"serve.yaml: {SAID}\nNo findings in 1 file, 1 judged in part.\n"
    (tmp_path / "eagle.yaml").write_text(EAGLE, encoding="utf-8")
    assert lint(".").stdout.splitlines()[-1] == "Found 1 finding (1 warning) in 2 files, 1 judged in part."


def test_an_input_file_never_makes_lint_fetch(tmp_path, monkeypatch):
    def fetched(name):
        raise AssertionError(name)

    monkeypatch.setattr(hub, "_fetched", fetched)
    model = ROOT / "examples" / "models" / "qwen3-8b"
    for text in (
        "model: Qwen/Qwen3-8B\nblock-size: 16\n",
        f"model: {model}\nspeculative-config: {{method: eagle3, model: x/y, num_speculative_tokens: 2}}\n",
    ):
        (tmp_path / "serve.yaml").write_text(text, encoding="utf-8")
        assert not kvinspect.lint(tmp_path / "serve.yaml", settings=Settings()).fault


def test_a_comment_for_a_rule_that_was_not_asked_is_not_unused(tmp_path):
    path = tmp_path / "serve.yaml"
    path.write_text(
        "block-size: 16  # kvinspect: ignore[KV405]\nseed: 1  # kvinspect: ignore[KV007]\n", encoding="utf-8"
    )
    assert [(f.code, f.mark.line) for f in kvinspect.lint(path, settings=Settings()).findings] == [("KV006", 2)]


def test_a_comment_that_one_requested_release_uses_is_not_unused(lint, tmp_path):
    text = (ROOT / "configs" / "whisper-large-v3-rocm.yaml").read_text(encoding="utf-8")
    text = text.replace("kvinspect: ignore", "")
    (tmp_path / "x.yaml").write_text(f"# kvinspect: ignore[KV102,KV110]\n{text}", encoding="utf-8")

    def found(engine):
        done = lint("x.yaml", "--select", "KV006,KV102", "--engine", engine, "--format", "json")
        return [finding["message"][:5] for finding in json.loads(done.stdout)["findings"]]

    assert found("0.25") == ["KV102", "KV110"]
    assert found("0.27") == ["KV110"]
    assert found("0.25,0.27") == ["KV110"]
    assert found("0.27,0.25") == ["KV110"]


def test_standard_input_is_read_once(lint, tmp_path):
    (tmp_path / "a.yaml").write_text(EAGLE, encoding="utf-8")
    (tmp_path / "b.yaml").write_text(EAGLE, encoding="utf-8")
    for arguments in (("--jobs", "2"), ("--engine", "0.27,0.28"), ("--jobs", "3", "--engine", "0.25,0.27")):
        done = lint("-", "a.yaml", "b.yaml", "--format", "json", *arguments, stdin=EAGLE)
        findings = json.loads(done.stdout)["findings"]
        assert [finding["source"] for finding in findings] == ["<stdin>", "a.yaml", "b.yaml"]
        assert {finding["code"] for finding in findings} == {"KV303"}


def test_a_pipe_is_read_by_the_process_that_holds_it(tmp_path):
    names = [tmp_path / name for name in ("a.yaml", "b.yaml")]
    for path in names:
        path.write_text(EAGLE, encoding="utf-8")
    reading, writing = os.pipe()
    os.write(writing, EAGLE.encode())
    os.close(writing)
    results = lint_many([f"/dev/fd/{reading}", *map(str, names)], Options(), jobs=2)
    assert [[finding.code for finding in result.findings] for result in results] == [["KV303"]] * 3


@pytest.mark.parametrize("where", ["read_source", "kind_of", "from_source", "silenced"])
@pytest.mark.parametrize("error", [RecursionError("deep"), KeyError("x"), MemoryError(), ZeroDivisionError()])
def test_whatever_goes_wrong_is_a_finding_of_its_file_and_no_secret(tmp_path, monkeypatch, where, error):
    module = reading if where in ("read_source", "kind_of") else lint_run
    real = getattr(module, where)

    def broken(origin, *rest, **more):
        if "bad" in str(getattr(origin, "name", origin)) or any("bad" in getattr(r, "name", "") for r in rest):
            raise error
        return real(origin, *rest, **more)

    if where == "kind_of":
        monkeypatch.setattr(module, where, lambda value, name: broken(name) if "bad" in name else real(value, name))
    else:
        monkeypatch.setattr(module, where, broken)
    for name in ("bad.yaml", "good.yaml"):
        (tmp_path / name).write_text(EAGLE, encoding="utf-8")
    bad, good = lint_many([str(tmp_path / "bad.yaml"), str(tmp_path / "good.yaml")], Options())
    assert [finding.code for finding in good.findings] == ["KV303"]
    assert (bad.judged, [finding.code for finding in bad.findings]) == (False, ["KV001"])
    assert f"internal error: {type(error).__name__}" in bad.findings[0].message
    assert "Traceback" in bad.fault
    assert not good.fault


def test_a_process_that_the_system_ends_costs_one_file(tmp_path, monkeypatch):
    from kvinspect.api import lint as api

    real = api.lint_under

    def ended(name, *rest, **more):
        if name.endswith("2.yaml"):
            os._exit(9)
        return real(name, *rest, **more)

    monkeypatch.setattr(api, "lint_under", ended)
    names = [str(tmp_path / f"{i}.yaml") for i in range(4)]
    for name in names:
        with open(name, "w", encoding="utf-8") as file:
            file.write(EAGLE)
    results = lint_many(names, Options(), jobs=2)
    assert [result.judged for result in results] == [True, True, False, True]


def test_wrong_settings_of_a_folder_cost_the_other_folders_nothing(lint, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.yaml").write_text(EAGLE, encoding="utf-8")
        (tmp_path / name / "y.yaml").write_text(EAGLE, encoding="utf-8")
    (tmp_path / "a" / "kvinspect.toml").write_text("selct = []", encoding="utf-8")
    done = lint(".", "--format", "json")
    codes = [(finding["source"], finding["code"]) for finding in json.loads(done.stdout)["findings"]]
    assert codes == [("a/x.yaml", "KV001"), ("a/y.yaml", "KV001"), ("b/x.yaml", "KV303"), ("b/y.yaml", "KV303")]
    assert (done.returncode, done.stderr.count("did you mean select?")) == (2, 1)
