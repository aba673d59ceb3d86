"""What a report of an error needs: the versions, the cache, what was decided, and where an engine did otherwise."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Any, NamedTuple

from kvinspect.cudagraph.cg_support_answer import CGSupportAnswer
from kvinspect.document.captured import CapturedEntry, CapturedGraphsEntry
from kvinspect.document.document import Document
from kvinspect.engine.align_answer import SCHEMA_VERSION, AlignAnswer
from kvinspect.engine.captured_comparison import Difference
from kvinspect.version import __version__


class HereAnswer(NamedTuple):
    """What can be said without a document: the versions of what is installed here, and the newest known rules."""

    @property
    def versions(self) -> dict[str, str]:
        """The versions of kvinspect, Python, the system, and of installed vLLM and torch; nothing is imported."""
        here = {"kvinspect": __version__, "python": platform.python_version(), "system": platform.platform()}
        found = {name: _installed(name) for name in ("vllm", "torch")}
        return here | {name: version or "not installed" for name, version in found.items()}

    @property
    def clean(self) -> bool:
        """True: there is no document that something could be wrong with."""
        return True

    def to_dict(self) -> dict[str, Any]:
        """The answer as `--format json` prints it."""
        return {"schema_version": SCHEMA_VERSION, "versions": self.versions}


def _installed(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


class DoctorAnswer(NamedTuple):
    """The answers about a document, and what was captured."""

    document: Document
    align: AlignAnswer
    cg_support: CGSupportAnswer

    @property
    def captured(self) -> CapturedEntry | None:
        """What a running engine made, None where the document was written by hand."""
        return self.document.model.captured

    @property
    def versions(self) -> dict[str, str]:
        """The versions of kvinspect and Python, and of the engine and its torch where one was captured."""
        here = {"kvinspect": __version__, "python": platform.python_version()}
        captured = self.captured
        if captured is None:
            return here
        by = {"captured by kvinspect": captured.kvinspect, "vllm": captured.vllm, "torch": captured.torch}
        return here | {name: word for name, word in by.items() if word}

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Where the engine did otherwise: views, storages and kernel block sizes, and what became of CUDA graphs."""
        found = self.align.captured
        if found is None or found.why_not or self.captured is None:
            return ()
        graphs = self.captured.cudagraph
        return (*found.differences, *(_graphs(self.cg_support, graphs) if graphs else ()))

    @property
    def clean(self) -> bool:
        """Whether there is nothing to report."""
        return self.align.clean and not self.differences

    def to_dict(self) -> dict[str, Any]:
        """The answer as `--format json` prints it."""
        captured = self.captured
        return {
            "schema_version": SCHEMA_VERSION,
            "versions": self.versions,
            **self.align.setting.to_dict(),
            "device": captured.device_name if captured else None,
            "decision": self.align.decision,
            "sound": self.align.sound,
            "findings": self.align.findings,
            "resolved_mode": self.cg_support.running.mode.name if self.cg_support.running.mode else None,
            "captured": self.align.captured.to_dict() if self.align.captured else None,
            "differences": [found.to_dict() for found in self.differences],
        }


def _graphs(answer: CGSupportAnswer, graphs: CapturedGraphsEntry) -> Iterator[Difference]:
    """The mode that the engine resolved, and what its backends answered, where it is not what is computed."""
    computed = answer.running.mode.name if answer.running.mode else "refused"
    if graphs.resolved_mode is not None and graphs.resolved_mode != computed:
        yield Difference("CUDA graph mode", computed, graphs.resolved_mode)
    levels = answer.decision.groups if answer.decision else ()
    ours = {(level.kv_cache_group_id, level.backend): level.level.support.name for level in levels}
    for group in graphs.groups:
        support = ours.get((group.kv_cache_group_id, group.backend))
        if support and group.support and support != group.support:
            yield Difference(f"CUDA graph support of {group.backend}", support, group.support)
