"""The values of `--speculative-config`, key by key: of the right kind, and words that the release takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from kvinspect.data.catalogue import read_file, versions
from kvinspect.document.problem import Problem, nearest, shown
from kvinspect.models.readers import whole

FLAG = "speculative-config"

FLAGS = (
    "enforce_eager", "disable_padded_drafter_batch", "disable_eagle_block_drop", "disable_lookahead_block_hashes",
    "use_local_argmax_reduction", "use_heterogeneous_vocab", "parallel_drafting", "enable_adaptive_verification",
    "index_share_for_mtp_iteration",
)  # fmt: skip
COUNTS = {
    "num_speculative_tokens": 1, "draft_tensor_parallel_size": 1, "max_model_len": 1, "prompt_lookup_max": 1,
    "prompt_lookup_min": 1, "dspark_draft_topk": 1, "xpress_topc": 0, "fly_window_size": 1, "fly_entropy_top_k": 1,
    "suffix_decoding_max_tree_depth": 1, "suffix_decoding_max_cached_requests": 0,
}  # fmt: skip
"""Keys that count something → the least."""
NUMBERS = {
    "fly_entropy_threshold": (0.0, math.inf), "synthetic_acceptance_length": (1.0, math.inf),
    "suffix_decoding_max_spec_factor": (0.0, math.inf), "suffix_decoding_min_token_prob": (0.0, 1.0),
}  # fmt: skip
"""Keys that are numbers → the least and the most."""
MAX_DIGITS = 18
"""Digits of a number that is written as a text."""

NAMES = ("model", "quantization", "attention_backend", "kv_cache_dtype", "revision", "code_revision")


def wrong_values(given: Mapping[str, Any], path: tuple[str, ...], version: str) -> Iterator[Problem]:
    """A problem for each value that the release's configuration does not take; `path` is that of the flag."""
    for written, value in given.items():
        key = str(written).replace("-", "_")
        expected = None if value is None else _expected(key, value)
        if expected:
            yield Problem((*path, str(written)), expected=expected, found=shown(value))
        elif value is not None and isinstance(value, str):
            yield from _wrong_word((*path, str(written)), key, value, version)


def _expected(key: str, value: Any) -> str:
    """What a value should be, empty where it is that."""
    if key in FLAGS and not isinstance(value, bool):
        return "true or false"
    if key in COUNTS:
        number = whole(int(value) if isinstance(value, str) and _is_short_number(value) else value)
        return "" if number is not None and number >= COUNTS[key] else f"a whole number from {COUNTS[key]} on"
    if key in NUMBERS:
        return _expected_number(value, *NUMBERS[key])
    return "a word" if key in NAMES and not isinstance(value, str) else ""


def _is_short_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= MAX_DIGITS


def _expected_number(value: Any, least: float, most: float) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most:
        return ""
    return f"a number from {least:g}" + (" on" if most == math.inf else f" to {most:g}")


def _wrong_word(path: tuple[str, ...], key: str, value: str, version: str) -> Iterator[Problem]:
    """A word that the release does not take, with the releases that do."""
    known = words(version).get(key)
    if known is None or value in known:
        return
    having = [other for other in versions() if value in words(other).get(key, ())]
    since = f"; the last release with it is {having[-1]}" if having and _is_before(having[-1], version) else ""
    since = f"; {having[0]} is the first release with it" if having and not since else since
    message = f"{shown(value)} is no {key} of vLLM {version}{since}"
    yield Problem(path, message=message, nearest="" if since else nearest(value, known))


def _is_before(one: str, other: str) -> bool:
    known = versions()
    return known.index(one) < known.index(other)


@cache
def words(version: str) -> Mapping[str, list[str]]:
    """Key → the words that a release takes, of keys that take no others."""
    found: Mapping[str, list[str]] = read_file(version, "inputs").get("words", {})
    return {name.partition(".")[2]: taken for name, taken in found.items()}
