"""The JSON Schema and the compiled validator stay in step with the models, and with each other."""

import json

import jsonschema
import pytest
import yaml

import golden
from conftest import ROOT
from kvinspect.document import compile as compiling
from kvinspect.document.load import load
from kvinspect.document.problem import DocumentError
from kvinspect.document.schema import json_schema
from kvinspect.document.spec_fields import FIELDS, NAMING
from kvinspect.document.words import SPEC_CLASSES

CONFIGS = sorted((ROOT / "configs").glob("*.*"))


def test_the_shipped_schema_is_the_one_that_the_models_give():
    assert json.loads((ROOT / "schema" / "kvinspect.schema.json").read_text()) == json_schema()


def test_the_compiled_validator_is_the_one_that_the_models_give():
    assert compiling.COMPILED.read_text(encoding="utf-8") == compiling.compiled_text()


@pytest.mark.parametrize("draft", [jsonschema.Draft7Validator, jsonschema.Draft202012Validator])
def test_the_schema_is_one_in_both_drafts_that_editors_read(draft):
    draft.check_schema({**json_schema(), "$schema": draft.META_SCHEMA["$schema"]})


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_every_config_fits_the_schema(path):
    value = yaml.safe_load(path.read_text(encoding="utf-8"))
    jsonschema.validate({**value, **_words(value)}, json_schema())


def _words(value):
    if "kv_cache_config" not in value:
        return {}
    groups = [dict(g, kv_cache_spec=_plain(g["kv_cache_spec"])) for g in value["kv_cache_config"]["kv_cache_groups"]]
    return {"kv_cache_config": {**value["kv_cache_config"], "kv_cache_groups": groups}}


def _plain(spec):
    """A spec as an editor wants it: torch's prefix of a dtype is taken by us, but not offered."""
    return {k: v.removeprefix("torch.") if k == "dtype" else v for k, v in spec.items()}


@pytest.mark.parametrize("path", [p for p in CONFIGS if p.suffix == ".yaml"], ids=lambda path: path.name)
def test_every_yaml_config_names_the_schema_for_editors(path):
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=../schema/kvinspect.schema.json"


def test_every_kind_has_fields_and_every_field_is_in_the_model():
    from kvinspect.document.model import SpecEntry

    assert FIELDS.keys() == SPEC_CLASSES.keys()
    known = set(SpecEntry.__dataclass_fields__)
    assert {name for pair in FIELDS.values() for names in pair for name in names} | set(NAMING) == known


@pytest.mark.parametrize("name", ["align-0.27.1", "cg-support-0.27.1", "plan-0.27.1", "mm-prefix-0.27.1"])
def test_what_validates_fits_the_schema(name):
    validator = jsonschema.Draft202012Validator(json_schema())
    validating = [case["document"] for case in golden.answers(name)[:80] if _validates(case["document"])]
    assert len(validating) > 10
    for document in validating:
        assert not list(validator.iter_errors(document))


def _validates(document):
    try:
        load(document)
    except DocumentError:
        return False
    return True
