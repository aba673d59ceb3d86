"""A model's config.json, and serve files whose model is here, linted in full."""

import json

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.linting.settings import Settings

MODEL = json.loads((ROOT / "examples" / "models" / "qwen3-8b" / "config.json").read_text(encoding="utf-8"))


def found(path, engine="0.27"):
    result = kvinspect.lint(path, engine=engine, settings=Settings())
    return result, [(finding.code, finding.mark and finding.mark.line) for finding in result.findings]


@pytest.fixture
def model(tmp_path):
    def write(**changes):
        path = tmp_path / "config.json"
        path.write_text(json.dumps({**MODEL, **changes}, indent=2), encoding="utf-8")
        return path

    return write


@pytest.fixture
def serve(tmp_path, model):
    def write(text, **changes):
        model(**changes)
        path = tmp_path / "serve.yaml"
        path.write_text(f"model: {tmp_path}\n{text}", encoding="utf-8")
        return path

    return write


def test_a_model_that_is_fine(model):
    result, codes = found(model())
    assert (result.kind, codes) == ("model", [])


def test_an_unknown_architecture_is_never_clean(model):
    result, codes = found(model(architectures=["Qwen9ForCausalLM"]))
    assert (result.judged, codes) == (False, [("KV001", 3)])
    assert "Qwen9ForCausalLM" in result.findings[0].message


def test_heads_that_no_rank_can_have_are_found_at_the_ranks(serve):
    result, codes = found(serve("block-size: 16\ntensor-parallel-size: 7\n"))
    assert codes == [("KV001", 3)]
    assert "32" in result.findings[0].message


def test_replicated_heads_are_a_note_at_the_flag(serve):
    assert found(serve("tensor-parallel-size: 16\n"))[1] == [("KV405", 2)]
    assert found(serve("tensor-parallel-size: 8\n"))[1] == []


def test_a_length_that_does_not_fit_is_found_at_the_length(serve):
    assert found(serve("kv-cache-memory-bytes: 1G\nmax-model-len: 32k\n"))[1] == [("KV401", 3)]


def test_a_backend_that_does_not_take_the_model_is_found_at_the_flag(serve):
    result, codes = found(serve("attention-backend: FLASHMLA\n"))
    assert codes == [("KV001", 2)]
    assert "FLASHMLA" in result.findings[0].message


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("block-size: 16\nattention-backend: FLASHINFR\n", (3, 20)),
        ("block-size: 16\nattention-config: {backend: FLASHINFR}\n", (3, 19)),
        ("block-size: 16\ncompilation-config: {cudagraph_mode: FOO}\n", (3, 21)),
        ("block-size: 16\ncompilation-config.cudagraph_mode: FOO\n", (3, 36)),
        ("block-size: 16\nmax-model-len: 9999999\n", (3, 16)),
    ],
)
def test_what_the_model_is_refused_for_stands_at_its_flag(serve, text, place):
    (finding,) = found(serve(text))[0].findings
    assert (finding.code, finding.mark) == ("KV001", place)


def test_an_unknown_backend_of_a_serve_file_is_not_judged(serve):
    assert not found(serve("attention-backend: FLASHINFR\n"))[0].judged


def test_a_flag_that_is_wrong_is_found_once_and_the_model_left_alone(serve):
    assert found(serve("tensor-parallel-size: two\n"))[1] == [("KV007", 2)]


def test_a_model_of_the_hub_is_left_alone(tmp_path):
    path = tmp_path / "serve.yaml"
    path.write_text("model: Qwen/Qwen3-8B\ntensor-parallel-size: 16\n", encoding="utf-8")
    assert found(path)[1] == []
