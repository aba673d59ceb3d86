"""Settings and baselines that somebody wrote to hurt: each ends in one message that names the limit."""

import os
import tracemalloc

import pytest

import kvinspect
from kvinspect.document.files import read_bounded
from kvinspect.document.limits import MAX_BASELINE_BYTES, MAX_SETTINGS, MAX_SETTINGS_BYTES
from kvinspect.linting import baseline, settings, toml_file
from kvinspect.linting.settings import read_settings

DEEP = 100_000


def said(path):
    with pytest.raises(kvinspect.DocumentError) as caught:
        read_settings(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n".join(f"key{i} = 1" for i in range(20_000)), f"at most {MAX_SETTINGS} settings, found more"),
        ("[per-file-ignores]\n" + "\n".join(f"'{i}*' = []" for i in range(5_000)), f"at most {MAX_SETTINGS} settings"),
        ("select = [" + "'KV1'," * 20_000 + "]", f"at most {MAX_SETTINGS} settings"),
        ("engine = " + "[" * DEEP, "at most 50 levels of tables and lists"),
        ("engine = " + "{a=" * 20_000, "at most 50 levels of tables and lists"),
        (".".join(["a"] * DEEP) + " = 1", ":1:1: expected at most 50 levels of tables and lists"),
        ("\n[" + " . ".join(['"a"'] * 20_000) + "]", ":2:1: expected at most 50 levels of tables and lists"),
        ("engine = " + "9" * 5_000, "not valid TOML: Exceeds the limit"),
        ("engine = 0x" + "f" * 9_000, "expected a word, found int"),
        ("device-capability = 1e999", "expected a compute capability"),
        ("x" * 200_000 + " = 1", "unknown key"),
        ("# " + "x" * MAX_SETTINGS_BYTES, f"at most {MAX_SETTINGS_BYTES} bytes of settings"),
        ("engine = '\x00'", "not valid TOML"),
    ],
)
@pytest.mark.parametrize("name", ["kvinspect.toml", "pyproject.toml"])
def test_hostile_settings_end_in_a_message(text, expected, name, tmp_path):
    path = tmp_path / name
    if name == "pyproject.toml":
        text = "[tool.kvinspect]\n" + text.replace("\n[per", "\n[tool.kvinspect.per").replace(
            "[per-", "[tool.kvinspect.per-"
        )
        expected = expected.replace(":1:1:", ":2:1:").replace(":2:1:", ":")
    path.write_text(text, encoding="utf-8")
    assert expected.removeprefix(":") in said(path)


def test_a_thousand_wrong_keys_at_the_end_of_a_long_file_are_placed_in_one_pass(tmp_path, monkeypatch):
    passes = []
    found = toml_file._lines_of_keys
    monkeypatch.setattr(toml_file, "_lines_of_keys", lambda lines: passes.append(len(lines)) or found(lines))
    path = tmp_path / "kvinspect.toml"
    path.write_text("\n" * 100_000 + "".join(f"key{i} = 1\n" for i in range(900)), encoding="utf-8")
    text = said(path)
    assert passes == [100_900]
    assert "kvinspect.toml:100001:1: key0: unknown key" in text
    assert text.splitlines()[-1].endswith("has more problems, which are not shown")
    assert len(text.splitlines()) == 101


def test_a_files_path_is_resolved_once_however_many_patterns_there_are(tmp_path, monkeypatch):
    (tmp_path / "kvinspect.toml").write_text(
        "[per-file-ignores]\n" + "".join(f"'{i}*' = ['KV1']\n" for i in range(400)), encoding="utf-8"
    )
    read, asked, real = read_settings(tmp_path / "kvinspect.toml"), [], os.path.realpath
    monkeypatch.setattr(settings.os.path, "realpath", lambda path: asked.append(path) or real(path))
    assert "KV101" in read.codes("x.yaml")
    assert asked == ["x.yaml"]


@pytest.fixture(params=["device", "sparse", "pipe", "folder"])
def endless(request, tmp_path):
    """(A file that has no end or no content, what is said of it.)"""
    path = tmp_path / "endless"
    if request.param == "device":
        if not os.path.exists("/dev/zero"):
            pytest.skip("needs a file without an end")
        return "/dev/zero", "cannot be read: not a regular file"
    if request.param == "sparse":
        path.touch()
        os.truncate(path, 1 << 30)
        return path, "at most"
    if request.param == "pipe":
        os.mkfifo(path)
        return path, "cannot be read: not a regular file"
    path.mkdir()
    return path, "cannot be read: Is a directory"


def test_a_baseline_and_settings_are_read_within_bounds(endless):
    path, expected = endless
    tracemalloc.start()
    for read in (lambda: baseline.read(str(path)), lambda: read_bounded(path, MAX_BASELINE_BYTES)):
        with pytest.raises(kvinspect.DocumentError, match=expected):
            read()
    with pytest.raises(kvinspect.DocumentError, match=expected):
        toml_file.read_toml(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2 * MAX_BASELINE_BYTES


def test_a_document_may_come_through_a_pipe_and_an_idle_pipe_is_empty(tmp_path):
    os.mkfifo(tmp_path / "idle.yaml")
    assert not kvinspect.lint(tmp_path / "idle.yaml").judged
    reading, writing = os.pipe()
    os.write(writing, b"block-size: 16\n")
    os.close(writing)
    assert read_bounded(f"/dev/fd/{reading}", 100, pipes=True) == b"block-size: 16\n"


@pytest.mark.parametrize(
    "text", ["[" * DEEP, '{"findings": ' + "[" * DEEP, '{"findings": [{"fingerprint": ' + "9" * 9_000 + "}]}"]
)
def test_a_nested_or_huge_baseline_is_none(text, tmp_path):
    path = tmp_path / "baseline.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(kvinspect.DocumentError, match="no baseline"):
        baseline.read(str(path))


def test_a_baseline_of_other_bytes_is_told_with_its_place(tmp_path):
    (tmp_path / "baseline.json").write_bytes(b'{"findings": [\n"\xff"]}')
    with pytest.raises(kvinspect.DocumentError, match=r"baseline\.json:2:2: expected text in UTF-8"):
        baseline.read(str(tmp_path / "baseline.json"))
