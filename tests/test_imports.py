"""What may not be imported where: torch outside device/, Typer and Rich from the Python API, rooms against the arrows."""

import ast
import subprocess
import sys

import pytest
from modules import PATHS, imports_in, targets

from conftest import ROOT

HEAVY = "import sys; print(sorted({'torch', 'typer', 'rich', 'pydantic.main'} & set(sys.modules)))"


def modules_after(code):
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{HEAVY}"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return ast.literal_eval(done.stdout.splitlines()[-1])


def test_the_python_api_imports_no_torch_typer_or_rich():
    code = "import kvinspect; kvinspect.align('configs/llama-3.1-8b.yaml', device='auto').to_dict()"
    assert modules_after(code) == []


def test_the_test_above_can_fail():
    pytest.importorskip("torch")
    assert modules_after("import torch, typer, rich") == ["rich", "torch", "typer"]


@pytest.mark.parametrize("how", ["table", "json", "yaml", "markdown"])
def test_align_without_a_device_never_imports_torch(how):
    code = f"""
import sys
sys.argv = ["kvinspect", "align", "configs/llama-3.1-8b.yaml", "--format", "{how}"]
from kvinspect.cli.main import run
run()"""
    assert "torch" not in modules_after(code)


ROOMS = [
    "provenance",
    "output",
    "installed",
    "data",
    "document",
    "hardware",
    "bundled",
    "commands",
    "capture",
    "specs",
    "backends",
    "engine",
    "mm_prefix",
    "cudagraph",
    "planning",
    "start_up_log",
    "releases",
    "connectors",
    "failed_starts",
    "models",
    "question",
    "compare",
    "device",
    "places",
    "linting",
    "report",
    "api",
    "cli",
]
"""From the far end of the arrows to their beginning; a room may import those before it."""

KNOWS_LESS = {
    "specs": {"output", "installed", "data", "capture"},
    "backends": {"output", "installed", "capture"},
    "engine": {"capture"},
    "mm_prefix": {"output", "installed", "data", "capture", "specs", "backends"},
    "cudagraph": {"output", "installed", "data", "capture", "mm_prefix"},
    "planning": {"mm_prefix", "cudagraph"},
    "models": {"mm_prefix", "cudagraph"},
    "compare": {"models"},
    "device": {"document", "engine"},
    "places": {
        "installed",
        "capture",
        "specs",
        "backends",
        "engine",
        "cudagraph",
        "planning",
        "question",
        "compare",
        "device",
    },
    "report": {"device", "models", "places", "linting"},
}
"""Rooms that know less than their place in the line allows."""


def room_of(module):
    """The room of a module."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


@pytest.mark.parametrize("module", sorted(PATHS))
def test_arrows_go_one_way(module):
    room = room_of(module)
    for target in targets(module):
        if target.split(".")[0] == "torch":
            assert room == "device"
        if target.split(".")[0] == "kvinspect":
            assert may_know(room, room_of(target)), f"{module} imports {target}, against the arrows"


def may_know(room, target):
    """Whether a room may import another. The front door, which is no room, may import any; a version knows nothing."""
    if target in ("geometry", "version", room) or room in ("", "__main__"):
        return True
    return (
        room in ROOMS
        and target in ROOMS
        and ROOMS.index(target) < ROOMS.index(room)
        and target not in KNOWS_LESS.get(room, ())
    )


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("from kvinspect import cli", "kvinspect.cli"),
        ("from kvinspect import align", "kvinspect"),
        ("from kvinspect.models import command", "kvinspect.models.command"),
        ("if TYPE_CHECKING:\n    from kvinspect.cli.main import run", "kvinspect.cli.main"),
        ("def late():\n    import kvinspect.cli.main", "kvinspect.cli.main"),
    ],
)
def test_the_test_above_sees_every_form_of_an_import(text, target):
    assert [found.module for found in imports_in(ast.parse(text))] == [target]
    assert not may_know("document", room_of(target))


def test_no_module_leads_back_to_itself():
    assert circles_of({module: {*targets(module, late=False)} for module in PATHS}) == []


def test_a_circle_is_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"e"}}
    assert circles_of(graph) == [{"b", "c"}, {"e"}]


def circles_of(graph):
    """The modules that lead back to themselves, each circle with all that it leads through."""
    reached = {start: _reached(graph, start) for start in graph}
    circles = []
    for start in graph:
        circle = {other for other in reached[start] if start in reached.get(other, ())}
        if circle and circle not in circles:
            circles.append(circle)
    return circles


def _reached(graph, start):
    found, left = set(), [start]
    while left:
        for target in graph.get(left.pop(), ()):
            if target not in found:
                found.add(target)
                left.append(target)
    return found
