import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvinspect.document.fold import fold_names
from kvinspect.document.names import Expander, TooManyNames, expand

CASES = {
    "a": ["a"],
    "a.{0..2}.b": ["a.0.b", "a.1.b", "a.2.b"],
    "{2..0}": ["2", "1", "0"],
    "{0..6..3}": ["0", "3", "6"],
    "{0..2..0}": ["0", "1", "2"],
    "{x,y}.{0..1}": ["x.0", "x.1", "y.0", "y.1"],
    "{x}": ["{x}"],
    "{}": ["{}"],
    "a{b": ["a{b"],
    "{a,}": ["a", ""],
    "{-1..1}": ["-1", "0", "1"],
}


@pytest.mark.parametrize("pattern", CASES)
def test_expansion(pattern):
    assert list(expand(pattern)) == CASES[pattern]


@pytest.mark.parametrize("pattern", ["{0..999999999}", "{0..999}{0..999}", "{a,b}" * 40])
def test_an_expansion_without_bound_is_refused_before_it_is_made(pattern):
    with pytest.raises(TooManyNames):
        expand(pattern)


def test_the_bound_is_for_a_whole_document():
    names = Expander()
    names.all(["{0..11999}"])
    with pytest.raises(TooManyNames) as caught:
        names.all(["x{0..11999}"], ("kv_cache_config", "kv_cache_groups", 1))
    assert caught.value.path == ("kv_cache_config", "kv_cache_groups", 1)


layer_names = st.from_regex(r"\A[a-z]{1,3}(\.([a-z]{1,2}|0|[1-9][0-9]{0,2})){0,4}\Z")


@given(st.lists(layer_names, unique=True, max_size=30))
def test_folded_names_expand_to_the_names(names):
    assert sorted(n for pattern in fold_names(names) for n in expand(pattern)) == sorted(names)


def test_like_layers_fold_into_one_pattern():
    assert fold_names([f"m.layers.{i}.attn" for i in range(32)]) == ["m.layers.{0..31}.attn"]
    assert fold_names([f"m.{i}.a" for i in (0, 7, 14, 22)]) == ["m.{0,7,14,22}.a"]
