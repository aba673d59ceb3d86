"""The index of families, which spares a call the import of forty modules, says what the modules say."""

import importlib
import json

from kvinspect.models import families, registry


def test_the_index_is_what_the_modules_say():
    written = json.loads(registry.INDEX.read_text(encoding="utf-8"))
    assert written == registry.family_modules(), "python -m kvinspect.models.registry writes it again"


def test_an_architecture_that_the_index_lacks_is_found_in_its_module(monkeypatch):
    monkeypatch.setattr(registry, "_index", dict)
    module = importlib.import_module(f"{families.__name__}.qwen")
    assert all(registry.knows(name, "") for name in module.ARCHITECTURES)
    assert not registry.knows("NoSuchModel", "NoSuchModel")
