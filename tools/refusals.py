"""Keep `tests/releases/refusals.tsv`: every refusal of vLLM's configuration, in which releases, and what becomes of it.

    python tools/refusals.py list ENGINE…     # adds what is new, with the class `?`, which somebody has to settle
    python tools/refusals.py page             # writes docs/refusals.md

An ENGINE is a folder with an unpacked vLLM wheel. A refusal is a `raise` or an `assert` in the modules that settle the
configuration. It is known by its function and by a digest of its statement and of the conditions around it, so that
nothing of vLLM is kept, and a condition that changes is a new row.
"""

from __future__ import annotations

import ast
import hashlib
import pathlib
import sys
from collections.abc import Iterator
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "releases" / "refusals.tsv"
PAGE = ROOT / "docs" / "refusals.md"

PARTS = ("config/*.py", "platforms/*.py", "model_executor/models/config.py")
"""The modules that settle the configuration, below the package."""

MODELLED, IRRELEVANT, NOT_MODELLED, OPEN = "modelled", "irrelevant", "not modelled", "?"


class Refusal(NamedTuple):
    """A refusal by where it stands; `error` is the class of the exception."""

    module: str
    function: str
    digest: str
    error: str


class Row(NamedTuple):
    """A refusal with the releases that have it, its class, and why: for `modelled` the function that does it."""

    refusal: Refusal
    releases: tuple[str, ...]
    kind: str
    why: str


def refusals_of(package: pathlib.Path) -> list[Refusal]:
    """The refusals of a vLLM package, in the order of its modules."""
    files = [file for part in PARTS for file in sorted(package.glob(part))]
    return [one for file in files for one in _of_module(file.relative_to(package).as_posix(), file)]


def _of_module(name: str, file: pathlib.Path) -> Iterator[Refusal]:
    seen: dict[Refusal, int] = {}
    for function, node, conditions in _statements(ast.parse(file.read_text(encoding="utf-8")), "", ()):
        found = Refusal(name, function, _digest(node, conditions), _error(node))
        seen[found] = again = seen.get(found, 0) + 1
        yield found if again == 1 else found._replace(digest=f"{found.digest}.{again}")


def _statements(tree: ast.AST, within: str, conditions: tuple[str, ...]) -> Iterator[tuple]:
    """(function, statement, the condition right around it) of each `raise` and `assert`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Raise | ast.Assert):
            yield within, node, conditions
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _statements(node, f"{within}.{node.name}".lstrip("."), ())
        else:
            here = (ast.dump(node.test),) if isinstance(node, ast.If) else conditions
            yield from _statements(node, within, here)


def _digest(node: ast.AST, conditions: tuple[str, ...]) -> str:
    return hashlib.sha256("\n".join((*conditions, ast.dump(node))).encode()).hexdigest()[:8]


def _error(node: ast.AST) -> str:
    """The class that is raised, "again" for an exception that is passed on."""
    if isinstance(node, ast.Assert):
        return "AssertionError"
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return raised.id if isinstance(raised, ast.Name) and raised.id[:1].isupper() else "again"


def read() -> list[Row]:
    """The table."""
    lines = TABLE.read_text(encoding="utf-8").splitlines() if TABLE.exists() else []
    cells = [line.split("\t") for line in lines]
    return [Row(Refusal(*four), tuple(releases.split()), kind, why) for *four, releases, kind, why in cells]


def write(rows: list[Row]) -> None:
    """The table again, in the order of modules and functions."""
    rows = sorted(rows, key=lambda row: (row.refusal, row.releases))
    text = "".join("\t".join((*row.refusal, " ".join(row.releases), row.kind, row.why)) + "\n" for row in rows)
    TABLE.write_text(text, encoding="utf-8")


def release_of(engine: pathlib.Path) -> str:
    """The release of an unpacked wheel."""
    return next(engine.glob("vllm-*.dist-info")).name.removesuffix(".dist-info").split("-")[1].split("+")[0]


def merged(engines: list[pathlib.Path]) -> list[Row]:
    """The table with the refusals of these engines; a release's rows that it no longer has are dropped."""
    found = {release_of(engine): set(refusals_of(engine / "vllm")) for engine in engines}
    known = {row.refusal: row for row in read()}
    rows = []
    for refusal in known.keys() | set().union(*found.values()):
        row = known.get(refusal, Row(refusal, (), OPEN, ""))
        kept = {release for release in row.releases if release not in found}
        releases = kept | {release for release, those in found.items() if refusal in those}
        if releases:
            rows.append(row._replace(releases=tuple(sorted(releases))))
    return rows


HEAD = """# What the configuration refuses

vLLM refuses a call while its configuration is settled, while the cache is planned, or while the cache is made. This
page lists the `raise` and `assert` statements of the first kind, module by module: those that kvinspect models, with
the function that does; those that are **not modelled**, so that a plan may say ✓ where the engine stops; and how many
are irrelevant to cache, layout, graphs and parallelism.

`tools/refusals.py` writes it from `tests/releases/refusals.tsv`, which knows a statement by its function and a digest
of it and of the condition around it. A release that adds one or changes one fails a test until its class is
settled.
"""


def page(rows: list[Row]) -> str:
    """The page: a table for each module that refuses something that matters."""
    parts = [HEAD]
    for module in dict.fromkeys(row.refusal.module for row in sorted(rows)):
        mine = [row for row in rows if row.refusal.module == module]
        found = [line for kind in (MODELLED, NOT_MODELLED) for line in _lines(mine, kind)]
        irrelevant = sum(row.kind == IRRELEVANT for row in mine)
        if found:
            head = "| function | error | releases | |\n|---|---|---|---|"
            parts.append(f"## {module}\n\n{head}\n" + "\n".join(found) + f"\n\nIrrelevant: {irrelevant}.\n")
    return "\n".join(parts)


def _lines(rows: list[Row], kind: str) -> Iterator[str]:
    """Rows alike as one: the releases of all of them."""
    together: dict[tuple[str, str, str], set[str]] = {}
    for row in rows:
        if row.kind == kind:
            together.setdefault((row.refusal.function, row.refusal.error, row.why), set()).update(row.releases)
    for (function, error, why), releases in sorted(together.items()):
        said = f"`{why}`" if kind == MODELLED else f"**not modelled**: {why}"
        yield f"| `{function}` | {error} | {_range(sorted(releases))} | {said} |"


def _range(releases: list[str]) -> str:
    first, last = (release.rpartition(".")[0] for release in (releases[0], releases[-1]))
    return first if first == last else f"{first}–{last}"


def main(command: str, *engines: str) -> None:
    """Run a command."""
    if command == "list":
        rows = merged([pathlib.Path(engine) for engine in engines])
        write(rows)
        print(sum(row.kind == OPEN for row in rows), "to be settled")
    else:
        PAGE.write_text(page(read()), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
