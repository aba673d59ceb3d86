"""Proof and experiment on drawn documents: `python tests/fuzz/verify.py --count 3000`.

Documents are drawn as those of the conformance runs are, half of them with tensors of their own, and each is asked with
`--verify` on the CPU: it has to end with an answer or an error of the document's, never with a disagreement.
"""

import argparse
import collections
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tools")]

import kvinspect  # noqa: E402
from conformance.documents import caches  # noqa: E402
from conformance.documents.chooser import strategy  # noqa: E402
from conformance.facts import FEW, facts  # noqa: E402
from conformance.suite import draw  # noqa: E402
from kvinspect.data.catalogue import versions  # noqa: E402


def placed(choose):
    """A document whose layers lie where it says, evenly or oddly."""
    document, groups = caches.with_groups(choose)
    place = caches.stretched if choose.facts.standardised else choose.pick((caches.packed, caches.shuffled))
    blocks = document["kv_cache_config"]["num_blocks"]
    document["kv_cache_config"]["kv_cache_tensors"] = place(choose, groups, blocks)
    return document


def outcome(document):
    """`sound`, `unsound`, `overlaps itself`, `refused` or `an error`. Raises InternalError where the two disagree."""
    try:
        answer = kvinspect.align(document, device="cpu", verify=True)
    except kvinspect.DocumentError:
        return "an error"
    if answer.sound is None:
        return "refused"
    if any(tensor.self_conflict for tensor in answer.tensors):
        assert not answer.sound
        return "overlaps itself"
    return "sound" if answer.sound else "unsound"


def compared(count, number=0):
    """(outcomes, documents on which proof and experiment disagree) of `count` documents over all releases."""
    outcomes, bad = collections.Counter(), []
    releases = versions()
    for place, release in enumerate(releases):
        share = count // len(releases) + (place < count % len(releases))
        for make in (caches.cache, placed):
            for document in draw(strategy(make, facts(release), FEW), (share + 1) // 2, number):
                try:
                    outcomes[outcome(document)] += 1
                except kvinspect.InternalError as error:
                    bad.append((str(error), document))
    return outcomes, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=3_000)
    parser.add_argument("--number", type=int, default=0, help="another number draws other documents")
    call = parser.parse_args()
    outcomes, bad = compared(call.count, call.number)
    for said, document in bad:
        print(f"{said}: {json.dumps(document)}")
    told = ", ".join(f"{number} {word}" for word, number in outcomes.most_common())
    print(f"{outcomes.total() + len(bad)} documents: {told}; proof and experiment disagree on {len(bad)}")
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
