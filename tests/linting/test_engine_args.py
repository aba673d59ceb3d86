"""`kvinspect.lint(model, engine_args=...)`: the same findings as the command line that says the same."""

import pathlib

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.linting.settings import Settings
from kvinspect.models.config import load_model

MODEL = ROOT / "examples/models/qwen3-8b"
NONE = Settings()


def found(model, arguments, **more):
    result = kvinspect.lint(model, engine_args=arguments, settings=NONE, **more)
    assert result.kind == "command"
    return [
        (one.code, one.path, result.text[one.mark.column - 1 :].lstrip("'").split("=")[0]) for one in result.findings
    ]


@pytest.mark.parametrize("model", [str(MODEL), MODEL, load_model(MODEL)], ids=["text", "path", "loaded"])
def test_a_model_is_judged_under_its_arguments(model):
    assert found(model, {}) == []
    assert found(model, {"max_num_seqs": 512, "enforce_eager": True, "enable_prefix_caching": False}) == []
    flag = "tensor-parallel-size"
    assert found(model, {"tensor_parallel_size": 3}) == [("KV001", (flag,), f"--{flag}")]
    assert found(model, {"kv_cache_dtype": "fp9"}) == [("KV007", ("kv-cache-dtype",), "--kv-cache-dtype")]
    assert found(model, {}, memory=10**9)[0][0] == "KV401"


def test_the_words_of_a_call_have_the_same_findings():
    arguments = {
        "attention_backend": "FLASHINFER",
        "speculative_config": {"method": "ngram", "num_speculative_tokens": 3},
    }
    (one,) = found(MODEL, arguments, engine="0.27")
    assert one == ("KV303", ("speculative-config",), "--speculative-config")


def test_a_flag_of_another_release_is_a_finding_and_one_of_none_a_wrong_call():
    assert found(MODEL, {"max_num_partial_prefills": 2}, engine="0.33")[0][0] == "KV005"
    with pytest.raises(ValueError, match="is not a flag of vLLM"):
        kvinspect.lint(MODEL, engine_args={"flux_capacitor_size": 2})
    with pytest.raises(ValueError, match="nowhere"):
        kvinspect.lint("nowhere.json", engine_args={})
    with pytest.raises(ValueError, match=r"0\.2"):
        kvinspect.lint(MODEL, engine_args={}, engine="0.2")


def test_a_file_takes_nothing_of_a_model():
    with pytest.raises(ValueError, match="platform is of a model"):
        kvinspect.lint(ROOT / "configs/llama-3.1-8b.yaml", platform="rocm")
    assert kvinspect.lint(pathlib.Path(ROOT / "configs/llama-3.1-8b.yaml")).kind == "document"
