"""Logs of failed starts, in the forms of each release and as collectors keep them: the failure and its flags are found."""

import io
import json
import tracemalloc

import pytest
import yaml

from conftest import ROOT
from kvinspect.failed_starts.arguments import of_config, of_dictionary
from kvinspect.failed_starts.pieces import pieces
from kvinspect.failed_starts.read import last_start
from kvinspect.start_up_log.errors import FAILURES

CASES = ROOT / "tests/cases/failed_starts"
MESSAGES = yaml.safe_load((CASES / "messages.yaml").read_text())
ARGUMENTS = (
    "(APIServer pid=1) INFO 08-02 11:20:01 [utils.py:261] non-default args: {{'model': 'Qwen/Qwen3-8B', 'seed': 7}}"
)
LAUNCH = (
    "(EngineCore pid=316) INFO 08-02 11:20:10 [core.py:114] Initializing a V1 LLM engine (v{}) with config: model='x'"
)
PREFIX = "(EngineCore pid=316) ERROR 08-02 11:20:11 [core.py:1108] "


def plain(lines):
    return "\n".join(lines)


def bare(lines):
    return "\n".join(line.removeprefix(PREFIX) for line in lines)


def colored(lines):
    return "\n".join(f"\x1b[0;36m{line[:20]}\x1b[0;0m{line[20:]}" for line in lines)


def docker(lines):
    rows = [{"log": f"{line}\n", "stream": "stderr", "time": "2026-08-02T11:20:11Z"} for line in lines]
    return "\n".join(map(json.dumps, rows))


def docker_in_parts(lines):
    """Docker cuts long lines: only the last part ends."""
    parts = [part for line in lines for part in (line[:150], f"{line[150:]}\n")]
    return "\n".join(json.dumps({"log": part, "stream": "stdout"}) for part in parts)


def cloud(lines):
    return "\n".join(json.dumps({"severity": "ERROR", "textPayload": line}) for line in lines)


def containerd(lines):
    return "\n".join(f"2026-08-02T11:20:11.123456789Z stderr F {line}" for line in lines)


def folded(lines):
    """A terminal of 90 columns copied, each part behind the prefix of the first."""
    rows = []
    for line in lines:
        text = line.removeprefix(PREFIX)
        first, *rest = [text[at : at + 90] for at in range(0, len(text), 90)] or [""]
        rows += [line[: len(line) - len(text)] + first, *rest]
    return "\n".join(rows)


WRAPPINGS = (plain, bare, colored, docker, docker_in_parts, cloud, containerd, folded)


def read(text):
    return last_start(pieces(io.BytesIO(text.encode())), "the log")


def log_of(release, message):
    return [ARGUMENTS.format(), LAUNCH.format(release), "", PREFIX + message, "RuntimeError: the engine core failed"]


@pytest.mark.parametrize("wrapping", WRAPPINGS, ids=lambda one: one.__name__)
@pytest.mark.parametrize(("release", "name", "changes", "message"), MESSAGES)
def test_a_failure_is_found_in_each_wrapping(release, name, changes, message, wrapping):
    start = read(wrapping(log_of(release, message)))
    assert [(one.failure.name, list(one.changes)) for one in start.failures] == [(name, changes)]
    assert not start.started
    assert start.failures[0].remedy
    assert "{" not in start.failures[0].line.meaning
    if wrapping is not folded:
        assert (start.log.release, start.arguments.model) == (release, "Qwen/Qwen3-8B")


def test_every_kind_of_failure_has_a_case():
    without = {"free-cpu-memory", "batched-tokens"}
    assert {name for _, name, *_ in MESSAGES} | without == {failure.name for failure in FAILURES}
    assert len(MESSAGES) >= 30


def test_the_line_of_the_file_is_named():
    assert [one.line.number for one in read(docker(log_of("0.33.0", MESSAGES[0][3]))).failures] == [4]
    inside = json.dumps({"log": "Traceback\n  File a\n" + MESSAGES[0][3] + "\n"})
    assert [one.line.number for one in read(f"first\n{inside}\nlast").failures] == [2]


def test_the_last_start_counts():
    failed = plain(log_of("0.33.0", MESSAGES[0][3]))
    begun = plain(log_of("0.33.0", "")[:2])
    served = "\nGPU KV cache size: 214,135 tokens\nApplication startup complete.\n"
    assert read(f"{failed}\n{begun}{served}").started
    later = read(f"{begun}{served}\n{failed}")
    assert not later.started
    assert later.failures
    runs = read(f"{begun}{served}{MESSAGES[-1][3]}\n")  # out of memory while it serves
    assert runs.started
    assert not runs.failures


def test_a_log_that_tells_nothing_and_one_with_an_unknown_error():
    for text, errors in (("", 0), ("hello\n" * 9, 0), ("ValueError: nobody has thought of this\n", 1)):
        start = read(text)
        assert (start.started, start.failures, len(start.other_errors)) == (False, (), errors)


def test_a_failure_of_the_draft_is_told_from_one_of_the_target():
    message = next(one[3] for one in MESSAGES if one[1] == "no-backend")
    begun = plain(log_of("0.33.0", "")[:2])
    assert [one.draft for one in read(f"{begun}\n{PREFIX}{message}").failures] == [False]
    loads = "INFO 08-02 11:20:10 [gpu_model_runner.py:5010] Loading drafter model..."
    assert [one.draft for one in read(f"{begun}\n{loads}\n{PREFIX}{message}").failures] == [True]


def test_arguments_are_read_though_some_are_no_literals():
    text = (
        "{'model': 'a/b', 'dtype': torch.bfloat16, 'enforce_eager': True, 'speculative_config': {'method': 'mtp', "
        "'num_speculative_tokens': 2}, 'mode': <CUDAGraphMode.FULL: (2, 0)>, 'odd': Thing(a=1, b='}'), 'limit': {'a': 1}}"
    )
    found = of_dictionary(text)
    assert found.unread == ("odd",)
    assert found.values == {
        "model": "a/b",
        "dtype": "bfloat16",
        "enforce_eager": True,
        "speculative_config": {"method": "mtp", "num_speculative_tokens": 2},
        "mode": "FULL",
        "limit": {"a": 1},
    }
    assert of_dictionary("{'model': 'a/b', 'max_model_len': 4096, 'kv_transf").values["max_model_len"] == 4096


def test_the_configuration_says_what_a_plan_depends_on():
    text = (
        "model='a/b', tokenizer='a/b', dtype=torch.float16, max_seq_len=4096, tensor_parallel_size=2, quantization=None"
    )
    found = of_config(text).values
    assert found == {"model": "a/b", "dtype": "float16", "max_model_len": 4096, "tensor_parallel_size": 2}


class Endless(io.RawIOBase):
    """A log of so many bytes that is never whole in memory."""

    def __init__(self, line, size, last):
        self.block, self.left, self.last = line * (1024 * 1024 // len(line)), size, last

    def read(self, size=-1):
        if self.left > 0:
            self.left -= len(self.block)
            return self.block
        found, self.last = self.last, b""
        return found


@pytest.mark.parametrize("line", [b"INFO 08-02 11:20:11 [a.py:1] a request is done\n", b"x", b"ValueError: what\n"])
def test_a_large_log_takes_the_memory_of_a_piece(line):
    last = f"\n{plain(log_of('0.33.0', MESSAGES[0][3]))}\n".encode()
    tracemalloc.start()
    start = last_start(pieces(Endless(line, 50 * 1024 * 1024, last)), "the log")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [one.failure.name for one in start.failures] == ["no-memory"]
    assert most < 40 * 1024 * 1024
