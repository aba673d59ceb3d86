"""What a hostile name can do to whoever reads the output, and what a call can do to the files that it names."""

import json
import os
import stat
import subprocess
import sys

import pytest

from conftest import ROOT, document
from kvinspect.output.files import write_files


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full", "2> >(true)"])
@pytest.mark.parametrize(
    ("call", "code"),
    [("align configs/llama-3.1-8b.yaml", 0), ("align nowhere.yaml", 2), ("align", 2), ("align configs/ -f json", 0)],
)
def test_standard_error_that_takes_nothing_changes_no_code(where, call, code):
    command = f"{sys.executable} -m kvinspect {call} >/dev/null {where}; echo $?"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)
    expected = subprocess.run(
        ["bash", "-c", command.replace(where, "2>/dev/null")], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stdout == expected.stdout


@pytest.mark.parametrize("call", ["align configs/llama-3.1-8b.yaml", "--version", "--help", "schema"])
def test_an_answer_that_is_lost_is_an_error(call):
    command = f"{sys.executable} -m kvinspect {call} >/dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr.count("standard output cannot be written: No space left")) == (2, 1)


MODEL = ROOT / "examples" / "models" / "qwen3-8b" / "config.json"
SIZES = ["--available-kv-cache-memory", "12GiB"]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "doc.json").write_text(json.dumps(document("l")))
    (tmp_path / "config.json").write_text(MODEL.read_text())
    (tmp_path / "serve.yaml").write_text("model: .\n")
    (tmp_path / "baseline.json").write_text('{"schema_version": 1, "findings": []}')
    (tmp_path / "link.json").symlink_to("doc.json")
    os.link(tmp_path / "doc.json", tmp_path / "hard.json")
    return tmp_path


@pytest.mark.parametrize(
    "call",
    [
        *([command, "doc.json", "-f", how, "-o", out] for command, how in (("align", "json"), ("cg-support", "yaml"), ("map", "svg"), ("doctor", "json"), ("lint", "sarif"), ("mm-prefix", "json")) for out in ("doc.json", "link.json", "hard.json", "./doc.json")),
        ["diff", "doc.json", "hard.json", "-f", "json", "-o", "link.json"],
        ["lint", "doc.json", "--write-baseline", "doc.json"],
        ["lint", "doc.json", "hard.json", "--jobs", "2", "-o", "doc.json"],
        ["lint", "doc.json", "--baseline", "baseline.json", "-f", "json", "-o", "baseline.json"],
        ["plan", "config.json", *SIZES, "-o", "config.json"],
        ["plan", "serve.yaml", *SIZES, "-o", "serve.yaml"],
        ["plan", "serve.yaml", *SIZES, "-o", "config.json"],
        ["plan", "config.json", "--config", "serve.yaml", *SIZES, "-o", "serve.yaml"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_input_is_never_written_over(run, files, call):
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    done = run(*call, cwd=files, env={"PYTHONPATH": str(ROOT)})
    assert (done.returncode, "is an input of this call" in done.stderr) == (2, True), done.stderr
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


def test_standard_input_is_an_input(files):
    command = f"{sys.executable} -m kvinspect align - -f json -o doc.json < doc.json"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=files,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, (files / "doc.json").stat().st_size > 0) == (2, True)


def test_a_report_in_the_folder_that_it_is_of_can_be_written_again(run, tmp_path):
    (tmp_path / "doc.json").write_text(json.dumps(document("l")))
    for command in ("align", "lint", "align"):
        assert run(command, tmp_path, "-f", "json", "-o", tmp_path / f"{command}-report.json").returncode == 0


def test_files_of_one_answer_are_written_together_or_not_at_all(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "c").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        write_files({str(tmp_path / "a"): "new", str(tmp_path / "b"): "new", str(tmp_path / "c"): "new"})
    with pytest.raises(OSError, match="nowhere"):
        write_files({str(tmp_path / "a"): "new", str(tmp_path / "nowhere" / "b"): "new"})
    (tmp_path / "d").symlink_to("a")
    with pytest.raises(OSError, match="the same file"):
        write_files({str(tmp_path / "a"): "new", str(tmp_path / "d"): "newer"})
    assert (tmp_path / "a").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "c", "d"]


def test_a_file_that_fails_late_puts_the_others_back(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old")
    replace = os.replace

    def failing(new, target):
        if str(target).endswith("/c"):
            raise OSError(1, "Operation not permitted")
        replace(new, target)

    monkeypatch.setattr(os, "replace", failing)
    with pytest.raises(OSError, match="/c"):
        write_files({str(tmp_path / name): "new" for name in ("a", "b", "c")})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old"}


def test_devices_and_open_streams_are_written_to(run, tmp_path):
    assert run("align", "configs/llama-3.1-8b.yaml", "-o", "/dev/null").returncode == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    log = tmp_path / "log"
    log.write_text("before\n")
    command = f"{sys.executable} -m kvinspect align configs/llama-3.1-8b.yaml -o /dev/stdout >> {log}"
    assert subprocess.run(["bash", "-c", command], cwd=ROOT, check=False).returncode == 0
    assert log.read_text(encoding="utf-8").startswith("before\n✓ Sound")


SECRET = "hunter2-\x1b"


@pytest.mark.parametrize("how", ["above", "absolute", "link", "linked folder", "not JSON", "draft"])
@pytest.mark.parametrize(
    "call", [["lint"], ["plan", *SIZES], ["plan", *SIZES, "--config"]], ids=["lint", "plan", "--config"]
)
def test_nothing_outside_the_folder_of_a_file_is_quoted(run, tmp_path, how, call):
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "config.json").write_text(
        json.dumps({"architectures": ["LlamaForCausalLM"], "hidden_size": SECRET, SECRET: 1})
    )
    if how == "not JSON":
        (outside / "config.json").write_text(f"{SECRET}: [")
    (inside / "link.json").symlink_to(outside / "config.json")
    (inside / "folder").symlink_to(outside)
    (inside / "config.json").write_text(MODEL.read_text())
    model = {
        "above": "../out",
        "absolute": str(outside / "config.json"),
        "link": "link.json",
        "linked folder": "folder",
        "not JSON": "../out",
        "draft": "config.json",
    }[how]
    serve = {"model": model}
    if how == "draft":
        serve["speculative_config"] = {"method": "eagle3", "model": str(outside), "num_speculative_tokens": 2}
    (inside / "serve.yaml").write_text(json.dumps(serve))
    done = run(*call, inside / "serve.yaml")
    assert done.returncode in (1, 2)
    assert "hunter2" not in done.stdout + done.stderr
    assert "its content is not quoted" in done.stdout + done.stderr


@pytest.mark.parametrize(
    "call",
    [["plan", "serve.yaml", *SIZES], ["plan", "--config", "serve.yaml", *SIZES], ["lint", "serve.yaml"]],
    ids=" ".join,
)
def test_an_input_file_causes_no_network_access(tmp_path, call):
    (tmp_path / "serve.yaml").write_text(
        "model: org/name\nspeculative_config: {method: eagle, model: org/draft, num_speculative_tokens: 1}\n"
    )
    hub = tmp_path / "huggingface_hub.py"
    hub.write_text("def hf_hub_download(*a, **k):\n    print('FETCHED')\n    raise SystemExit(99)\n")
    code = "import socket, sys\ndef no(*a, **k): print('SOCKET'); raise SystemExit(98)\nsocket.socket = socket.create_connection = no\nsys.argv[0] = 'kvinspect'\nfrom kvinspect.cli.main import run\nsys.exit(run())"
    done = subprocess.run(
        [sys.executable, "-c", code, *call],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1, 2)
    assert "FETCHED" not in done.stdout + done.stderr
    assert "SOCKET" not in done.stdout + done.stderr


def test_doctor_prints_tables_in_a_terminal_and_markdown_elsewhere(run, tmp_path):
    pty = pytest.importorskip("pty")

    def in_a_terminal(*words):
        shown = bytearray()

        def read(fd):
            data = os.read(fd, 1024)
            shown.extend(data)
            return data

        with open(os.devnull, "wb") as nowhere:
            kept = os.dup(1)
            os.dup2(nowhere.fileno(), 1)
            try:
                pty.spawn([sys.executable, "-m", "kvinspect", "doctor", *words], read)
            finally:
                os.dup2(kept, 1)
        return shown.decode()

    file = tmp_path / "x_y.json"
    file.write_text(json.dumps(document("a_b")))
    assert "a_b" in in_a_terminal(str(file))
    assert "a\\_b" in in_a_terminal(str(file), "-f", "markdown")
    assert "a\\_b" in run("doctor", file).stdout
    done = run("doctor")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "### **kvinspect doctor**")
    assert "vllm" in json.loads(run("doctor", "-f", "json").stdout)["versions"]


def test_a_sarif_message_holds_no_placeholder_and_no_link(run, tmp_path):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(document("l", "{0} [text](https://evil)")))
    (result,) = json.loads(run("lint", file, "-f", "sarif").stdout)["runs"][0]["results"]
    assert r"{{0}} \[text\](https://evil)" in result["message"]["text"]


def test_verify_says_nothing_of_numpy(run):
    pytest.importorskip("torch")
    done = run("align", "configs/llama-3.1-8b.yaml", "--verify", "--num-blocks", "2", "--device", "cpu")
    assert (done.returncode, "NumPy" in done.stderr) == (0, False)


@pytest.mark.parametrize("name", ["\ud800", "a\0b"], ids=ascii)
def test_a_name_that_no_file_can_have_is_refused(name):
    with pytest.raises(OSError, match="no file has such a name"):
        write_files({name: "text"})
