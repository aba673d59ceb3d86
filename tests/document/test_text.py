"""Values and positions of YAML and JSON."""

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kvinspect.document.problem import DocumentError, Mark
from kvinspect.document.source import parse

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | words
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4), max_leaves=20
)


@given(values)
def test_yaml_values_are_those_of_safe_load(value):
    text = yaml.safe_dump(value, allow_unicode=True)
    assert parse(text, "x.yaml").value == yaml.safe_load(text)


SURPRISES = [
    "a: on", "a: 1e-06", "a: 1.5e+3", "a: 22:22", "a: 017", "a: 0o17", "a: 0x1F", "a: 1_000", "a: .inf", "a: ~", "a: 2024-01-01",
    "a: yes\nb: no", "a: 'on'", "a: +12", "a: -0", "a: 0", "a: 08", "a: 12e03", "a: !!str 12", "a: |\n  x\n  y", "a: >-\n  x\n  y",
    "? a\n: b", "[1, 2, {a: b}]", "a: &x [1]\nb: *x", "a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}", "b: {<<: [{a: 1}, {a: 2, c: 3}]}",
    "a: 0b11", "a: 190:20:30", "a: 1.", "a: !!int 3", "a: ''", "a: \"\\u263A\"",
]  # fmt: skip


@pytest.mark.parametrize("text", SURPRISES)
def test_yaml_surprises_are_read_as_the_engine_reads_them(text):
    assert parse(text, "x.yaml").value == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "found"), [("2: a", "2,"), ("true: b", "true,"), ("? [a]\n: b", "a list or a mapping")]
)
def test_a_key_that_is_no_word_is_an_error(text, found):
    with pytest.raises(DocumentError, match=f": expected a word as key, found {found}"):
        parse(text, "x.yaml")


@given(values)
@settings(max_examples=200)
def test_json_values_are_those_of_json(value):
    text = json.dumps(value)
    assert parse(text, "x.json").value == json.loads(text)


def paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*path, key))


def at(text, mark):
    return text.splitlines()[mark.line - 1][mark.column - 1 :]


@given(values)
@settings(max_examples=200)
def test_every_json_value_is_where_its_mark_says(value):
    text = json.dumps(value, indent=1)
    source = parse(text, "x.json")
    for path in paths(value):
        inner = value
        for part in path:
            inner = inner[part]
        first = json.dumps(inner, indent=1).splitlines()[0][:1]
        assert at(text, source.locate(path)).startswith(first)


def test_yaml_marks_point_at_values_keys_and_aliases():
    text = "a: &x\n  b: [1, é2]\nc: *x\n"
    source = parse(text, "x.yaml")
    assert source.locate(("a", "b", 1)) == Mark(2, 10)
    assert source.locate(("a", "b"), at_key=True) == Mark(2, 3)
    assert source.locate(("c",)) == Mark(3, 1)
    assert source.locate(("a", "nothing", "there")) == source.locate(("a",)) == Mark(1, 4)


BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)
)
MERGES = "b: &b\n" + "".join(f"  k{i}: 1\n" for i in range(1000)) + "".join(f"m{i}: {{<<: *b}}\n" for i in range(1000))
HOSTILE = {
    "alias-bomb.yaml": (BOMB, "at most 50000 values"),
    "merge-bomb.yaml": (MERGES, "at most 50000 values"),
    "self-alias.yaml": ("a: &a [*a]", "stands inside what it repeats"),
    "self-merge.yaml": ("a: &a {<<: *a}", "merges itself"),
    "deep.yaml": ("[" * 100_000, "nesting depth"),
    "deep-enough.yaml": ("[" * 60 + "]" * 60, "at most 50 levels"),
    "deep-block.yaml": ("- " * 20_000 + "x", "nesting depth"),
    "deep.json": ("[" * 100_000, "at most 50 levels"),
    "deep-enough.json": ("[" * 60 + "]" * 60, "at most 50 levels"),
    "wide.json": ("[" + "1," * 200_000 + "1]", "at most 50000 values"),
    "digits.yaml": ("a: " + "9" * 100_000, "a number of 100000 characters"),
    "hex-digits.yaml": ("a: 0x" + "f" * 100_000, "a number of 100002 characters"),
    "sexagesimal.yaml": ("a: 1" + ":59" * 5000, "a number of"),
    "digits.json": ('{"a": ' + "9" * 100_000 + "}", "a number of 100000 characters"),
    "large.yaml": ("# x\n" * 100_000, "at most 262144 bytes"),
    "duplicate.yaml": ("a: 1\nb:\n  c: 1\n  c: 2\n", "4:3: b: the key 'c' stands here twice"),
    "duplicate.json": ('{"a": {"b": 1,\n "b": 2}}', "2:2: a.b: the key 'b' stands here twice"),
    "tag.yaml": ("a: !!python/object/apply:os.system [ls]", "the tag tag:yaml.org,2002:python"),
    "set.yaml": ("a: !!set {x}", "the tag"),
    "date.yaml": ("a: 2024-99-99", "cannot be read"),
    "control.yaml": ("a: b\nc: \x07", "2:4: expected readable text, found the control character U+0007"),
    "two.yaml": ("a: 1\n---\nb: 2\n", "2:1: not valid YAML"),
    "tab.yaml": ("a:\n\t- 1", "2:1: not valid YAML"),
    "list-key.yaml": ("? [1]\n: 2", "expected a word as key"),
    "unknown-alias.yaml": ("a: *b", "undefined alias"),
    "half.json": ('{"a": [1, 2', "not valid JSON"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_ends_in_a_message(name):
    text, expected = HOSTILE[name]
    with pytest.raises(DocumentError) as caught:
        parse(text, name)
    assert expected in str(caught.value)
    assert name in str(caught.value)
