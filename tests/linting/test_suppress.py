"""Comments that silence findings, and those that silence nothing."""

from pathlib import Path

import pytest

import kvinspect
from kvinspect.linting.settings import Settings

BARE = (Path(__file__).parent / "eagle.yaml").read_text(encoding="utf-8")
LINE = "speculative_config: {num_speculative_tokens: 3, method: eagle3}"


def codes(text, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    return [finding.code for finding in kvinspect.lint(path, settings=Settings()).findings]


def test_without_a_comment_there_is_a_finding(tmp_path):
    assert codes(BARE, tmp_path) == ["KV303"]


@pytest.mark.parametrize(
    "comment", ["ignore[KV303]", "ignore[spec-decode-downgrade]", "ignore", "ignore[KV303, KV303]"]
)
def test_on_its_line(comment, tmp_path):
    assert "KV303" not in codes(BARE.replace(LINE, f"{LINE}  # kvinspect: {comment}"), tmp_path)


def test_on_the_line_before(tmp_path):
    assert codes(BARE.replace(LINE, f"# kvinspect: ignore[KV303]\n{LINE}"), tmp_path) == []


def test_at_the_head_for_the_whole_file(tmp_path):
    assert codes(f"# kvinspect: ignore[KV303]\n{BARE}", tmp_path) == []


@pytest.mark.parametrize("comment", ["ignore[KV101]", "ignore[KV999]", "ignore"])
def test_what_silences_nothing_is_a_finding(comment, tmp_path):
    text = BARE.replace("platform: cuda", f"platform: cuda  # kvinspect: {comment}")
    assert codes(text, tmp_path) == ["KV006", "KV303"]


def test_one_code_of_two_may_be_idle(tmp_path):
    assert codes(BARE.replace(LINE, f"{LINE}  # kvinspect: ignore[KV303,KV101]"), tmp_path) == ["KV006"]


def test_words_in_a_value_are_no_comment(tmp_path):
    text = BARE.replace("method: eagle3", "method: 'x#kvinspect: ignore[KV303]'")
    assert codes(text, tmp_path) == ["KV303"]


def test_a_layer_name_silences_nothing():
    result = kvinspect.lint(Path(__file__).parent / "silenced_by_layer_name.json", settings=Settings())
    assert result.failing
    assert "KV006" not in [finding.code for finding in result.findings]


@pytest.mark.parametrize(
    "value",
    [
        "'x # kvinspect: ignore'",
        '"x # kvinspect: ignore"',
        "'x\n  # kvinspect: ignore[KV303]'",
        "|\n  # kvinspect: ignore",
        ">-\n  x\n\n  # kvinspect: ignore[KV303]",
        "x#kvinspect:ignore",
    ],
)
def test_words_in_a_value_of_whatever_style_silence_nothing(value, tmp_path):
    model = "model_config:\n num_attention_heads: 32\n max_model_len: 131072\n model_type: " + value
    text = BARE[: BARE.index(LINE)] + f"{model}\n{LINE}\n"
    assert codes(text, tmp_path) == ["KV303"]


@pytest.mark.parametrize("head", ["", "%YAML 1.1\n", "\ufeff", "\n\n", "# first\n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_head_of_a_file(head, end, tmp_path):
    text = f"{head}# kvinspect: ignore[KV303]\n" + ("---\n" if "%" in head else "") + BARE
    assert codes(text.replace("\n", end), tmp_path) == []


@pytest.mark.parametrize("comment", ["ignore[KV303", "ignore[]", "ignore-file", "ignored"])
def test_what_is_no_suppression_silences_nothing(comment, tmp_path):
    found = codes(BARE.replace(LINE, f"{LINE}  # kvinspect: {comment}"), tmp_path)
    assert found == (["KV303", "KV006"] if "[" in comment else ["KV303"])


@pytest.mark.parametrize("change", [("FLASHINFER", "FLASHINFR"), ('"0.27"', '"0.99"')])
@pytest.mark.parametrize("where", ["head", "line"])
def test_what_keeps_a_file_from_being_judged_is_never_silenced(change, where, tmp_path):
    text = BARE.replace(*change)
    text = "# kvinspect: ignore\n" + text if where == "head" else text.replace("\n", "  # kvinspect: ignore\n")
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    result = kvinspect.lint(path, settings=Settings())
    assert not result.judged
    assert "KV006" not in [finding.code for finding in result.findings]
