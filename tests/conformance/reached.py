"""Which declared rules the documents of a conformance run reach, so that one that no document reaches is known."""

import importlib
import pkgutil
import sys
from contextlib import contextmanager

import kvinspect
from kvinspect.provenance import RULES, sources_of


def declared(release):
    """Code → name of each rule that holds in a release, as `0.33.0`."""
    for module in pkgutil.walk_packages(kvinspect.__path__, "kvinspect."):
        if module.name.startswith(("kvinspect.engine.", "kvinspect.planning.", "kvinspect.specs.")):
            importlib.import_module(module.name)
    held = [rule for rule in RULES if any(source.covers(release) for source in sources_of(rule))]
    return {rule.__code__: f"{rule.__module__}.{rule.__qualname__}".removeprefix("kvinspect.") for rule in held}


@contextmanager
def rules_reached(release):
    """Collect the names of the rules that are called inside, a set that grows."""
    wanted, reached = declared(release), set()

    def called(frame, event, _):
        if event == "call" and frame.f_code in wanted:
            reached.add(wanted[frame.f_code])

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        yield reached
    finally:
        sys.setprofile(before)


def sentence(reached, release):
    """What a run prints: how many rules of a release were reached, and the names of the others."""
    wanted = set(declared(release).values())
    missing = sorted(wanted - reached)
    return f"  {len(wanted & reached)} of {len(wanted)} rules reached" + (
        f"; not: {', '.join(missing)}" if missing else ""
    )
