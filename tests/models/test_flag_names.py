"""Flags cut short as argparse takes them, short ones with their value, and flags that a release has lost."""

import argparse

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvinspect.data import flags
from kvinspect.models.command import read_words
from kvinspect.models.flag_names import named

FLAGS = flags.read("0.33.0")


def parser():
    """A parser of Python's own with the release's flags."""
    made = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for name, facts in FLAGS.by_name.items():
        if "stands_for" in facts:
            continue
        aliases = [f"--{one}" for one in FLAGS.by_name if FLAGS.by_name[one].get("stands_for") == name]
        negated = [f"--no-{name}"] if facts.get("negates") else []
        made.add_argument(f"--{name}", *negated, *aliases, *facts.get("short", ()), dest=name, action="store_true")
    return made


PARSER = parser()
STRINGS = sorted(PARSER._option_string_actions)


def of_argparse(word):
    found = PARSER._get_option_tuples(word) if word not in STRINGS else [(None, word)]
    return {one[1] for one in found}


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_flag_cut_short_is_what_argparse_makes_of_it(data):
    whole = data.draw(st.sampled_from(STRINGS))
    cut = whole[: data.draw(st.integers(3 if whole.startswith("--") else 2, len(whole)))]
    expected = of_argparse(cut)
    if len(expected) > 1:
        with pytest.raises(ValueError, match="ambiguous flag"):
            named(cut, FLAGS)
    else:
        action = PARSER._option_string_actions[next(iter(expected))]
        name = named(cut, FLAGS).name
        assert PARSER._option_string_actions[f"--{name}"] is action


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("m --tensor-parallel 2", {"tensor_parallel_size": "2"}),
        ("m --tensor_parallel=2", {"tensor_parallel_size": "2"}),
        ("m -qfp8", {"quantization": "fp8"}),
        ("m -q=fp8", {"quantization": "fp8"}),
        ("m --no-enable-prefix", {"enable_prefix_caching": False}),
        ("m --comp.mode 3", {"compilation_config": {"mode": 3}}),
        ("m --max-model-len -1", {"max_model_len": "-1"}),
    ],
)
def test_words_cut_short(words, arguments):
    assert read_words(words.split(), FLAGS).arguments == arguments


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("m --enable-p", "ambiguous flag --enable-p: --enable-per"),
        ("m -d 1", "ambiguous flag -d: -d"),
        ("m --max-model-len --enforce-eager", "--max-model-len lacks its value"),
        ("m --swap-space 4", "leave it out"),
        ("m --task embed", "use --runner pooling"),
        ("m --guided-decoding-backend x", "--structured-outputs-config.backend"),
        ("m --rope-scaling {}", "--hf-overrides"),
    ],
)
def test_words_that_are_refused(words, message):
    with pytest.raises(ValueError, match=message):
        read_words(words.split(), FLAGS)


def test_a_flag_of_another_release_says_which():
    old, new = flags.read("0.25.1"), flags.read("0.33.0")
    gone = next(name for name in old.by_name if not new.find(name) and not any(n.startswith(name) for n in new.by_name))
    came = next(name for name in new.by_name if not old.find(name) and not any(n.startswith(name) for n in old.by_name))
    with pytest.raises(ValueError, match="the last release with it is 0"):
        read_words([f"--{gone}"], new)
    with pytest.raises(ValueError, match="is the first release with it"):
        read_words([f"--{came}"], old)
