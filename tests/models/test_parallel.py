"""What one rank holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvinspect.models.parallel import Heads, Uneven, heads, stage_layers

RANKS = st.sampled_from([1, 2, 3, 4, 8, 16, 64])


@given(st.integers(1, 256), st.integers(1, 256), RANKS)
def test_ranks_together_hold_every_head(query, kv, ranks):
    try:
        found = heads(query, kv, ranks)
    except Uneven:
        assert query % ranks or (kv % ranks and ranks % kv) or (query // ranks) % max(1, kv // ranks)
        return
    assert found.query * ranks == query
    assert found.kv * ranks == max(kv, ranks), "divided, or repeated so that each rank has one"


def test_heads_that_a_model_does_not_repeat():
    assert heads(32, 4, 4, repeated=False).kv == 1
    with pytest.raises(Uneven, match="4 KV heads cannot be divided among 8 ranks"):
        heads(32, 4, 8, repeated=False)


def test_heads_are_repeated_where_they_are_fewer_than_ranks():
    assert heads(32, 4, 16) == Heads(query=2, kv=1)


@pytest.mark.parametrize("asked", [(30, 10, 4), (32, 6, 4), (32, 3, 8)])
def test_heads_that_cannot_be_shared_out(asked):
    with pytest.raises(Uneven):
        heads(*asked)


@given(st.integers(0, 200), st.integers(1, 16))
def test_stages_hold_every_layer_once_and_in_order(layers, stages):
    held = [i for stage in range(stages) for i in stage_layers(layers, stage, stages)]
    assert held == list(range(layers))


@given(st.integers(0, 200), st.integers(1, 16))
def test_the_last_stage_is_never_the_longest_alone(layers, stages):
    sizes = [len(stage_layers(layers, stage, stages)) for stage in range(stages)]
    assert max(sizes) - min(sizes) <= 1
    assert sizes[-1] == min(sizes)
