"""Configuration files: found upward, wholly checked, and outdone by the call."""

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.document.finding import Severity
from kvinspect.linting import baseline
from kvinspect.linting.settings import read_settings, settings_for

EAGLE = (ROOT / "tests" / "linting" / "eagle.yaml").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x.yaml").write_text(EAGLE, encoding="utf-8")
    settings_for.cache_clear()
    return tmp_path


def found(project):
    settings_for.cache_clear()
    return [(f.code, f.severity.word) for f in kvinspect.lint(project / "a" / "b" / "x.yaml").findings]


def test_without_a_file_every_rule_is_on(project):
    assert found(project) == [("KV303", "warning")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ignore = ['KV303']", []),
        ("select = ['KV1']", []),
        ("select = ['KV3']", [("KV303", "warning")]),
        ("severity = {KV303 = 'error'}", [("KV303", "error")]),
        ("per-file-ignores = {'b/*' = ['KV303']}", []),
        ("per-file-ignores = {'c/*' = ['KV303']}", [("KV303", "warning")]),
    ],
)
@pytest.mark.parametrize("name", ["kvinspect.toml", "pyproject.toml"])
def test_the_nearest_file_upward_counts(project, name, text, expected):
    head = "[tool.kvinspect]\n" if name == "pyproject.toml" else ""
    (project / "a" / name).write_text(head + text, encoding="utf-8")
    (project / "kvinspect.toml").write_text("ignore = ['KV']", encoding="utf-8")
    assert found(project) == expected


def test_a_pyproject_without_a_table_is_passed_by(project):
    (project / "a" / "pyproject.toml").write_text("[tool.ruff]\n", encoding="utf-8")
    (project / "kvinspect.toml").write_text("ignore = ['KV303']", encoding="utf-8")
    assert found(project) == []


def test_defaults_count_where_the_document_is_silent(project):
    path = project / "a" / "b" / "x.yaml"
    text = (
        EAGLE.replace('engine: "0.27"\n', "").replace('device_capability: "9.0"\n', "").replace("platform: cuda\n", "")
    )
    path.write_text(text, encoding="utf-8")
    (project / "kvinspect.toml").write_text("engine = '0.27'\ndevice-capability = '10.0'\n", encoding="utf-8")
    assert found(project) == []


def test_an_unknown_release_is_told_at_the_configuration_whatever_the_document_names(project):
    (project / "kvinspect.toml").write_text("ignore = []\nengine = '0.99'\n", encoding="utf-8")
    with pytest.raises(kvinspect.DocumentError, match=r"kvinspect\.toml:2:1: engine: .*0\.99"):
        found(project)


def test_every_wrong_key_is_told_with_its_line(tmp_path):
    path = tmp_path / "kvinspect.toml"
    path.write_text("selct = []\nignore = ['KV7']\nfail-on = 'warn'\nseverity = {KV101 = 'bad'}\n", encoding="utf-8")
    with pytest.raises(kvinspect.DocumentError) as caught:
        read_settings(path)
    said = [(error.mark.line, error.text) for error in caught.value.errors]
    assert [line for line, _ in said] == [1, 2, 3, 4]
    assert "did you mean select?" in said[0][1]
    assert "did you mean warning?" in said[2][1]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[severity]\nKV101 = 'note'\nKV102 = 'bad'\n", 3),
        ("[severity]\nKV101 = 'note'\nKV7 = 'note'\n", 3),
        ("ignore = []\n[per-file-ignores]\n'a/*' = ['KV1']\n\"b/*\" = ['KV7']\n", 4),
        ("ignore = []\nseverity = {KV101 = 'note', KV102 = 'bad'}\n", 2),
        ("severity.KV101 = 'note'\nseverity.KV102 = 'bad'\n", 2),
    ],
)
@pytest.mark.parametrize("name", ["kvinspect.toml", "pyproject.toml"])
def test_a_wrong_entry_of_a_table_is_told_with_its_line(text, line, name, tmp_path):
    path = tmp_path / name
    if name == "pyproject.toml":
        text, line = "[tool.kvinspect]\n" + text.replace("\n[", "\n[tool.kvinspect."), line + 1
        text = text.replace("kvinspect]\n[s", "kvinspect]\n[tool.kvinspect.s")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(kvinspect.DocumentError) as caught:
        read_settings(path)
    assert [error.mark.line for error in caught.value.errors] == [line]


def test_a_file_that_is_no_toml_is_told_with_its_place(tmp_path):
    (tmp_path / "kvinspect.toml").write_text("a = ]\n", encoding="utf-8")
    with pytest.raises(kvinspect.DocumentError, match=r"kvinspect\.toml:\d+:\d+: not valid TOML"):
        read_settings(tmp_path / "kvinspect.toml")


@pytest.mark.parametrize(
    "text",
    [
        "device-capability = 'abc'",
        "platform = 'tpu'",
        "select = 'KV1'",
        "engine = 5",
        "baseline = 7",
        "per-file-ignores = 3",
        "severity = []",
    ],
)
def test_a_value_of_another_kind_is_told(text, tmp_path):
    (tmp_path / "kvinspect.toml").write_text(text, encoding="utf-8")
    with pytest.raises(kvinspect.DocumentError, match=r"kvinspect\.toml:1:1: .*expected"):
        read_settings(tmp_path / "kvinspect.toml")


def test_a_capability_may_be_a_number(tmp_path):
    (tmp_path / "kvinspect.toml").write_text("device-capability = 9.0", encoding="utf-8")
    assert read_settings(tmp_path / "kvinspect.toml").device_capability == "9.0"


def test_a_table_that_is_none_is_told(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool]\nkvinspect = 3\n", encoding="utf-8")
    with pytest.raises(kvinspect.DocumentError, match="no table"):
        read_settings(tmp_path / "pyproject.toml")


def test_fail_on_is_a_severity(tmp_path):
    (tmp_path / "kvinspect.toml").write_text("fail-on = 'error'", encoding="utf-8")
    assert read_settings(tmp_path / "kvinspect.toml").fail_on is Severity.ERROR


def test_a_baseline_leaves_out_what_it_knows_as_often_as_it_knows_it(project, tmp_path):
    findings = kvinspect.lint(project / "a" / "b" / "x.yaml").findings
    path = tmp_path / "baseline.json"
    path.write_text(baseline.written(findings), encoding="utf-8")
    assert baseline.new(findings, baseline.read(str(path))) == []
    assert len(baseline.new([*findings, *findings], baseline.read(str(path)))) == 1


def test_a_baseline_never_hides_a_file_that_could_not_be_judged(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("null", encoding="utf-8")
    findings = kvinspect.lint(path).findings
    (tmp_path / "baseline.json").write_text(baseline.written(findings), encoding="utf-8")
    assert baseline.new(findings, baseline.read(str(tmp_path / "baseline.json"))) == list(findings)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"findings": [1]}'])
def test_what_is_no_baseline_is_said(text, tmp_path):
    path = tmp_path / "baseline.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(kvinspect.DocumentError, match="no baseline"):
        baseline.read(str(path))
