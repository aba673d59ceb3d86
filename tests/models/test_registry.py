"""Families and architectures: which module knows which layers."""

import collections
import importlib
import pkgutil

from kvinspect.models import families


def claims():
    """(architecture or class, module) of every family."""
    for info in pkgutil.iter_modules(families.__path__):
        module = importlib.import_module(f"{families.__name__}.{info.name}")
        yield from ((name, info.name) for name in module.ARCHITECTURES)


def test_no_architecture_is_claimed_by_two_families():
    modules = collections.defaultdict(set)
    for name, module in claims():
        modules[name].add(module)
    assert {name: found for name, found in modules.items() if len(found) > 1} == {}


def test_no_family_names_an_architecture_twice():
    counted = collections.Counter(claims())
    assert [claim for claim, number in counted.items() if number > 1] == []
