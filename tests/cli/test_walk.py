"""Which files a call of lint names, and what becomes of names, folders, links and settings that are out of the ordinary."""

import json
import os
import subprocess

import pytest

from conftest import ROOT
from kvinspect.cli.walk import files_below, named_files

EAGLE = (ROOT / "tests" / "linting" / "eagle.yaml").read_text(encoding="utf-8")
HOWS = ("text", "json", "github", "sarif", "junit", "gitlab")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "configs" / "deep").mkdir(parents=True)
    for name in ("a.yaml", "b.yml", "c.json", "deep/d.YAML"):
        (tmp_path / "configs" / name).write_text(EAGLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "configs"


@pytest.fixture
def lint(run, folder):
    return lambda *arguments, **more: run("lint", *arguments, cwd=folder.parent, env={"PYTHONPATH": str(ROOT)}, **more)


def below(name="configs"):
    return [found.file for found in named_files([name])]


def test_a_folder_is_its_yaml_and_json_files_sorted(folder):
    for name in ("notes.md", ".hidden.yaml", "config.toml"):
        (folder / name).write_text("x", encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "x.yaml").write_text("x", encoding="utf-8")
    assert below() == ["configs/a.yaml", "configs/b.yml", "configs/c.json", "configs/deep/d.YAML"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("configs/*.y*ml", ["configs/a.yaml", "configs/b.yml"]),
        ("configs/**/*.YAML", ["configs/deep/d.YAML"]),
        ("configs/[ab].*", ["configs/a.yaml", "configs/b.yml"]),
        ("nowhere/*", []),
    ],
)
def test_patterns(folder, pattern, expected):
    assert below(pattern) == expected


@pytest.mark.parametrize("command", ["align", "lint", "plan", "diff", "doctor", "mm-prefix", "map", "cg-support"])
@pytest.mark.parametrize("char", "[*a")
def test_a_name_longer_than_any_path_is_one_short_message(run, command, char):
    done = run(command, *([str(ROOT / "configs" / "llama-3.1-8b.yaml")] if command == "diff" else []), char * 100_000)
    assert done.returncode == 2
    said = done.stdout + done.stderr
    assert len(said) < 900
    assert "File name too long" in said or "no file or" in said


def test_a_long_pattern_is_a_name(folder):
    long, longest = "[" * 4_097, "[" * 4_096
    assert [one.file for one in named_files([long, "configs/*.json", longest])] == [long, "configs/c.json"]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(folder):
    (folder / "[a].yaml").write_text(EAGLE, encoding="utf-8")
    assert list(named_files(["configs/[a].yaml"])) == [("configs/[a].yaml", True, False)]


def test_rules_of_the_folders_above_count_up_to_the_repository(folder):
    (folder.parent / ".gitignore").write_text("deep/\n", encoding="utf-8")
    assert "configs/deep/d.YAML" in below()
    (folder.parent / ".git").mkdir()
    assert "configs/deep/d.YAML" not in below()
    (folder / ".gitignore").write_text("*.yaml\n!a.yaml\n", encoding="utf-8")
    assert below() == ["configs/a.yaml", "configs/b.yml", "configs/c.json"]


def test_links_to_folders_are_not_followed_and_links_to_files_are(folder):
    (folder / "loop").symlink_to(folder)
    (folder / "link.yaml").symlink_to(folder / "a.yaml")
    (folder / "dangling.yaml").symlink_to(folder / "nowhere")
    found = [path.name for path in files_below(folder)]
    assert found == ["a.yaml", "b.yml", "c.json", "d.YAML", "link.yaml"]


def test_a_folder_called_like_a_file_and_a_pipe_are_no_files(folder):
    (folder / "x.yaml").mkdir()
    os.mkfifo(folder / "pipe.yaml")
    assert [path.name for path in files_below(folder)] == ["a.yaml", "b.yml", "c.json", "d.YAML"]


def test_a_file_that_is_named_twice_is_linted_once(lint):
    done = lint("configs/a.yaml", "./configs/a.yaml", "configs/a.yaml", "configs/*.yaml", "--select", "KV303,KV303")
    assert done.stdout.splitlines()[-1] == "Found 1 finding (1 warning) in 1 file."


def test_others_are_counted(lint, folder):
    (folder / "pod.yaml").write_text("kind: Pod\n", encoding="utf-8")
    (folder / "list.json").write_text("[1]", encoding="utf-8")
    assert "skipped" not in lint("configs").stderr
    assert "2 files skipped" in lint("configs", "-v").stderr


def test_an_empty_folder_is_not_clean(lint, folder):
    (folder / "empty").mkdir()
    done = lint("configs/empty")
    assert (done.returncode, done.stdout) == (2, "Nothing was checked.\n")
    assert lint("configs/empty", "--skip-others").returncode == 0


def test_the_nearest_settings_count_for_each_file(lint, folder):
    (folder.parent / "kvinspect.toml").write_text("per-file-ignores = {'configs/a.yaml' = ['KV3']}", encoding="utf-8")
    (folder / "deep" / "kvinspect.toml").write_text("ignore = ['KV303']", encoding="utf-8")
    (folder / "c.json").unlink()
    found = json.loads(lint("configs", "--format", "json").stdout)["findings"]
    assert [finding["source"] for finding in found] == ["configs/b.yml"]


@pytest.mark.parametrize("how", HOWS)
def test_no_name_breaks_out_of_a_format(lint, folder, how):
    for path in folder.glob("*.*"):
        path.unlink()
    (folder / "x\n::error::y%0A]]>\x1b[31m,\r.yaml").write_text(EAGLE, encoding="utf-8")
    out = lint("configs", "--format", how, "--ignore", "KV001").stdout
    assert "KV303" in out
    assert not any(sign in out for sign in ("\x1b", "\r", "]]>\x1b"))
    commands = [line for line in out.splitlines() if line.lstrip().startswith("::")]
    assert len(commands) == (2 if how == "github" else 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--jobs", "0"], "--jobs"),
        (["-o", "no/where/x"], "No such file or directory"),
        (["--baseline", "configs/a.yaml"], "no baseline"),
        (["--baseline", "nowhere"], "cannot be read"),
        (["--engine", "nonsense,0.27"], "one of 0.25"),
        (["--config", "nowhere.toml"], "cannot be read"),
        (["--config", "configs"], "cannot be read"),
        (["--fail-on", "warn"], "error"),
        (["--format", "xml"], "sarif"),
    ],
)
def test_a_wrong_call_ends_with_2_and_a_word(lint, arguments, said):
    done = lint("configs", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_what_cannot_be_read_is_not_judged(lint, folder):
    (folder / "big.yaml").write_text('engine: "0.27"\n' + "# x\n" * 600_000, encoding="utf-8")
    assert lint("configs/big.yaml").returncode == 2
    (folder / "bytes.yaml").write_bytes(b"engine: \xff\n")
    done = lint("configs/bytes.yaml")
    assert (done.returncode, "the byte 0xff" in done.stdout) == (1, True)


@pytest.fixture
def deep(folder):
    """1,500 folders in each other, made from the inside of each."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    file = os.open("x.yaml", os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(file, EAGLE.encode())
    os.close(file)
    os.close(here)
    yield folder
    # Python's own way to remove folders calls itself for each level.
    subprocess.run(["rm", "-rf", folder / "d"], check=True)


def test_folders_in_folders_in_folders(deep, lint):
    assert sum(path.name == "x.yaml" for path in files_below(deep)) == 1
    (deep / ".gitignore").write_text("**/d/**/y.yaml\n", encoding="utf-8")
    done = lint("configs", "--format", "json")
    assert (done.returncode, len(json.loads(done.stdout)["findings"])) == (1, 5)


def test_folders_deeper_than_a_path_may_be_long_are_said(folder, lint):
    here = os.open(folder, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=here)
        inner = os.open("d" * 250, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    done = lint("configs")
    subprocess.run(["rm", "-rf", folder / ("d" * 250)], check=True)
    assert (done.returncode, "File name too long" in done.stdout, done.stdout.count("KV303")) == (2, True, 3)


@pytest.mark.parametrize("command", ["align", "cg-support", "doctor", "lint"])
@pytest.mark.parametrize("name", ["locked", "locked.yaml"])
def test_what_the_system_does_not_let_be_read_is_said_and_ends_with_2(run, folder, command, name, monkeypatch):
    # Root may read everything, so that a wrapper of the calls takes the place of permissions.
    (folder / name).mkdir() if "." not in name else (folder / name).write_text(EAGLE, encoding="utf-8")
    (folder.parent / "sitecustomize.py").write_text(
        "import os\n"
        "def denied(real):\n"
        "    def call(path, *rest, **more):\n"
        "        if os.path.basename(os.fspath(path)).startswith('locked'):\n"
        "            raise PermissionError(13, 'Permission denied', path)\n"
        "        return real(path, *rest, **more)\n"
        "    return call\n"
        "os.scandir, os.open = denied(os.scandir), denied(os.open)\n",
        encoding="utf-8",
    )
    env = {"PYTHONPATH": f"{folder.parent}{os.pathsep}{ROOT}"}
    done = run(command, "configs", cwd=folder.parent, env=env)
    said = done.stdout + done.stderr
    assert (done.returncode, f"configs/{name}" in said, "Permission denied" in said) == (2, True, True)


def test_odd_entries_neither_hang_nor_crash(folder, lint, run):
    import socket

    os.mkfifo(folder / "pipe.json")
    with socket.socket(socket.AF_UNIX) as plug:
        plug.bind(str(folder / "plug.yaml"))
    for name in (b"n\nl.yaml", b"\x1b[31m.yaml", b"\xff\xfe.yaml", b"x" * 250 + b".yaml", b"\xc3.json"):
        with open(os.fsencode(folder) + b"/" + name, "wb") as file:
            file.write(EAGLE.encode())
    for name, target in (("loop", "."), ("one.yaml", "two.yaml"), ("two.yaml", "one.yaml"), ("zero.yaml", "/dev/zero")):
        (folder / name).symlink_to(target)
    (folder / ".gitignore").write_bytes(b"!\n\\\n[\n[a-\n\0\n  \n" + b"*a" * 11 + b"\n")
    done = lint("configs", "--format", "json")
    assert (done.returncode, done.stderr) == (2, "")
    assert sum(finding["code"] == "KV303" for finding in json.loads(done.stdout)["findings"]) == 7
    done = run("align", "configs", "--quiet", cwd=folder.parent, env={"PYTHONPATH": str(ROOT)})
    assert (done.returncode, done.stderr.count("cannot be read")) == (2, 2)


def test_a_gitignore_without_an_end_is_said_and_the_files_are_linted(folder, lint):
    (folder / ".gitignore").touch()
    os.truncate(folder / ".gitignore", 1 << 30)
    done = lint("configs")
    assert (done.returncode, "bytes of a .gitignore" in done.stdout, done.stdout.count("KV303")) == (2, True, 3)


SECRET = "hunter2"
SECRETS = {
    "word": f"engine: {SECRET}\nkv_cache_config: {{num_blocks: {SECRET}, {SECRET}: 1}}\n",
    "document": EAGLE.replace("FLASH_ATTN", SECRET),
    "finding": EAGLE.replace("model.layers", SECRET).replace("draft", SECRET),
    "syntax": f"{{kv_cache_config: {SECRET}: [",
    "twice": f"{SECRET}: 1\n{SECRET}: 1\nkv_cache_config: 1\n",
    "model": json.dumps({"architectures": [SECRET], "hidden_size": SECRET}),
    "serve": f"model: {SECRET}\nmax-model-len: {SECRET}\n{SECRET}: 1\n",
}


@pytest.mark.parametrize("text", SECRETS.values(), ids=SECRETS)
def test_nothing_is_quoted_of_a_file_behind_a_link_that_leads_out_of_a_folder(printed, tmp_path, text):
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.yaml").write_text(text, encoding="utf-8")
    (inside / "a.yaml").symlink_to(outside / "secret.yaml")
    (inside / "folder").symlink_to(outside)
    calls = [["lint", where, "-f", how] for where in (str(inside), f"{inside}/**/*.yaml") for how in HOWS]
    calls += [["lint", str(inside), "--engine", "0.25,0.28"], ["lint", str(inside), "--debug", "--verbose"]]
    calls += [[command, str(inside)] for command in ("align", "cg-support", "doctor")]
    for call, (code, out, err) in zip(calls, printed(calls), strict=True):
        if call[0] == "lint" or code == 2:
            assert SECRET not in out + err, call
    (_, out, err), (_, named, more) = printed([["lint", str(inside)], ["lint", str(inside / "a.yaml")]])
    assert "its content is not quoted" in out + err
    assert "its content is not quoted" not in named + more


def test_settings_behind_a_link_that_leads_out_are_not_quoted(folder, lint):
    (folder.parent / "secret").write_text(f"{SECRET} = '{SECRET}'", encoding="utf-8")
    (folder / "kvinspect.toml").symlink_to("../secret")
    done = lint("configs/a.yaml")
    assert (done.returncode, SECRET in done.stdout + done.stderr) == (2, False)


def test_a_link_within_a_folder_or_to_the_blobs_of_a_cached_model_is_quoted(tmp_path):
    snapshot = tmp_path / "models--x" / "snapshots" / "1"
    snapshot.mkdir(parents=True)
    (tmp_path / "models--x" / "blobs").mkdir()
    (tmp_path / "models--x" / "blobs" / "b").write_text("{}", encoding="utf-8")
    (snapshot / "config.json").symlink_to("../../blobs/b")
    (snapshot / "again.json").symlink_to("config.json")
    (snapshot / "out.json").symlink_to(ROOT / "examples/models/qwen3-8b/config.json")
    assert [(found.file.rpartition("/")[2], found.elsewhere) for found in named_files([str(snapshot)])] == [
        ("again.json", False),
        ("config.json", False),
        ("out.json", True),
    ]
