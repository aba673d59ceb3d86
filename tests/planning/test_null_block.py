"""Up to 0.28 one block of the pool is no request's: a pool of exactly one request never runs it."""

import pathlib

import pytest

import kvinspect
from conftest import ROOT

DENSE = pathlib.Path(ROOT, "tests", "cases", "connectors", "dense.json")


def answer(engine, blocks, **given):
    arguments = {"block_size": 128, "max_model_len": 1024, **given}
    whole = kvinspect.plan_model(DENSE, 1 << 30, engine=engine, engine_args=arguments).plan
    memory = blocks * whole.workers[0].bytes_per_block
    return kvinspect.plan_model(DENSE, memory, engine=engine, engine_args=arguments).plan


@pytest.mark.parametrize("engine", ["0.25", "0.26", "0.27", "0.28"])
def test_a_pool_of_one_request_never_runs_it(engine):
    found = answer(engine, 8)
    assert (found.num_blocks, found.starts, found.clean, found.longest_request) == (8, True, False, 896)
    assert found.to_dict()["longest_request"] == 896
    assert answer(engine, 9).clean


@pytest.mark.parametrize("engine", ["0.25", "0.28"])
def test_a_length_that_is_fitted_is_one_that_never_runs(engine):
    found = answer(engine, 4, max_model_len=-1)
    assert (found.deployment.max_model_len, found.longest_request) == (512, 384)


@pytest.mark.parametrize("engine", ["0.29", "0.33"])
def test_later_the_memory_is_checked_without_it(engine):
    assert answer(engine, 9).clean
    assert not answer(engine, 8).starts


def test_the_page_and_the_exit_code_say_it(run):
    size = answer("0.28", 8).workers[0].available_memory
    call = ("plan", DENSE, "--engine", "0.28", "--block-size", "128", "--kv-cache-memory-bytes", size)
    result = run(*call, "--max-model-len", "1024")
    assert (result.returncode, "✗ 8 blocks" in result.stdout) == (1, True)
    assert "requests of at most 896 tokens run" in " ".join(result.stdout.split())
    assert run(*call, "--sweep", "max_model_len=512,1024").returncode == 1
