"""A file under several releases: each finding once, with the releases in which it is found and not found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from kvinspect.document.finding import Finding
from kvinspect.linting.lint_file import FileResult


def together(results: Sequence[FileResult], releases: Sequence[str]) -> FileResult:
    """The results of one file under several releases as one."""
    if len(results) == 1:
        return results[0]
    found: dict[Hashable, dict[str, Finding]] = {}
    for release, result in zip(releases, results, strict=True):
        seen: Counter[Hashable] = Counter()
        for finding in result.findings:
            key = _key(finding)
            found.setdefault((key, seen[key]), {})[release] = finding
            seen[key] += 1
    kept = [by_release for by_release in found.values() if _counts(by_release, releases)]
    remark = next((result.remark for result in reversed(results) if result.remark), "")
    fault = next((result.fault for result in results if result.fault), "")
    merged = tuple(_merged(by_release, releases) for by_release in kept)
    return results[0]._replace(release=", ".join(releases), findings=merged, remark=remark, fault=fault)


def _key(finding: Finding) -> Hashable:
    """What makes findings of two releases the same one; of a comment, which has no entry, also its place and word."""
    return (finding.fingerprint, finding.mark, finding.message) if finding.code == UNUSED else finding.fingerprint


def _counts(by_release: dict[str, Finding], releases: Sequence[str]) -> bool:
    """Whether a finding is one of the file: a comment that silences something under one release is not unused."""
    return len(by_release) == len(releases) or all(finding.code != UNUSED for finding in by_release.values())


UNUSED = "KV006"
"""The rule of comments that silence nothing."""


def _merged(by_release: dict[str, Finding], releases: Sequence[str]) -> Finding:
    """A finding in the words of the newest release that has it."""
    *_, newest = by_release.values()
    absent = tuple(release for release in releases if release not in by_release)
    unjudged = any(finding.unjudged for finding in by_release.values())
    return newest._replace(releases=tuple(by_release), absent=absent, unjudged=unjudged)
