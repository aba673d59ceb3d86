"""kvinspect and the real functions of every release that is in the cache, on documents drawn anew.

CONFORMANCE_RELEASES names releases that have to be there, CONFORMANCE_COUNT how many documents are drawn for a release
and command, CONFORMANCE_SEED which. `run.py` asks for as many as one likes, `nightly` for thousands of all releases.
"""

import os

import pytest

from bridge import cache
from conformance import suite
from conformance.facts import FEW
from kvinspect.data import catalogue

pytestmark = pytest.mark.vllm

COUNT = int(os.environ.get("CONFORMANCE_COUNT", "60"))
MODELS = max(COUNT // 10, 5)
"""A model takes the engine seconds."""
SEED = int(os.environ.get("CONFORMANCE_SEED", "1"))
WANTED = os.environ.get("CONFORMANCE_RELEASES", "").split()


@pytest.mark.parametrize("command", suite.MAKERS)
@pytest.mark.parametrize("release", WANTED or catalogue.versions())
def test_kvinspect_answers_as_the_engine_does(release, command):
    missing = cache.lacking(release)
    if missing and not WANTED:
        pytest.skip(missing)
    assert not missing
    report = suite.compared(release, command, MODELS if command == "specs" else COUNT, SEED, places=FEW)
    print(report)
    assert report.outcomes["equal"] > 0, str(report)
    assert not report.differing, str(report)
    assert report.outcomes["unanswered"] <= suite.tolerated(report.outcomes.total()), str(report)
