"""Compares kvinspect with the engine's own answers: `python tests/golden/check.py [KIND] [FILE…]`.

Without a file all answers of the kind are compared that are kept under `answers/`, without a kind all kinds. A file
holds one case a line, plain or packed with xz. Ends with 1 where a case differs for none of the reasons of
`tests/conformance/intended.py`.
"""

import argparse
import collections
import json
import lzma
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).parents[1]), str(pathlib.Path(__file__).parents[2])]

import kvinspect  # noqa: E402
from conformance.intended import reason_of  # noqa: E402
from golden import FOLDER  # noqa: E402
from golden.cases import EXCUSED, differences  # noqa: E402

KINDS = ("align", "cg-support", "mm-prefix", "plan", "specs")


def cases(path):
    """The cases of a file."""
    with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def kind_of(path):
    """The kind that a file's name begins with; the second set of models is `specs2`."""
    return next(kind for kind in KINDS if path.name.startswith(kind))


def excuse(case):
    """Why a real model differs, None where it should not."""
    return EXCUSED.get((case["engine"], case.get("id")))


def outcome(kind, case):
    """(equal, intended or differ; how the case differs)."""
    try:
        rows = differences(kind, case)
    except kvinspect.DocumentError as error:
        return ("intended", excuse(case)) if excuse(case) else ("differ", str(error))
    reason = reason_of(kind, case["document"], rows) if rows and "document" in case else excuse(case)
    if rows and reason:
        return "intended", reason
    said = "; ".join(f"{path}: engine {theirs!r}, kvinspect {ours!r}" for path, theirs, ours in rows[:3])
    return "differ" if rows else "equal", said


def compared(kind, path, shown):
    """Whether every case of a file is equal; prints the counts and the first differences."""
    found = collections.Counter()
    for number, case in enumerate(cases(path), 1):
        word, said = outcome(kind, case)
        found[word] += 1
        if said and found[word] <= shown:
            print(f"{path.name}:{number} [{case.get('category') or case.get('id')}] {said[:500]}")
    intended = f", {found['intended']} intended" if found["intended"] else ""
    print(f"{path.name}: {found['equal']} equal{intended}, {found['differ']} differ")
    return not found["differ"]


def main():
    """Compare the files of the call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", nargs="?", choices=KINDS)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--show", type=int, default=5, help="differing cases of a file that are printed")
    call = parser.parse_args()
    files = call.files or sorted((FOLDER / "answers").glob(f"{call.kind or ''}*.xz"))
    equal = [compared(call.kind or kind_of(path), path, call.show) for path in files]
    sys.exit(not all(equal))


if __name__ == "__main__":
    main()
