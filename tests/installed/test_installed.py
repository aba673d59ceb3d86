"""`--engine installed` and `doctor`, with a made-up vLLM in place of an installed one."""

import copy
import json

import pytest
from typer.testing import CliRunner

import kvinspect
from kvinspect import installed
from kvinspect.api.doctor import with_installed
from kvinspect.backends import backend
from kvinspect.cli.main import program
from kvinspect.data import catalogue
from kvinspect.releases import lookup

CONFIG = "configs/llama-3.1-8b.yaml"


@pytest.fixture
def vllm(monkeypatch):
    """Installs a vLLM whose classes answer as a shipped catalogue does, for the test to change."""

    def install(version, like="0.27.1"):
        answers = copy.deepcopy(catalogue.read(like))
        monkeypatch.setattr(installed, "version", lambda: version)
        monkeypatch.setattr(installed, "catalogue", lambda: answers)
        clear()
        return answers

    def clear():
        for cached in (lookup._made, catalogue.read, backend._official):
            cached.cache_clear()

    yield install
    clear()


def test_the_answer_says_which_version_answered(vllm):
    vllm("0.27.1")
    answer = kvinspect.align(CONFIG, engine="installed").to_dict()
    assert (answer["engine"], answer["release"], answer["engine_source"]) == ("0.27.1", "0.27.1+installed", "argument")
    assert answer["layers"] == kvinspect.align(CONFIG, engine="0.27.1").to_dict()["layers"]


def test_its_classes_are_asked_and_not_the_shipped_catalogue(vllm):
    vllm("0.27.3")["backends"]["FLASH_ATTN"]["supported_kernel_block_sizes"] = ["32n"]
    shipped, live = (kvinspect.align(CONFIG, engine=engine).to_dict() for engine in ("0.27", "installed"))
    assert (live["engine"], live["release"]) == ("0.27.3", "0.27.1+installed")
    assert (shipped["decision"], live["decision"]) == ("unshared", "refused")


def test_a_document_may_ask_for_it(vllm):
    vllm("0.25.1", like="0.25.1")
    document = {"engine": "installed", "kv_cache_specs": {"l.0": SPEC}, "available_memory": [1 << 30]}
    assert kvinspect.plan(document).to_dict()["release"] == "0.25.1+installed"


SPEC = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype": "bfloat16"}


def test_doctor_finds_nothing_where_both_say_the_same(vllm):
    vllm("0.27.1")
    found = with_installed(CONFIG)
    assert (found.clean, found.engine, found.release, found.commands) == (
        True,
        "0.27.1",
        "0.27.1",
        ("align", "cg-support"),
    )


def test_doctor_names_what_the_installed_release_answers_otherwise(vllm):
    vllm("0.27.1")["backends"]["FLASH_ATTN"].update(supported_kernel_block_sizes=["32n"], cudagraph_support="NEVER")
    done = CliRunner().invoke(program(), ["doctor", "--installed", CONFIG, "--format", "json"])
    assert done.exit_code == 1
    rows = {
        (row["command"], row["path"]): (row["shipped"], row["installed"])
        for row in json.loads(done.stdout)["differences"]
    }
    assert rows["align", "decision"] == ("unshared", "refused")
    assert rows["cg-support", "error"][0] is None
    assert "unshared" in CliRunner().invoke(program(), ["doctor", "--installed", CONFIG]).stdout


def test_without_a_vllm_it_is_said(monkeypatch):
    monkeypatch.setattr(installed, "version", lambda: None)
    with pytest.raises(kvinspect.DocumentError, match="a vLLM that is installed in this environment"):
        kvinspect.align(CONFIG, engine="installed")
    assert CliRunner().invoke(program(), ["doctor", "--installed", CONFIG]).exit_code == 2


def test_a_release_whose_steps_nobody_knows_is_refused(vllm):
    vllm("0.99.0")
    with pytest.raises(kvinspect.DocumentError, match=r"0\.99"):
        kvinspect.align(CONFIG, engine="installed")


@pytest.fixture
def tool(monkeypatch, tmp_path):
    """A tool in place of the one that asks, written by the test; returns the file that counts its calls."""
    monkeypatch.setattr(installed, "version", lambda: "0.27.1")
    monkeypatch.setattr(installed, "IN_PACKAGE", tmp_path / "none")
    monkeypatch.setattr(installed, "IN_CHECKOUT", tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    installed.catalogue.cache_clear()

    def write(code):
        (tmp_path / "catalogue.py").write_text(f"import pathlib, sys\n{code}\n", encoding="utf-8")

    yield write
    installed.catalogue.cache_clear()


ANSWERS = """
out = pathlib.Path(sys.argv[1], '0.27.1')
out.mkdir()
(out / 'catalogue.json').write_text('{"backends": {}}')
with (pathlib.Path(__file__).parent / 'calls').open('a') as calls:
    calls.write('asked ')
"""


def test_it_is_asked_once_for_a_version_and_again_by_other_tools(tool, tmp_path):
    """An answer that other tools wrote may lack what rules read today."""
    for code, calls in ((ANSWERS, 1), (ANSWERS, 1), (f"{ANSWERS}# asks for more", 2)):
        tool(code)
        installed.catalogue.cache_clear()
        assert installed.catalogue() == {"backends": {}}
        assert len((tmp_path / "calls").read_text().split()) == calls


def test_why_it_cannot_be_asked_is_a_line(tool):
    tool("sys.exit('no module named torch')")
    with pytest.raises(installed.NotAsked, match=r"0\.27\.1 cannot be asked: no module named torch"):
        installed.catalogue()
