"""A vLLM beside kvinspect whose release is not known: the nearest answers, unless it was asked for by name."""

import warnings

import pytest

import kvinspect
from kvinspect import installed
from kvinspect.releases import lookup

CONFIG = "configs/llama-3.1-8b.yaml"
SPEC = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype": "bfloat16"}
ANSWERS = [
    ("0.32.0", "0.33.0"),
    ("0.34.0.dev1+g123", "0.33.0"),
    ("0.33.7", "0.33.0"),
    ("0.24.0", "0.25.1"),
    ("1.2.0", "0.33.0"),
    ("garbage", "0.33.0"),
    ("0.99999999", "0.33.0"),
]


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """Puts a vLLM of a version onto the import path, and clears what was found before."""

    def clear():
        installed.version.cache_clear()
        lookup._beside.cache_clear()

    def put(version):
        (tmp_path / f"vllm-{version}.dist-info").mkdir()
        monkeypatch.syspath_prepend(str(tmp_path))
        clear()
        return tmp_path

    yield put
    clear()


@pytest.mark.parametrize(("version", "release"), ANSWERS)
def test_the_nearest_release_answers_with_one_warning(version, release, beside):
    beside(version)
    document = {"kv_cache_specs": {"l.0": SPEC}, "available_memory": [1 << 30]}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        answers = [kvinspect.plan(document).to_dict() for _ in range(2)]
    assert [answer["release"] for answer in answers] == [release] * 2
    assert [one.category for one in told] == [lookup.AnsweredByAnother]
    assert answers[0]["engine_source"] == "installed"


@pytest.mark.parametrize("version", ["0.32.0", "0.34.0.dev1+g123", "0.24.0", "garbage"])
def test_the_command_warns_in_a_line_and_only_a_name_is_refused(version, beside, run):
    env = {"PYTHONPATH": str(beside(version))}
    plain = run("cg-support", env=env)
    assert plain.returncode == 0, plain.stderr
    assert plain.stderr.count("\n") == plain.stderr.count("kvinspect: warning: ") == 1
    assert run("align", CONFIG, "--device", "none", env=env).stderr == ""
    assert run("cg-support", "--engine", "installed", env=env).returncode == 2
