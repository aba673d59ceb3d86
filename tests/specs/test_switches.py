"""A kind of spec answers for itself: no other module tells kinds apart by their class, few by their tag."""

import ast

import pytest
from modules import PATHS, tree

from kvinspect.document.words import SPEC_CLASSES

OUTSIDE = sorted(module for module in PATHS if not module.startswith("kvinspect.specs"))
CLASSES = {
    node.name
    for module in PATHS
    if module.startswith("kvinspect.specs.")
    for node in tree(module).body
    if isinstance(node, ast.ClassDef) and node.name.endswith(("Spec", "Specs"))
}

BY_TAG = {
    "kvinspect.document.check": "reads what is written, before there is a spec of any class",
    "kvinspect.document.spec_fields": "says which fields may be written for a kind",
    "kvinspect.engine.document_specs": "makes the spec of what is written",
    "kvinspect.capture.spec_entries": "reads the engine's own objects",
    "kvinspect.backends.model_facts": "reads what is written, and picks a model runner before there is a spec",
    "kvinspect.models.layer_specs": "chooses the kind of the spec that it makes",
    "kvinspect.models.parameters": "the words are those of a config.json",
    "kvinspect.models.completions": "the words are those of a config.json",
    "kvinspect.models.families.alice": "the words are those of a config.json",
    "kvinspect.models.families.delta_net": "the words are those of a config.json",
    "kvinspect.models.families.heads_apart": "the words are those of a config.json",
    "kvinspect.models.families.lfm2": "the words are those of a config.json",
}
"""Modules that compare with the tag of a kind, and why no spec could answer in their place."""


def asks_for_class(text):
    """Return the spec classes that a text tells apart by `isinstance`."""
    calls = (node for node in ast.walk(text) if isinstance(node, ast.Call) and len(node.args) == 2)
    named = (call.args[1] for call in calls if getattr(call.func, "id", "") in ("isinstance", "issubclass"))
    return {name.id for kinds in named for name in ast.walk(kinds) if isinstance(name, ast.Name)} & CLASSES


def compares_tag(text):
    """Return the kinds whose tags a text compares with something."""
    compared = (node for node in ast.walk(text) if isinstance(node, ast.Compare))
    sides = (side for node in compared for side in (node.left, *node.comparators))
    parts = (part for side in sides for part in (side, *getattr(side, "elts", ())))
    return {part.value for part in parts if isinstance(part, ast.Constant)} & SPEC_CLASSES.keys()


@pytest.mark.parametrize("module", OUTSIDE)
def test_no_other_module_asks_a_spec_for_its_class(module):
    assert asks_for_class(tree(module)) == set()


def test_tags_are_compared_where_no_spec_could_answer():
    assert {module for module in OUTSIDE if compares_tag(tree(module))} == BY_TAG.keys()


@pytest.mark.parametrize(
    ("text", "classes", "tags"),
    [
        ("isinstance(group.spec, MambaSpec)", {"MambaSpec"}, set()),
        ("isinstance(spec, (MambaSpec, AttentionSpec))", {"MambaSpec", "AttentionSpec"}, set()),
        ("isinstance(spec, AttentionSpec | str)", {"AttentionSpec"}, set()),
        ("spec.kind == 'mamba'", set(), {"mamba"}),
        ("'mamba' != spec.kind", set(), {"mamba"}),
        ("spec.kind in ('mamba', 'rswa')", set(), {"mamba", "rswa"}),
        ("spec.holds_states", set(), set()),
    ],
)
def test_the_tests_above_see_every_form_of_a_switch(text, classes, tags):
    assert (asks_for_class(ast.parse(text)), compares_tag(ast.parse(text))) == (classes, tags)
