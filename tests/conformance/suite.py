"""Documents drawn by Hypothesis, the engine's answers to them, and the smallest document that differs."""

import collections
import json
from contextlib import suppress
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, given, seed, settings

from bridge.process import Engine
from conformance.compare import judged
from conformance.documents.caches import cache
from conformance.documents.chooser import strategy
from conformance.documents.deployments import deployment
from conformance.documents.graphs import graphs
from conformance.documents.models import model
from conformance.documents.requests import batches
from conformance.facts import EVERYWHERE, facts
from conformance.reached import rules_reached

MAKERS = {"align": cache, "cg-support": graphs, "mm-prefix": batches, "plan": deployment, "specs": model}
ONE_PLACE = ("mm-prefix", "specs")
"""Commands that a platform means nothing to, or that choose their device themselves."""


class Report(NamedTuple):
    """What a comparison found."""

    release: str
    command: str
    outcomes: collections.Counter
    reasons: collections.Counter
    """Why documents differ on purpose, or are not answered."""
    differing: tuple[tuple[dict, str], ...]
    """(document, how it differs), as drawn."""
    smallest: tuple[dict, str] | None
    reached: frozenset[str] = frozenset()
    """Declared rules that the answers came across."""

    def __str__(self):
        count = sum(self.outcomes.values())
        rest = ", ".join(f"{number} {outcome}" for outcome, number in sorted(self.outcomes.items()))
        lines = [f"{self.release} {self.command}: {count} documents, {len(self.differing)} differ ({rest})"]
        lines += [f"  {number} {reason}" for reason, number in self.reasons.most_common()]
        if self.smallest:
            lines += ["smallest document that differs:", json.dumps(self.smallest[0]), self.smallest[1]]
        return "\n".join(lines)


UNANSWERED = 20
"""One document in so many may be one that the bridge fails at, and one of fewer: agreement is none of these."""


def tolerated(total):
    """How many of so many documents the bridge may fail at."""
    return max(1, total // UNANSWERED)


def compared(release, command, count, number, places=EVERYWHERE, shrink=True):
    """Compare `count` documents of a release and command; the same `number` draws the same documents."""
    place = places if command not in ONE_PLACE else (("cuda", "9.0"),)
    documents = strategy(MAKERS[command], facts(release), place)
    with Engine(release, command) as engine:
        drawn = draw(documents, count, number)
        answers = engine.answers(drawn)
        with rules_reached(release) as reached:
            verdicts = [judged(command, *pair) for pair in zip(drawn, answers, strict=True)]
        rows = zip(drawn, verdicts, strict=True)
        differing = tuple((document, verdict.why) for document, verdict in rows if verdict.outcome == "differs")

        def difference(document):
            verdict = judged(command, document, engine.answer(document))
            return verdict.why if verdict.outcome == "differs" else None

        smallest = shrunk(documents, count, number, difference) if differing and shrink else None
    told = (f"{v.outcome}: {v.why.splitlines()[0]}" for v in verdicts if v.outcome in ("intended", "unanswered"))
    outcomes = collections.Counter(verdict.outcome for verdict in verdicts)
    return Report(
        release,
        command,
        outcomes,
        collections.Counter(told),
        differing,
        smallest or least(differing),
        frozenset(reached),
    )


def draw(documents, count, number):
    """As many documents as are asked for, or as there are; one that is drawn twice is there once."""
    drawn = {}
    _given(
        documents, count, number, [Phase.generate], lambda document: drawn.setdefault(json.dumps(document), document)
    )
    return list(drawn.values())


def shrunk(documents, count, number, difference):
    """(document, how it differs) of the first drawn document that differs, as small as Hypothesis can make it.

    The same number draws the same documents again, and the engine's answers to those are still known.
    """
    last = None

    def check(document):
        nonlocal last
        why = difference(document)
        if why:
            last = document, why
            raise AssertionError(why)

    with suppress(AssertionError):
        _given(documents, count, number, [Phase.generate, Phase.shrink], check)
    return last


def least(differing):
    """The differing document with the shortest text, None where there is none."""
    return min(differing, key=lambda row: len(json.dumps(row[0])), default=None)


def _given(documents, count, number, phases, function):
    quiet = settings(
        max_examples=count, phases=phases, database=None, deadline=None, suppress_health_check=list(HealthCheck),
        print_blob=False, report_multiple_bugs=False,
    )  # fmt: skip

    @seed(number)
    @quiet
    @given(documents)
    def run(document):
        function(document)

    run()
