"""No module outside `releases/` names a version of vLLM, or finds one out by asking what a release has."""

import ast
import json
import re

import pytest
from modules import PACKAGE, PATHS, tree

VERSION = re.compile(r"v?0\.[0-9]{1,2}(\.[0-9]+)?\.?")
"""A version, or the beginning of one."""

OWN = {"kvinspect.version", "kvinspect.provenance"}
"""Where kvinspect's own version stands, and the release with which a declared range begins that names none."""

RANGES = {"kvinspect.linting.rules.kv108_two_head_ambiguity", "kvinspect.linting.rules.kv113_runners_disagree"}
"""Rules whose page says for which releases they are, as text that nothing reads."""

PROBES = {
    "kvinspect.engine.document_specs": "a document's spec whose class the release lacks is refused, which is the class itself",
}
"""Modules that may ask whether a release has a spec class, and why."""

SPEC_CLASSES = {
    name
    for path in (PACKAGE / "data").glob("*/catalogue.json")
    for name in json.loads(path.read_text(encoding="utf-8"))["spec_classes"]
}


def named(node):
    """Versions that code names: as text, as text that is compared, as a tuple of numbers."""
    for inner, compared in _code(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            words = re.split(r"[ ,]+|to|and|on", inner.value)
            if (all(VERSION.fullmatch(word) for word in words if word) and any(words)) or (
                compared and VERSION.search(inner.value)
            ):
                yield inner.lineno
        elif isinstance(inner, ast.Tuple) and _is_version(inner):
            yield inner.lineno


def _code(node, compared=False):
    """(node, whether it stands in a comparison) of code: no docstring, and no declared range of a rule."""
    if _is_declaration(node) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return
    compared = compared or isinstance(node, (ast.Compare, ast.match_case))
    yield node, compared
    for child in ast.iter_child_nodes(node):
        yield from _code(child, compared)


def _is_declaration(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "vllm"


def _is_version(node):
    numbers = [part.value for part in node.elts if isinstance(part, ast.Constant) and type(part.value) is int]
    return len(numbers) == len(node.elts) in (2, 3) and numbers[0] == 0 and 10 < numbers[1] < 100


def probed(node):
    """Questions that stand in for a version: is a spec class there, has it a field, which is newest for a missing key."""
    for inner in ast.walk(node):
        if (isinstance(inner, ast.Compare) and any(map(_asks_for_classes, ast.walk(inner)))) or (
            isinstance(inner, ast.Call) and _falls_back(inner)
        ):
            yield inner.lineno


def _asks_for_classes(node):
    named = isinstance(node, ast.Constant) and node.value in {*SPEC_CLASSES, "spec_classes"}
    return named or (isinstance(node, ast.Name) and node.id == "SPEC_CLASSES")


def _falls_back(call):
    """`table.get(release, newest)`: a release without a row of its own is taken for another."""
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "get" and len(call.args) == 2):
        return False
    key, other = map(ast.unparse, call.args)
    return bool(re.search(r"newest|latest", other, re.I) or re.search(r"\brelease$|\.version$|\bengine$", key))


OUTSIDE = [module for module in sorted(PATHS) if not module.startswith("kvinspect.releases")]


@pytest.mark.parametrize("module", [module for module in OUTSIDE if module not in OWN | RANGES])
def test_no_module_names_a_version(module):
    assert [f"{PATHS[module]}:{line}" for line in named(tree(module))] == []


@pytest.mark.parametrize("module", [module for module in OUTSIDE if module not in PROBES])
def test_no_module_probes_for_a_version(module):
    assert [f"{PATHS[module]}:{line}" for line in probed(tree(module))] == []


@pytest.mark.parametrize("module", sorted({*OWN, *RANGES}))
def test_what_may_name_a_version_does(module):
    assert [*named(tree(module))]


@pytest.mark.parametrize("module", sorted(PROBES))
def test_what_may_probe_does(module):
    assert [*probed(tree(module))]


@pytest.mark.parametrize(
    "text",
    [
        'new = release == "0.28"', 'new = version.startswith("0.29.")', "new = found >= (0, 30)", "RULES = {'0.33.0': 1}",
        'match release:\n    case "0.25.1":\n        pass', 'since = "0.26 to 0.28"', 'new = name in "0.28, or 0.29"',
    ],
)  # fmt: skip
def test_a_version_is_found(text):
    assert [*named(ast.parse(text))]


@pytest.mark.parametrize(
    "text",
    [
        '"""Up to 0.28."""', '@vllm("vllm.f", since="0.28", until="0.30")\ndef f():\n    "0.25"', 'help = "such as 0.28"',
        "size = (0, 4)", "ratio = 0.28", "many = counted and on",
    ],
)  # fmt: skip
def test_what_names_no_version_is_let_pass(text):
    assert [*named(ast.parse(text))] == []


@pytest.mark.parametrize(
    "text",
    [
        '"HiSparseHotSpec" in classes', 'key in catalogue["spec_classes"]["MLAAttentionSpec"]["optional"]',
        'SPEC_CLASSES["mamba"] not in known', "RULES.get(release, NEWEST)", "RULES.get(release, {})",
        "RULES.get(cache.release.version, None)",
    ],
)  # fmt: skip
def test_a_probe_is_found(text):
    assert [*probed(ast.parse(text))]
