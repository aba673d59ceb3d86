"""The short form of the harness: a hundred and fifty bad inputs of each kind, the same in every run."""

import pytest

from conftest import fuzz_module


@pytest.mark.parametrize("what", ["documents", "models", "flags", "settings"])
def test_no_bad_file_ends_but_with_an_exit_code_of_the_four(what):
    assert fuzz_module("harness").judge_all(range(150), what) == []
