"""A file under several releases: each finding once, with the releases in which it is found and not found."""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.document.finding import Finding
from kvinspect.lint.run import FileResult


def together(results: Sequence[FileResult], releases: Sequence[str]) -> FileResult:
    """The results of one file under several releases as one."""
    if len(results) == 1:
        return results[0]
    found: dict[str, dict[str, Finding]] = {}
    for release, result in zip(releases, results, strict=True):
        for finding in result.findings:
            found.setdefault(finding.fingerprint, {})[release] = finding
    merged = tuple(_merged(by_release, releases) for by_release in found.values())
    return results[0]._replace(release=", ".join(releases), findings=merged)


def _merged(by_release: dict[str, Finding], releases: Sequence[str]) -> Finding:
    """A finding in the words of the newest release that has it."""
    *_, newest = by_release.values()
    absent = tuple(release for release in releases if release not in by_release)
    unjudged = any(finding.unjudged for finding in by_release.values())
    return newest._replace(releases=tuple(by_release), absent=absent, unjudged=unjudged)
