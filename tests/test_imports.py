"""What may not be imported where: torch outside device/, Typer and Rich from the Python API, rooms against the arrows."""

import ast
import subprocess
import sys

import pytest

from conftest import ROOT

PACKAGE = ROOT / "kvinspect"
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
    "releases.data",
    "document",
    "hardware",
    "bundled",
    "capture",
    "engine.refusal",
    "specs",
    "engine",
    "planning",
    "releases",
    "connectors",
    "models",
    "question",
    "compare",
    "device",
    "lint",
    "report",
    "api",
    "cli",
]
"""From the far end of the arrows to their beginning; a room may import those before it."""

BESIDE = {
    "specs": {"output", "installed", "releases.data", "capture"},
    "engine": {"capture"},
    "compare": {"models"},
    "device": {"document", "engine"},
    "report": {"device", "models", "lint"},
}
"""Rooms that know less than their place in the line allows."""


def room_of(module):
    """The room of a module; data of the releases lie below the rules that read them, a refusal below all that refuse."""
    parts = module.split(".")
    if parts[1:3] in (["releases", "data"], ["engine", "refusal"]):
        return ".".join(parts[1:3])
    return parts[1] if len(parts) > 1 else ""


def imports_of(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows_go_one_way(path):
    room = room_of(".".join(("kvinspect", *path.relative_to(PACKAGE).with_suffix("").parts)))
    for module in imports_of(path):
        if module.split(".")[0] == "torch":
            assert room == "device"
        if not module.startswith("kvinspect.") or room not in [*ROOMS, "geometry"]:
            continue
        target = room_of(module)
        if target in ("geometry", room, ""):
            continue
        assert target in ROOMS, f"{path} imports {module}"
        assert room != "geometry", "geometry knows only integers"
        assert ROOMS.index(target) < ROOMS.index(room), f"{path} imports {module}, against the arrows"
        assert target not in BESIDE.get(room, ()), f"{room} is not to know {target}"


def test_no_module_asks_for_a_version_number():
    for path in PACKAGE.rglob("*.py"):
        if "releases" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                words = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
                assert not any(word[:2] == "0." and word[2:3].isdigit() for word in words), f"{path}:{node.lineno}"
