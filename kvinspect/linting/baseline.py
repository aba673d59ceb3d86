"""A file of findings that are known, so that an old repository can begin with the new ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from kvinspect.document.files import printable, read_bounded, text_of
from kvinspect.document.finding import Finding
from kvinspect.document.limits import MAX_BASELINE_BYTES
from kvinspect.document.problem import DocumentError, Problem

VERSION = 1


def written(findings: Iterable[Finding]) -> str:
    """The text of a baseline: a line a finding, in an order that keeps differences small.

    A file that could not be judged is never known: what is wrong with it may be anything.
    """
    rows = sorted((f.source, f.code, f.fingerprint, f.message) for f in findings if not f.unjudged)
    keys = ("source", "code", "fingerprint", "message")
    lines = ",\n".join("  " + json.dumps(dict(zip(keys, row, strict=True))) for row in rows)
    return f'{{"schema_version": {VERSION}, "findings": [\n{lines}\n]}}\n'


def read(path: str) -> Counter[str]:
    """How often each fingerprint is known. Raises DocumentError where the file is no baseline."""
    text = text_of(read_bounded(path, MAX_BASELINE_BYTES, "a baseline"), printable(path))
    try:
        return Counter(str(row["fingerprint"]) for row in json.loads(text)["findings"])
    except (ValueError, KeyError, TypeError, RecursionError):
        message = "no baseline; write one with --write-baseline"
    raise DocumentError([Problem((), message=message, source=printable(path))])


def new(findings: Iterable[Finding], known: Counter[str]) -> list[Finding]:
    """The findings that a baseline does not know."""
    left, out = Counter(known), []
    for finding in findings:
        if left[finding.fingerprint] and not finding.unjudged:
            left[finding.fingerprint] -= 1
        else:
            out.append(finding)
    return out
