"""No word of a runner's and no character of a terminal's leaves kvinspect: each sink × each command × each syntax."""

import itertools
import json
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from conftest import ROOT, document, options_of
from kvinspect.cli.command_list import COMMANDS
from kvinspect.output.safe import Syntax, holds_command, without_commands
from kvinspect.report.data import as_json, as_yaml

WORDS = {
    "github": "::set-output name=v::sound",
    "v1": "l ##[set-output name=v]sound",
    "azure": "l ##vso[task.setvariable variable=v]sound",
    "wrapped": "a" * 97 + " " + "b" * 20 + " ::set-output name=v::sound",
    "next line": "x\n::set-output name=v::sound",
    "carriage return": "x\r::set-output name=v::sound",
    "blanks": " \u00a0\t::set-output name=v::sound",
    "terminal": "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m",
}
LOOKS_LIKE_A_COMMAND = re.compile(r"##\w*\[|^\s*::(?!(?:error|warning|notice) (?:file|title)=)", re.MULTILINE)
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def formats_of(command):
    """The words that `-f` of a command takes."""
    return [word.value for flags, kind in options_of(command) if "-f" in flags for word in kind]


SPEC = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype": "bfloat16"}
QWEN = (ROOT / "examples/models/qwen3-8b/config.json").read_text()
MEMORY = ("--available-kv-cache-memory", "12.57GiB")
LOG = """\
INFO 08-01 12:00:00 [core.py:107] Initializing a V1 LLM engine (v0.27.1) with config: model='{word}'
{word}
INFO 08-01 12:00:00 [gpu_worker.py:298] Available KV cache memory: 12.57 GiB
INFO 08-01 12:00:00 [gpu_worker.py:298] Available KV cache memory: {word} GiB
INFO 08-01 12:00:00 [kv_cache_utils.py:1087] GPU KV cache size: 91,520 tokens
"""


class Files:
    """Files of every kind that a call can name, each with a word wherever it takes one, and folders called so."""

    def __init__(self, folder, word):
        def json_file(name, value):
            path = folder / name
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(value if isinstance(value, str) else json.dumps(value))
            return str(path)

        self.word, self.folder = word, str(folder)
        self.layer = json_file("layer.json", document(word))
        self.backend = json_file("backend.json", document("l", word))
        self.unknown = json_file("unknown.json", {**document("l"), word: {word: word}, "platform": word})
        self.plan = json_file(f"{word}/plan.json", {"kv_cache_specs": {word: SPEC}, "available_memory": [10**9]})
        self.unplanned = json_file("unplanned.json", {"kv_cache_specs": {"l": {**SPEC, "kind": word, word: 1}}})
        self.model = json_file(f"{word}/model/config.json", QWEN)
        self.odd_model = json_file("odd/config.json", {**json.loads(QWEN), "torch_dtype": word, word: word})
        self.odd_family = json_file("odder/config.json", {"architectures": [word], "model_type": word, word: word})
        quoted = json.dumps(word)
        self.serve = json_file("serve.yaml", f"model: {self.model!r}\nmax-model-len: 4096\nenforce-eager: {quoted}\n")
        self.odd_serve = json_file("odd.yaml", f"model: {quoted}\nkv-cache-dtype: {quoted}\n{quoted}: {quoted}\n")
        self.log = json_file("start.log", LOG.format(word=word))
        failed = f"non-default args: {{'model': {word!r}, {word!r}: 1}}\nValueError: Unknown KV cache layout {word!r}\n"
        self.failed_log = json_file("failed.log", failed)
        self.settings = json_file("set.toml", f"engine = {quoted}\nselect = [{quoted}]\n{quoted} = {quoted}\n")


def documents(files):
    return [[files.layer], [files.backend], [files.unknown], [files.folder]]


def plans(files):
    yield from ([one] for one in (files.plan, files.unplanned, files.odd_serve))
    yield from ([one, *MEMORY] for one in (files.odd_model, files.odd_family))
    yield from ([files.model, *MEMORY, *more] for more in ([], ["--served-model-name", files.word], ["-tp", "2"]))
    yield [files.serve, *MEMORY]
    yield [
        files.model,
        *MEMORY,
        "--hf-overrides",
        json.dumps({files.word: files.word, "num_hidden_layers": files.word}),
    ]
    yield [files.model, *MEMORY, "--sweep", "max_model_len=4k..16k"]
    yield [files.model, *MEMORY, "--sweep", f"kv_cache_dtype=auto,{files.word}", "--sweep", "max_model_len=4k..8k"]
    yield ["--log", files.log]
    yield [files.model, *MEMORY, "--log", files.log]


def fits(files):
    yield from ([one] for one in (files.plan, files.odd_model, files.odd_family, files.odd_serve, files.word))
    yield [files.model, "--gpu", "L4,H100", "--served-model-name", files.word]
    yield [files.model, "--gpu", "L4", "--requests", "4", "--prompt", "8k", "--env", f"VLLM_{files.word}={files.word}"]
    yield [files.model, "--gpu", f"L4,{files.word}"]
    yield [files.serve, "--gpu", "L4"]


def lints(files):
    everything = [files.layer, files.backend, files.unknown, files.plan, files.odd_family, files.odd_serve]
    yield everything
    yield [files.folder, "--verbose"]
    yield [*everything, "--engine", "0.25,0.28"]
    yield [files.layer, "--config", files.settings]
    yield [files.layer, "--baseline", files.settings]
    yield [files.model, "--served-model-name", files.word, "--kv-cache-dtype", files.word, "--swap-space", "4"]
    yield [files.model, "--hf-overrides", json.dumps({files.word: files.word}), "--attention-backend", files.word]
    yield from ([one, "-tp", "3"] for one in (files.model, files.odd_model, files.odd_family, files.serve))
    yield [files.word, "--max-num-seqs", "4"]


LLAMA = str(ROOT / "configs/llama-3.1-8b.yaml")
WAYS = {
    "align": lambda files: [[*way, "--explain"] for way in documents(files)],
    "cg-support": lambda files: [*documents(files), [files.layer, "--matrix"], []],
    "mm-prefix": documents,
    "plan": plans,
    "fit": fits,
    "explain": lambda files: [[files.log], [files.log, files.model], [files.failed_log, files.model], [files.word]],
    "diff": lambda files: [*([LLAMA, one] for one in (files.layer, files.backend, files.unknown))],
    "lint": lints,
    "rule": lambda files: [[], ["KV103"], [files.word]],
    "map": documents,
    "capture": lambda files: [[], [files.word]],
    "gpus": lambda files: [[], ["h100"], [files.word]],
    "models": lambda files: [["gpt-oss"], [files.word]],
    "doctor": lambda files: [*documents(files), []],
    "schema": lambda files: [[], [files.word]],
}
"""What each command is asked about, without its format: each kind of foreign text that it reads."""


def test_every_command_is_here():
    assert list(WAYS) == list(COMMANDS)
    assert formats_of("plan") == ["table", "json", "yaml", "markdown", "document", "svg", "html"]


def assert_harmless(call, found):
    code, *texts = found
    assert code in (0, 1, 2, 3), (call, texts)
    for text in texts:
        assert not LOOKS_LIKE_A_COMMAND.search(text), (call, text)
        assert not RAW.search(text), (call, text)


@pytest.mark.parametrize("word", WORDS.values(), ids=WORDS)
def test_no_command_reaches_a_runner_in_any_format_of_any_command(printed, tmp_path, word):
    files, calls = Files(tmp_path / "in", word), []
    for command in COMMANDS:
        ways = itertools.product(WAYS[command](files), [["-f", how] for how in formats_of(command)] or [[]])
        calls += [[command, *way, *how] for way, how in ways]
    with_files = [call for call in calls if any("-o" in flags for flags, _ in options_of(call[0]))]
    into = [[*call, "-o", str(tmp_path / f"{i}.out")] for i, call in enumerate(with_files)]
    found = printed([*calls, *into])
    for call, texts in zip([*calls, *into], found, strict=True):
        assert_harmless(call, texts)
    assert {code for code, _, _ in found} == {0, 1, 2}
    written = {int(path.name.split(".")[0]): path for path in tmp_path.glob("*.out")}
    answers = {(into[i][0], into[i][-3]) for i in written}
    assert answers >= {(command, how) for command in COMMANDS for how in formats_of(command)}
    for i, path in written.items():
        assert_harmless(into[i], (0, path.read_bytes().decode()))


def test_no_command_reaches_a_runner_from_a_call(printed, tmp_path):
    calls = [[command, word] for command in COMMANDS for word in WORDS.values()]
    calls += [
        [command, *(() if command in ("schema", "capture", "rule") else (LLAMA,)), flag, word]
        for command in COMMANDS
        for flags, kind in options_of(command)
        for flag in flags
        if kind is not bool
        for word in WORDS.values()
    ]
    calls += [["--" + word] for word in WORDS.values()]
    calls += [["plan", LLAMA, f"--{word}", word] for word in WORDS.values()]
    for call, found in zip(calls, printed(calls, tmp_path), strict=True):
        assert_harmless(call, found)


foreign = st.lists(
    st.sampled_from(["#", ":", "[", "]", "vso", "\n", " ", "\\", '"', "'", "\r", "é", "?", "-", "a" * 90])
).map("".join)


@given(st.dictionaries(foreign, st.one_of(foreign, st.lists(foreign)), max_size=4))
def test_values_stay_what_they_are(value):
    for text, read in ((as_json(value), json.loads), (as_yaml(value), yaml.safe_load)):
        written = without_commands(text, Syntax.QUOTED)
        assert read(written) == value
        assert not LOOKS_LIKE_A_COMMAND.search(written)


@given(st.lists(st.sampled_from(["#", ":", "[", "vso", "\n", " ", "\x1b[1m"])).map("".join))
def test_nothing_is_left_and_what_is_harmless_is_left_alone(text):
    for syntax in Syntax:
        written = without_commands(text, syntax)
        assert not holds_command(written)
        assert holds_command(text) or written == text


def test_our_own_annotations_reach_github(run, tmp_path):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(document("##vso[x]y", "::x::y")))
    done = run("lint", file, "-f", "github")
    assert done.stdout.startswith("::error file=")
