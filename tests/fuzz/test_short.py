"""The short form of the harness: three hundred bad files, the same in every run."""

import importlib.util
import pathlib


def test_no_bad_file_ends_but_with_0_1_or_2():
    path = pathlib.Path(__file__).parent / "harness.py"
    spec = importlib.util.spec_from_file_location("harness", path)
    harness = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(harness)
    assert harness.judge_all(range(300)) == []
