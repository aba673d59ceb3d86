"""What an unknown word for a rule was most likely meant to be."""

import pytest

from kvinspect.linting.registry import UnknownRule, rule_named, selected


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("KV999", "KV901"),
        ("KV7", "KV6"),
        ("KV8", "KV9"),
        ("KV000", "KV001"),
        ("KV1O3", "KV103"),
        ("kvlo3", "KV103"),
        ("KV199", "KV109"),
        ("KV114", "KV113"),
        ("KV30", "KV3"),
        ("KV305", "KV304"),
        ("KV1033", "KV103"),
        ("unsound-alocation", "unsound-allocation"),
    ],
)
def test_the_nearest_rule(word, near):
    for ask in (rule_named, lambda word: selected((word,), ())):
        if word == "KV30" and ask is not rule_named:
            continue
        with pytest.raises(UnknownRule, match=rf"did you mean {near}\?"):
            ask(word)


@pytest.mark.parametrize("word", ["", "xyzzy", "K", "9"])
def test_a_word_that_nothing_comes_near_has_none(word):
    with pytest.raises(UnknownRule, match=r"^no rule is called '\w*'$"):
        rule_named(word)
