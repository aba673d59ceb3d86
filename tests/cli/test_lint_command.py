"""`kvinspect lint MODEL [VLLM FLAGS...]` as a process: what stands where, in each format, and how it ends."""

import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ET

import jsonschema
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "linting"))
from test_formats import GITLAB, SARIF

from conftest import ROOT

MODEL = "Qwen/Qwen3-8B"
FOUND = ("--engine", "0.27", "--attention-backend", "FLASHINFER", "--speculative-config")
NGRAM = '{"method": "ngram", "num_speculative_tokens": 3}'
FORMATS = ("text", "json", "github", "sarif", "junit", "gitlab")
GONE = ("--max-num-partial-prefills", "2")
"""A flag of 0.25 and of no newer release."""

EVIL = "x\n::error::y]]>\x1b[31m\r\u202e<b>&\"' ##vso[a]b"


def codes(run, *words, **more):
    done = run("lint", *words, "-f", "json", **more)
    assert done.stderr == ""
    return done.returncode, [(one["code"], one["path"]) for one in json.loads(done.stdout)["findings"]]


def test_a_finding_stands_under_the_flag_that_causes_it(run):
    done = run("lint", MODEL, *FOUND, NGRAM)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (1, "")
    assert lines[0].startswith("<command line>:1:57: warning[KV303] spec-decode-downgrade: a decode step has 4 tokens")
    assert lines[1].index("--speculative-config") == lines[2].index("^")
    assert lines[3] == "Found 1 finding (1 warning) in 1 command line."


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((MODEL, "--max-num-seqs", "512"), []),
        ((MODEL, "-tp", "3"), [("KV001", "tensor-parallel-size")]),
        ((MODEL, "--max-model-len", "1m"), [("KV001", "max-model-len")]),
        ((MODEL, "--kv-cache-dtype", "fp9"), [("KV007", "kv-cache-dtype")]),
        ((MODEL, "--kv-cache-dtype=fp9"), [("KV007", "kv-cache-dtype")]),
        ((MODEL, "--max-num-seqs", "1e4"), [("KV007", "max-num-seqs")]),
        ((MODEL, "--gpu-memory-utilization", "9e-1"), []),
        ((MODEL, "--compilation-config", '{"mode": 3'), [("KV007", "compilation-config")]),
        (("vllm", "serve", MODEL, "-tp", "3"), [("KV001", "tensor-parallel-size")]),
        ((f"vllm serve {MODEL} \\\n  -tp 3",), [("KV001", "tensor-parallel-size")]),
        (("--select", "KV0", MODEL, "-tp", "3"), [("KV001", "tensor-parallel-size")]),
        (("--select", "KV3", MODEL, "-tp", "3"), []),
        ((MODEL, "--model-impl", "auto", "--limit-mm-per-prompt", "{}", "--allowed-origins", "[]"), []),
        ((MODEL, "--no-enable-prefix-caching", "--api-key", "a", "b", "--enforce-eager"), []),
    ],
)
def test_what_is_found_and_where(run, words, found):
    code, seen = codes(run, *words)
    assert (code, seen) == (int(bool(found)), found)


def test_a_flag_of_another_release_is_a_finding_and_one_of_none_a_wrong_call(run):
    code, found = codes(run, MODEL, "--engine", "0.33", "--max-num-seqs", "8", *GONE)
    assert (code, found[0]) == (1, ("KV005", GONE[0].removeprefix("--")))
    done = run("lint", MODEL, "--engine", "0.25,0.33", *GONE)
    assert "(in 0.33.0; not in 0.25.1)" in done.stdout
    wrong = run("lint", MODEL, "--enable-flux-capacitor")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "--enable-flux-capacitor is not a flag of vLLM" in wrong.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nosuch",), "there is no file or folder nosuch"),
        (("nosuch/model", "--max-num-seqs", "4"), "nosuch/model is not found locally"),
        ((MODEL, "--max-num-seqs"), "lacks its value"),
        ((MODEL, "--max-num"), "ambiguous flag"),
        (("configs/llama-3.1-8b.yaml", "--max-num-seqs", "4"), "a document says by itself"),
        (("configs/", "--max-num-seqs", "4"), "has no config.json"),
        ((MODEL, MODEL, "--max-num-seqs", "4"), "one model at a time"),
        (("docker run vllm/vllm-openai:v0.2.0 --model x",), "0.2"),
        (("cat a b",), "one model at a time"),
    ],
)
@pytest.mark.parametrize("how", ["text", "sarif"])
def test_what_is_not_known_is_never_clean(run, words, said, how):
    done = run("lint", *words, "-f", how, env={"HF_HUB_OFFLINE": "1"})
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr


def test_an_architecture_that_is_not_known_is_not_judged(run, tmp_path):
    (tmp_path / "config.json").write_text('{"architectures": ["NoSuchForCausalLM"], "hidden_size": 8}')
    code, found = codes(run, tmp_path, "--max-num-seqs", "4")
    assert (code, found) == (2, [("KV001", "model")])


@pytest.mark.parametrize("how", FORMATS)
@pytest.mark.parametrize("clean", [True, False])
def test_each_format(run, how, clean):
    done = run("lint", MODEL, *(() if clean else (*FOUND, NGRAM)), "-f", how)
    assert (done.returncode, done.stderr) == (0 if clean else 1, "")
    CHECKS[how](done.stdout, 0 if clean else 1)


def _sarif(out, count):
    log = json.loads(out)
    jsonschema.validate(log, SARIF)
    run = log["runs"][0]
    assert len(run["results"]) == count
    line = run["artifacts"][0]["contents"]["text"]
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"index": 0}
        assert line[place["region"]["startColumn"] - 1 :].startswith("--speculative-config")


def _json(out, count):
    answer = json.loads(out)
    assert (answer["files"], len(answer["findings"])) == (0, count)
    (line,) = answer["command_lines"]
    assert line["source"] == "<command line>"
    assert line["text"].startswith(f"vllm serve {MODEL}")


def _github(out, count):
    lines = [line for line in out.splitlines() if line.startswith("::")]
    assert len(lines) == count
    assert not any("file=" in line or "line=" in line for line in lines)
    assert all(line.startswith("::warning title=KV303 spec-decode-downgrade::a decode") for line in lines)


def _gitlab(out, count):
    issues = json.loads(out)
    jsonschema.validate(issues, GITLAB)
    assert [one["location"] for one in issues] == [{"path": "<command line>", "lines": {"begin": 1}}] * count


def _junit(out, count):
    suite = ET.fromstring(out)[0]
    assert (suite.get("name"), suite.get("failures")) == ("<command line>", str(count))


def _text(out, count):
    assert "in 1 command line." in out if count else out == "All checks passed! (1 command line)\n"


CHECKS = {"text": _text, "json": _json, "github": _github, "sarif": _sarif, "junit": _junit, "gitlab": _gitlab}


@pytest.mark.parametrize("how", FORMATS)
def test_hostile_values_stay_values(run, how):
    done = run("lint", MODEL, "--served-model-name", EVIL, "--kv-cache-dtype", EVIL, b"-tp=\xff".decode(errors="surrogateescape"), "-f", how)  # fmt: skip
    assert done.returncode == 1
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", done.stdout + done.stderr)
    assert not re.search(r"^\s*::(?!error title=KV|notice title=judged)|##vso\[", done.stdout, re.MULTILINE)
    if how == "sarif":
        jsonschema.validate(json.loads(done.stdout), SARIF)
        place = json.loads(done.stdout)["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
        text = json.loads(done.stdout)["runs"][0]["artifacts"][0]["contents"]["text"]
        assert text[place["region"]["startColumn"] - 1 :].startswith("--kv-cache-dtype")


@pytest.mark.parametrize("how", FORMATS)
def test_no_answer_holds_a_key(run, how):
    words = ("--api-key", "sesame", "opens", "--hf-token=sesame", "-tp", "3")
    done = run("lint", MODEL, *words, "-f", how)
    assert done.returncode == 1
    assert "sesame" not in done.stdout + done.stderr
    assert "opens" not in done.stdout


def test_what_is_here_stays_a_path(run, tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m/config.json").write_text((ROOT / "examples/models/qwen3-8b/config.json").read_text())
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    env = {"PYTHONPATH": str(ROOT)}
    assert run("lint", "m", cwd=tmp_path, env=env).stdout == "All checks passed! (1 file)\n"
    assert run("lint", ".", cwd=tmp_path, env=env).stdout == "All checks passed! (1 file)\n"
    assert run("lint", "m", "m/config.json", cwd=tmp_path, env=env).stdout == "All checks passed! (1 file)\n"
    assert run("lint", "m", "-tp", "2", cwd=tmp_path, env=env).stdout == "All checks passed! (1 command line)\n"
    assert "cannot be read" in run("lint", "gone", cwd=tmp_path, env=env).stdout
    assert "cannot be read" in run("lint", "nowhere.yaml", cwd=tmp_path, env=env).stdout


def test_the_other_options_keep_their_meaning(run, tmp_path):
    words, env = ("lint", MODEL, *FOUND, NGRAM), {"PYTHONPATH": str(ROOT)}
    known = tmp_path / "known.json"
    assert run(*words, "--write-baseline", known).stderr == f"wrote {known}: 1 finding\n"
    assert run(*words, "--baseline", known).stdout == "All checks passed! (1 command line)\n"
    assert run(*words, "--exit-zero").returncode == 0
    assert run(*words, "--fail-on", "error").returncode == 0
    assert run(*words, "--statistics").stdout.splitlines()[0].split()[:2] == ["1", "KV303"]
    assert run(*words, "-q").stdout == ""
    assert run(*words, "-v").stderr == "<command line>: command, vLLM 0.27.1\n"
    assert run(*words, "-o", tmp_path / "out.txt").stdout == ""
    (tmp_path / "kvinspect.toml").write_text('engine = "0.27"\n[severity]\nKV303 = "error"\n')
    rest = (*FOUND[2:], NGRAM)
    assert "error[KV303]" in run("lint", MODEL, *rest, cwd=tmp_path, env=env).stdout
    (tmp_path / "kvinspect.toml").write_text('engines = "0.27"\n')
    done = run("lint", MODEL, *rest, cwd=tmp_path, env=env)
    assert (done.returncode, "its settings in" in done.stdout) == (2, True)


def test_a_serve_file_with_flags_is_a_command_line(run, tmp_path):
    model = ROOT / "examples/models/qwen3-8b"
    (tmp_path / "serve.yaml").write_text(f"model: {model}\ntensor-parallel-size: 3\n# kvinspect: ignore\n")
    code, found = codes(run, tmp_path / "serve.yaml", "--max-num-seqs", "4")
    assert (code, found) == (1, [("KV001", "model")])
    assert codes(run, tmp_path / "serve.yaml", "-tp", "2") == (0, [])
    (tmp_path / "serve.yaml").write_text(f"model: {model}\nmax-model-lenght: 3\nmax-num-seqs: 3\n")
    assert codes(run, tmp_path / "serve.yaml", "--max-num-seqs", "4")[0] == 1


def test_words_of_a_command_silence_nothing(run):
    words = (MODEL, "-tp", "3", "--served-model-name", "# kvinspect: ignore")
    assert codes(run, *words) == (1, [("KV001", "tensor-parallel-size")])
