"""Write the index of rules and their vLLM functions: `python tools/provenance.py > docs/provenance.md`."""

from __future__ import annotations

import importlib
import pathlib
import pkgutil
import sys
from collections.abc import Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

HEAD = """# Where the rules come from

The rules that differ between releases, and some that do not, declare the vLLM functions that they stand for.
`tools/provenance.py` writes this index from those declarations; `tests/test_provenance.py` checks that each vLLM
release has the functions named for it.

| kvinspect | vLLM | releases |
|---|---|---|
"""


def page() -> str:
    """Return the page: a row for each rule and range of releases, by module."""
    import kvinspect
    from kvinspect.provenance import RULES

    for module in pkgutil.walk_packages(kvinspect.__path__, "kvinspect."):
        if not module.name.startswith(("kvinspect.device.", "kvinspect.capture.", "kvinspect.__main__")):
            importlib.import_module(module.name)
    return HEAD + "".join(sorted(set(_rows(rule for rule in RULES if rule.__module__.startswith("kvinspect.")))))


def _rows(rules: Iterator[object]) -> Iterator[str]:
    from kvinspect.provenance import sources_of

    for rule in rules:
        where = f"{rule.__module__}.{rule.__qualname__}".removeprefix("kvinspect.")  # type: ignore[attr-defined]
        for source in sources_of(rule):  # type: ignore[arg-type]
            names = ", ".join(f"`{name}`" for name in source.functions)
            yield f"| `{where}` | {names} | {source.releases} |\n"


if __name__ == "__main__":
    sys.stdout.write(page())
