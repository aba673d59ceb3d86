"""With what the engine refuses a draft (`SpeculativeConfig.__post_init__` and `_verify_args`), one check a question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from kvinspect.data import duties
from kvinspect.document.problem import DocumentError, Problem
from kvinspect.models.draft_tables import WITHOUT_LAYERS
from kvinspect.models.given import SOURCE
from kvinspect.models.setting import ModelSetting
from kvinspect.models.speculation import Asked, layers_of, own_length

Objection = Iterator[tuple[str, str]]
"""(key of `speculative_config`, what is wrong with it), of all that the engine stops at."""

Check = Callable[[Asked, str], Objection]
"""What is wrong with a draft under a model runner."""


def check(asked: Asked, runner: str) -> None:
    """Nothing where the engine takes a draft. Raises DocumentError with all that it refuses the draft for."""
    found = [objection for one in CHECKS for objection in one(asked, runner)]
    if found:
        raise DocumentError([
            Problem(("speculative_config", key), message=text, source=SOURCE, kind="stopped") for key, text in found
        ])  # fmt: skip


def _model_is_missing(asked: Asked, runner: str) -> Objection:
    if asked.method in ("draft_model", "eagle", "eagle3", "dflash", "custom_class") and not asked.is_named:
        yield "model", f"is missing: drafts by {asked.method} need a model"


def _ranks(asked: Asked, runner: str) -> Objection:
    """A draft is cut as its target, or not at all; one that is a model of its own as its target under runner V1."""
    ranks, own = asked.setting.ranks, asked.keys.get("draft_tensor_parallel_size")
    if own is None or asked.method in WITHOUT_LAYERS:
        return
    if own not in (1, ranks):
        yield "draft_tensor_parallel_size", f"is 1 or {ranks}, the target's tensor_parallel_size, not {own}"
    elif own != ranks and asked.method == "draft_model" and runner == "v1":
        yield "draft_tensor_parallel_size", f"is {own}, and runner V1 cuts a draft model as its target, into {ranks}"


def _heads(asked: Asked, runner: str) -> Objection:
    """`verify_with_parallel_config` of the draft."""
    ranks = int(asked.keys.get("draft_tensor_parallel_size") or asked.setting.ranks)
    if asked.model is None or not asked.is_named or asked.method in WITHOUT_LAYERS:
        return
    heads = layers_of(asked.model).count("num_attention_heads", 0, least=0)
    if heads % ranks:
        yield "model", f"has {heads} attention heads, which cannot be divided among {ranks} ranks"


def _multiples(asked: Asked, runner: str) -> Objection:
    steps, tokens = asked.steps, asked.tokens or 0
    if steps and tokens > steps and tokens % steps:
        yield (
            "num_speculative_tokens",
            f"is {tokens}, and the draft makes {steps} at a time, of which it is no multiple",
        )


def _single(asked: Asked, runner: str) -> Objection:
    """Drafts of which only so many steps are there."""
    tokens = asked.tokens or 0
    one = {"ParseAuxMTPModel"} | ({"InklingMTPModel"} if asked.setting.rules.inkling_drafts_one else set())
    if asked.architecture in one and tokens != 1:
        yield "num_speculative_tokens", f"is {tokens}, and {asked.architecture} drafts one token"
    block = asked.model.config.maybe_count("dspark_block_size") if asked.method == "dspark" and asked.model else None
    if block and asked.setting.rules.dspark_fills_its_block and tokens < block:
        yield "num_speculative_tokens", f"is {tokens}, less than the draft's block of {block}"


def _lengths(asked: Asked, runner: str) -> Objection:
    own = asked.keys.get("max_model_len")
    if own is None or asked.method in WITHOUT_LAYERS:
        return
    if int(own) > asked.setting.max_model_len:
        yield "max_model_len", f"is {own}, longer than the target's {asked.setting.max_model_len}"
    limit = own_length(asked._replace(setting=_without_own_length(asked.setting)))
    if limit is not None and int(own) > limit and not asked.setting.arguments.is_on("VLLM_ALLOW_LONG_MAX_MODEL_LEN"):
        yield "max_model_len", f"is {own}, longer than the draft's {limit}"


def _without_own_length(setting: ModelSetting) -> ModelSetting:
    rest = tuple(pair for pair in setting.arguments.drafting if pair[0] != "max_model_len")
    return setting._replace(arguments=replace(setting.arguments, drafting=rest))


def _vocabularies(asked: Asked, runner: str) -> Objection:
    """A draft model speaks its target's tokens, or what both have is worked out (`use_heterogeneous_vocab`)."""
    keys = asked.keys
    if keys.get("use_heterogeneous_vocab"):
        if asked.method != "draft_model":
            yield "use_heterogeneous_vocab", f"works with a draft model alone, not with {asked.method}"
        elif keys.get("draft_sample_method", "greedy") != "greedy":
            yield "use_heterogeneous_vocab", "needs draft_sample_method greedy"
        elif keys.get("use_local_argmax_reduction") and asked.setting.rules.vocabularies_need_logits:
            yield "use_heterogeneous_vocab", "does not go with use_local_argmax_reduction"


def _same_vocabulary(asked: Asked, runner: str) -> Objection:
    if asked.method != "draft_model" or asked.model is None or asked.keys.get("use_heterogeneous_vocab"):
        return
    sizes = [one.text.maybe_count("vocab_size") for one in (asked.target, asked.model)]
    if None not in sizes and sizes[0] != sizes[1]:
        yield "model", f"has a vocabulary of {sizes[1]} tokens, its target one of {sizes[0]}"


def _acceptance(asked: Asked, runner: str) -> Objection:
    """The rates of made-up acceptance: one of two keys, one rate a token, none above the one before."""
    rates, length = asked.keys.get("synthetic_acceptance_rates"), asked.keys.get("synthetic_acceptance_length")
    tokens = asked.tokens or 0
    if asked.keys.get("rejection_sample_method") != "synthetic":
        if rates is not None or length is not None:
            key = "synthetic_acceptance_rates" if rates is not None else "synthetic_acceptance_length"
            yield key, "counts with rejection_sample_method synthetic alone"
    elif (rates is None) == (length is None):
        yield (
            "rejection_sample_method",
            "synthetic needs either synthetic_acceptance_rates or synthetic_acceptance_length",
        )
    elif length is not None and not 1 <= length <= tokens + 1:
        yield "synthetic_acceptance_length", f"is {length}, not from 1 to {tokens + 1}"
    elif rates is not None and not _are_rates(rates, tokens):
        yield "synthetic_acceptance_rates", f"is no list of {tokens} falling rates from 1 to 0"


def _are_rates(rates: Any, tokens: int) -> bool:
    if not isinstance(rates, list) or len(rates) != tokens:
        return False
    if any(isinstance(rate, bool) or not isinstance(rate, (int, float)) for rate in rates):
        return False
    return all(0 <= rate <= 1 for rate in rates) and list(rates) == sorted(rates, reverse=True)


def _flying(asked: Asked, runner: str) -> Objection:
    window, tokens = asked.keys.get("fly_window_size"), asked.tokens or 0
    if asked.keys.get("rejection_sample_method") != "fly":
        return
    if asked.method == "extract_hidden_states":
        yield "rejection_sample_method", "fly does not go with extract_hidden_states"
    elif tokens < 2:
        yield "num_speculative_tokens", f"is {tokens}, and rejection_sample_method fly needs 2"
    elif window is not None and int(window) >= tokens:
        yield "fly_window_size", f"is {window}, not below num_speculative_tokens, {tokens}"


OF_METHODS: Mapping[str, tuple[str, ...]] = {
    "index_share_for_mtp_iteration": ("mtp",),
    "dspark_draft_topk": ("dspark",),
    "draft_lm_head_quantization": ("eagle", "eagle3", "mtp"),
}
"""Keys that count with some ways to draft, and stop the engine with the others."""


def _of_other_methods(asked: Asked, runner: str) -> Objection:
    for key, methods in OF_METHODS.items():
        if asked.keys.get(key) is not None and asked.method not in methods:
            yield key, f"is for drafts by {', '.join(methods)}, not by {asked.method}"
    if asked.keys.get("xpress_topc") is not None and not _is_xpress(asked):
        yield "xpress_topc", "is for XPress drafts alone"
    if not asked.keys.get("enable_adaptive_verification") or asked.method == "dspark":
        return
    if asked.setting.rules.adapts_with_dspark_alone:
        yield "enable_adaptive_verification", f"is for drafts by dspark, not by {asked.method}"
    elif asked.keys.get("use_local_argmax_reduction"):
        yield "enable_adaptive_verification", "does not go with use_local_argmax_reduction"


def _is_xpress(asked: Asked) -> bool:
    return "XPress" in (asked.architecture or "")


TOP_K = ("Qwen3DSparkModel", "Qwen3OmniDSparkModel")
"""DSpark drafts that choose from the most likely tokens alone."""


def _most_likely(asked: Asked, runner: str) -> Objection:
    """How many of the most likely tokens a draft chooses from: no more than its vocabulary has."""
    if asked.method == "dspark":
        key, least = "dspark_draft_topk", 1
    elif _is_xpress(asked):
        key, least = "xpress_topc", 0
    else:
        return
    wanted = _given_or_written(asked, key)
    if asked.model is None or wanted is None:
        return
    vocabulary = asked.model.config.first_count("draft_vocab_size", "vocab_size")
    if vocabulary is not None and not least <= wanted <= vocabulary:
        yield key, f"is {wanted}, not from {least} to the draft's vocabulary of {vocabulary} tokens"
    if asked.method == "dspark" and asked.architecture not in TOP_K:
        yield key, f"is for {' and '.join(TOP_K)}, not for {asked.architecture}"


def _given_or_written(asked: Asked, key: str) -> int | None:
    """The number of a key that the call gives, else the draft's file where the release has the key."""
    given = asked.keys.get(key)
    if given is not None or asked.model is None:
        return None if given is None else int(given)
    known = f"speculative-config.{key}" in duties.names(asked.setting.release.version)[duties.KEYS]
    return asked.model.config.maybe_count(key, least=0) if known else None


def _schedule(asked: Asked, runner: str) -> Objection:
    """Drafted tokens by the sequences of a batch: ranges that do not overlap, from 1 on."""
    given = asked.keys.get("num_speculative_tokens_per_batch_size")
    if given is None:
        return
    rows = _rows(given)
    key = "num_speculative_tokens_per_batch_size"
    if not rows:
        yield key, "is no list of [first batch size, last batch size, tokens], none of them below 1, 1 and 0"
    elif rows[0][0] != 1:
        yield key, f"begins with batches of {rows[0][0]}, not of 1"
    elif any(later[0] <= row[1] for row, later in pairwise(rows)):
        yield key, "has ranges of batch sizes that overlap"


def _rows(given: Any) -> list[list[int]]:
    """The rows by their first batch size, none where one is wrong."""
    rows = given if isinstance(given, list) else []
    fit = all(
        isinstance(row, list) and len(row) == 3 and all(type(one) is int for one in row) and 1 <= row[0] <= row[1]
        for row in rows
    )
    return sorted(rows) if fit and all(row[2] >= 0 for row in rows) else []


def overlaps(setting: ModelSetting, method: str, runner: str) -> bool:
    """Whether a batch can be prepared while another is drafted for."""
    if runner == "v2" and setting.rules.newer_always_overlaps:
        return True
    return method in setting.rules.drafts_overlap and not setting.arguments.drafts_by.get(
        "disable_padded_drafter_batch"
    )


CHECKS: tuple[Check, ...] = (
    _model_is_missing, _ranks, _heads, _multiples, _single, _lengths, _vocabularies, _same_vocabulary,
    _acceptance, _flying, _of_other_methods, _most_likely, _schedule,
)  # fmt: skip
"""With what the engine refuses a draft, in no order that counts: all that is wrong is said at once."""
