"""What the shipped catalogue says of a document, beside what the classes of the installed vLLM say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvinspect.api.align import align
from kvinspect.api.asking import Origin, load
from kvinspect.api.cg_support import cg_support
from kvinspect.api.plan import plan
from kvinspect.document.document import Document
from kvinspect.engine.beside import Beside, Difference, differences
from kvinspect.releases import lookup

_COMMANDS: dict[str, tuple[str, Callable[..., Any]]] = {
    "align": ("kv_cache_config", align),
    "cg-support": ("kv_cache_config", cg_support),
    "plan": ("kv_cache_specs", plan),
}
"""Command → (the key that its documents have, what answers it)."""


def beside(document: Origin) -> Beside:
    """Compare a document's answers under the shipped catalogue with those under the installed vLLM's own classes.

    Asked are the classes of backends and specs; the steps between them are kvinspect's in both answers. Raises
    DocumentError where the document cannot be used, or no vLLM of a release that kvinspect knows can be asked.
    """
    loaded = load(document)
    commands = [name for name, (key, _) in _COMMANDS.items() if getattr(loaded.model, key) is not None]
    if not commands:
        loaded.require("kv_cache_config", "doctor")
    live, rows = "", []
    for name in commands:
        ours, theirs = _both(loaded, name)
        live = theirs["engine"]
        rows += [Difference(name, *row) for row in differences(ours, theirs)]
    return Beside(loaded.source.name, live, lookup.number(theirs["release"]), tuple(commands), tuple(rows))


def _both(document: Document, command: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the answer under the shipped catalogue, the answer under the installed vLLM's)."""
    _, ask = _COMMANDS[command]
    theirs = ask(document, engine="installed").to_dict()
    return ask(document, engine=lookup.number(theirs["release"])).to_dict(), theirs
