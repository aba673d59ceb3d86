"""The backends of a release, each with its support and the conditions of it, without any document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kvinspect.backends.conditions import OPEN
from kvinspect.cudagraph.levels import Case, cases_of
from kvinspect.document.problem import nearest
from kvinspect.document.refusal import Unknown
from kvinspect.engine.align_answer import SCHEMA_VERSION
from kvinspect.engine.release import EngineRelease


class BackendRow(NamedTuple):
    """A backend: the platforms that try it by themselves, and its support; the last case is for everything else."""

    backend: str
    backend_class: str
    platforms: tuple[str, ...]
    cases: tuple[Case, ...]

    def to_dict(self) -> dict[str, Any]:
        """The backend as JSON; `support` is null where it depends on something."""
        return {
            "backend": self.backend,
            "backend_class": self.backend_class,
            "platforms": list(self.platforms),
            "support": self.cases[0].support.name if len(self.cases) == 1 else None,
            "cases": [case.to_dict() for case in self.cases],
        }


class BackendTable(NamedTuple):
    """The backends of a release on a platform."""

    engine: str
    release: str
    platform: str
    backends: tuple[BackendRow, ...]

    def to_dict(self) -> dict[str, Any]:
        """The table as `--format json` prints it."""
        rows = [row.to_dict() for row in self.backends]
        head = {"schema_version": SCHEMA_VERSION, "engine": self.engine, "release": self.release}
        return {**head, "platform": self.platform, "backends": rows}


def backend_table(release: EngineRelease, engine: str, platform: str, only: str | None = None) -> BackendTable:
    """The table of a release's backends, or of one. Raises Unknown where the release has none of that name."""
    entries = {name: entry for name, entry in release.catalogue["backends"].items() if "unavailable" not in entry}
    if only is not None:
        entries = {name: entry for name, entry in entries.items() if only in (name, entry["class"])}
    if not entries and only is not None:
        raise _unknown(release, only)
    rows = tuple(_row(name, entry, release.catalogue, platform) for name, entry in entries.items())
    return BackendTable(engine, release.version, platform, rows)


def _row(name: str, entry: Mapping[str, Any], catalogue: Mapping[str, Any], platform: str) -> BackendRow:
    facts = {"platform": platform, "flash_attn_version": None, "capability": _capability(platform)}
    cases = cases_of(entry["cudagraph_support"], facts, catalogue)
    return BackendRow(name, entry["class"], _platforms(name, catalogue), cases)


def _capability(platform: str) -> Any:
    return OPEN if platform in ("cuda", "rocm") else None


def _platforms(name: str, catalogue: Mapping[str, Any]) -> tuple[str, ...]:
    rules = [rule for rule in catalogue["selection"]["rules"] if name in rule["value"]]
    return tuple(dict.fromkeys(rule["if"]["platform"] for rule in rules))


def _unknown(release: EngineRelease, name: str) -> Unknown:
    known = [n for n, entry in release.catalogue["backends"].items() if "unavailable" not in entry]
    return Unknown((), name, f"a backend of vLLM {release.version}", nearest(name, known), "unknown-backend")
