"""The bridge's own parts that need no vLLM: what is a failure, what is fetched, processes that die."""

import subprocess

import pytest

from bridge import cache, failures, names, process, setup
from bridge.configuration import vllm_config


def caught(function):
    try:
        function()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def attribute():
    return vllm_config({}).model_config.something_new


def hidden():
    """The engine's own code tidies up, and raises something else."""
    try:
        attribute()
    except AttributeError:
        raise ValueError("no such model") from None


def absent():
    import a_package_that_nobody_has  # noqa: F401


@pytest.mark.parametrize("function", [attribute, hidden, absent])
def test_what_stand_ins_raise_is_no_refusal(function):
    error = caught(function)
    assert failures.is_ours(error)
    with pytest.raises(failures.BridgeFailure):
        failures.Refused("align", error)


def test_what_others_raise_is_a_refusal():
    error = caught(lambda: int("x"))
    assert not failures.is_ours(error)
    assert failures.Refused("plan", error).error is error


def test_a_stand_in_says_what_it_lacks():
    assert "ModelConfig has no 'something_new'" in str(caught(attribute))
    config = vllm_config({"kv_cache_specs": {"l": {"head_size": 64, "num_kv_heads": 2}}}).model_config
    assert config.get_head_size() == 64
    assert config.hf_text_config.attn_logit_softcapping is None


def test_a_process_that_dies_is_a_failure_and_the_next_document_has_a_new_one(monkeypatch, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nread line\nexit 7\n")
    python.chmod(0o755)
    monkeypatch.setattr(cache, "python", lambda: python)
    with process.Engine("0.27.1", "align") as engine:
        answers = engine.answers([{"a": 1}, {"a": 2}])
    assert answers == [{"bridge_failure": "the process ended with 7"}] * 2


def test_every_capability_has_a_process_of_its_own():
    engine = process.Engine("0.27.1", "specs")
    assert engine.place({"platform": "cuda", "device_capability": "10.0"}) == ("cuda", "10.0")
    assert engine.place({}) == ("cuda", "9.0")


def test_a_download_is_tried_twice_and_then_missing(monkeypatch, tmp_path, capsys):
    calls = []

    def run(call):
        calls.append(call)
        return subprocess.CompletedProcess(call, 1)

    monkeypatch.setenv("KVINSPECT_CACHE", str(tmp_path))
    monkeypatch.setattr(setup.subprocess, "run", run)
    cache.python().parent.mkdir(parents=True)
    cache.libraries("0.27.1")[0].mkdir(parents=True)
    assert setup.main(["0.27.1"]) == 1
    assert len(calls) == 2
    assert "vLLM 0.27.1 could not be fetched" in capsys.readouterr().err
    assert not cache.engine("0.27.1").exists()


def test_a_folder_appears_when_it_is_whole(tmp_path):
    folder = tmp_path / "engines" / "v1"

    def fill(part):
        (part / "vllm").mkdir()
        raise OSError("the network went away")

    with pytest.raises(OSError, match="went away"):
        setup.made(folder, fill)
    assert not folder.exists()
    setup.made(folder, lambda part: (part / "vllm").mkdir())
    assert (folder / "vllm").is_dir()


def test_libraries_are_those_of_the_releases_time():
    assert [cache.libraries(release)[0].name for release in ("0.27.1", "0.32.0", "0.33.0", "0.40.1")] == [
        "transformers-5.14.1", "transformers-5.19.0", "transformers-5.20.2", "transformers-5.20.2",
    ]  # fmt: skip


def test_names_with_braces_are_written_out():
    assert names.expand_all(["a.{0..2}", "{x,y}", "b"]) == ["a.0", "a.1", "a.2", "x", "y", "b"]
