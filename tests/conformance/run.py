"""Compare kvinspect with a real vLLM: `python tests/conformance/run.py --engine 0.27.1 --command align --count 2000`.

Prints for each release and command how many documents were compared and how many differ, and the smallest one that
does, and for each release the declared rules that no document reached. Ends with 1 where one differs, with 2 where nothing could be compared. The same --seed draws the same documents.
`--table docs/conformance.md` puts the counts into that page.
"""

import argparse
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tools")]

from bridge import cache  # noqa: E402
from conformance import suite, table  # noqa: E402
from conformance.facts import EVERYWHERE, FEW  # noqa: E402
from conformance.reached import sentence  # noqa: E402
from kvinspect.data import catalogue  # noqa: E402


def main():
    """Compare, print, and return the exit code."""
    asked = arguments()
    releases = asked.engine or catalogue.versions()
    compared = differ = 0
    for release in releases:
        missing = cache.lacking(release)
        if missing:
            print(f"{release}: not compared, {missing}", flush=True)
            continue
        reports = [compared_with(asked, release, command) for command in asked.command or suite.MAKERS]
        compared += sum(report.outcomes.total() for report in reports)
        differ += sum(len(report.differing) for report in reports)
        print(sentence(frozenset().union(*(report.reached for report in reports)), release), flush=True)
    return 1 if differ else 0 if compared else 2


def compared_with(asked, release, command):
    """Compare one command with a release, print the report, and return it."""
    count = asked.models if command == "specs" and asked.models is not None else asked.count
    started = time.monotonic()
    report = suite.compared(release, command, count, asked.seed, asked.places, not asked.no_shrink)
    print(f"{report}\n  {time.monotonic() - started:.0f} s", flush=True)
    if asked.table:
        table.put(asked.table, table.row(report))
    if asked.every:
        print("\n".join(f"{why}\n  {document}" for document, why in report.differing), flush=True)
    return report


def arguments():
    """The call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", action="append", help="a release, for instance 0.27.1 (repeatable; default: all)")
    parser.add_argument("--command", action="append", choices=suite.MAKERS, help="repeatable; default: all")
    parser.add_argument("--count", type=int, default=200, help="documents a release and command (default: 200)")
    parser.add_argument("--models", type=int, help="models a release, which take seconds each (default: --count)")
    parser.add_argument("--seed", type=int, default=1)
    few = ", ".join(" ".join(place) for place in FEW)
    parser.add_argument(
        "--few-places", dest="places", action="store_const", const=FEW, default=EVERYWHERE, help=f"only {few}"
    )
    parser.add_argument("--no-shrink", action="store_true", help="print the shortest document as it was drawn")
    parser.add_argument("--every", action="store_true", help="print every document that differs")
    parser.add_argument("--table", type=pathlib.Path, metavar="PAGE", help="put the counts into a page's table")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
