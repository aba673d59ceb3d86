"""What a linter found in a file: a coded, placed sentence."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from kvinspect.document.problem import Mark, Path, path_text


class Severity(IntEnum):
    """How bad a finding is: worth knowing; works worse than asked for; the engine refuses or answers wrongly."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        """The severity as people write it."""
        return self.name.lower()


class Finding(NamedTuple):
    """A finding with its place: the rule, the entry to change, and what is wrong with it."""

    code: str
    name: str
    severity: Severity
    message: str
    source: str
    path: Path = ()
    mark: Mark | None = None
    line_text: str = ""
    layers: tuple[str, ...] = ()
    """The layers that it is about, folded."""
    unjudged: bool = False
    """Whether it says that nothing can be said, because a name is not known."""
    releases: tuple[str, ...] = ()
    """The releases in which it is found, where several were asked about."""
    absent: tuple[str, ...] = ()
    """The releases, of those asked about, in which it is not found."""

    @property
    def where(self) -> str:
        """`file:line:column`, as far as it is known."""
        return self.source + (f":{self.mark.line}:{self.mark.column}" if self.mark else "")

    @property
    def fingerprint(self) -> str:
        """What stays the same while lines move: rule, file, entry and layers."""
        parts = (self.code, self.source, path_text(self.path), *self.layers)
        return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def to_dict(self) -> Mapping[str, Any]:
        """The finding as JSON."""
        return {
            "code": self.code,
            "name": self.name,
            "severity": self.severity.word,
            "message": self.message,
            "source": self.source,
            "line": self.mark.line if self.mark else None,
            "column": self.mark.column if self.mark else None,
            "path": path_text(self.path),
            "layers": list(self.layers),
            "fingerprint": self.fingerprint,
            **({"releases": list(self.releases), "absent": list(self.absent)} if self.releases else {}),
        }
