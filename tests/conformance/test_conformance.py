"""kvinspect and the real functions of every release that can be asked here, on documents drawn anew.

KV_ORACLE_ENGINES and KV_ORACLE_PYTHON say where the releases are, CONFORMANCE_COUNT how many documents are drawn for a
release and command, CONFORMANCE_SECONDS after how long no further comparison is begun. `run.py` asks for as many as one
likes, `nightly` for thousands of all releases.
"""

import os
import time

import pytest

from conformance import bridge, suite
from conformance.facts import FEW
from kvinspect.engine import catalogue

pytestmark = [pytest.mark.vllm, pytest.mark.shared]

COUNT = int(os.environ.get("CONFORMANCE_COUNT", "60"))
MODELS = max(COUNT // 10, 5)
"""A model takes the engine seconds."""
BEGUN = time.monotonic()
SECONDS = float(os.environ.get("CONFORMANCE_SECONDS", "inf"))


@pytest.mark.parametrize("command", suite.MAKERS)
@pytest.mark.parametrize("release", catalogue.versions())
def test_kvinspect_answers_as_the_engine_does(release, command):
    missing = bridge.lacking(release)
    if missing:
        pytest.skip(missing)
    if time.monotonic() - BEGUN > SECONDS:
        pytest.skip(f"{SECONDS:.0f} seconds are used up")
    report = suite.compared(release, command, MODELS if command == "specs" else COUNT, number=1, places=FEW)
    print(report)
    if report.outcomes["unanswered"] == report.outcomes.total():
        pytest.skip(f"the bridge has no answers: {next(iter(report.reasons))}")
    assert report.outcomes["equal"] > 0
    assert not report.differing, str(report)
