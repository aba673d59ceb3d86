"""What the scheduler's configuration refuses: batches that the requests do not fit in."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.document.numbers import counted
from kvinspect.models.configuration.call import Call, Rule, Stop
from kvinspect.provenance import vllm


@vllm("SchedulerConfig.verify_max_model_len")
def a_request_is_one_batch(call: Call) -> Iterator[Stop]:
    """Without chunked prefill a batch holds the longest request."""
    batched, length = call.batches[0], call.setting.max_model_len
    if batched < length and not call.setting.chunked_prefill:
        text = f"max_num_batched_tokens {batched} is below max_model_len {length}, and chunked prefill is off"
        yield Stop("max_num_batched_tokens", text)


@vllm("SchedulerConfig.verify_max_model_len")
def a_token_of_each(call: Call) -> Iterator[Stop]:
    """A batch holds a token of every sequence."""
    batched, seqs = call.batches
    if batched < seqs:
        yield Stop("max_num_batched_tokens", f"max_num_batched_tokens {batched} is below max_num_seqs {seqs}")


@vllm("SchedulerConfig.verify_max_model_len", since="0.33")
def active_within_seqs(call: Call) -> Iterator[Stop]:
    """No more sequences are active than there may be (0.33)."""
    active, seqs = call.whole("max_num_active_seqs"), call.batches[1]
    if active is not None and active > seqs:
        yield Stop("max_num_active_seqs", f"max_num_active_seqs {active} is above max_num_seqs {seqs}")


@vllm("SchedulerConfig.verify_max_model_len", until="0.26")
def partial_prefills(call: Call) -> Iterator[Stop]:
    """Several partial prefills need chunks, and bounds that agree (0.25, 0.26)."""
    several, long = call.whole("max_num_partial_prefills") or 1, call.whole("max_long_partial_prefills") or 1
    if several > 1 and not call.setting.chunked_prefill:
        yield Stop("max_num_partial_prefills", "max_num_partial_prefills above 1 needs chunked prefill")
    if several > 1:
        yield from long_prefills(call)
    if long > several:
        text = f"max_long_partial_prefills {long} is above max_num_partial_prefills {several}"
        yield Stop("max_long_partial_prefills", text)


@vllm("SchedulerConfig.verify_max_model_len", since="0.27")
def long_prefills(call: Call) -> Iterator[Stop]:
    """A prefill that counts as long is no longer than a request may be (0.27 on)."""
    threshold, length = call.whole("long_prefill_token_threshold") or 0, call.setting.max_model_len
    if threshold > length:
        text = f"long_prefill_token_threshold {threshold} is above max_model_len {length}"
        yield Stop("long_prefill_token_threshold", text)


@vllm("VllmConfig._set_max_num_scheduled_tokens", until="0.27")
def slots_of_every_draft(call: Call) -> Iterator[Stop]:
    """A batch holds the slots that each sequence's draft inserts, and a token beside them (0.25 to 0.27)."""
    batched, seqs = call.batches
    at_once = call.arguments.num_speculative_tokens - 1 if _is_parallel(call) else 0
    slots = (at_once + (call.method == "draft_model")) * seqs
    scheduled = call.whole("max_num_scheduled_tokens")
    left = batched - slots if scheduled is None else scheduled
    if slots and (left <= 0 or batched < left + slots):
        text = f"max_num_batched_tokens {batched} leaves no token beside {counted(slots, 'slot')} of drafts"
        yield Stop("max_num_batched_tokens", f"{text} ({slots // seqs} × max_num_seqs {seqs})")


@vllm("VllmConfig._set_max_num_scheduled_tokens", since="0.28")
def a_token_to_schedule(call: Call) -> Iterator[Stop]:
    """Beside a draft there is a token to schedule (0.28 on)."""
    scheduled = call.whole("max_num_scheduled_tokens")
    if call.method and scheduled is not None and scheduled < 1:
        yield Stop("max_num_scheduled_tokens", f"max_num_scheduled_tokens is {scheduled}, and a step has 1 at least")


@vllm("VllmConfig._set_max_num_scheduled_tokens", since="0.28", until="0.30")
def slots_of_a_draft(call: Call) -> Iterator[Stop]:
    """A batch holds more tokens than one draft inserts slots (0.28 to 0.30)."""
    tokens, alone = call.arguments.num_speculative_tokens, call.method == "draft_model"
    if call.method == "dflash" or (alone and _is_parallel(call)):
        yield from _no_room(call, tokens)
    else:
        yield from _no_room(call, tokens - 1 if _is_parallel(call) else int(alone))


@vllm("VllmConfig._set_max_num_scheduled_tokens", since="0.33")
def slots_ahead(call: Call) -> Iterator[Stop]:
    """A batch holds more tokens than a draft looks ahead (0.33)."""
    tokens = call.arguments.num_speculative_tokens
    ahead = tokens if call.method in ("eagle", "eagle3", "mtp", "dspark", "draft_model") else 0
    yield from _no_room(call, tokens + 1 if call.method == "dflash" else ahead)


def _no_room(call: Call, slots: int) -> Iterator[Stop]:
    batched = call.batches[0]
    if slots and batched <= slots:
        text = f"max_num_batched_tokens {batched} leaves no token beside {counted(slots, 'slot')} of a draft"
        yield Stop("max_num_batched_tokens", text)


def _is_parallel(call: Call) -> bool:
    """Whether all tokens of a draft are made at once."""
    drafting = call.stage.specs.drafting
    return drafting is not None and bool(drafting.said["speculative_config"]["parallel_drafting"])


RULES: tuple[Rule, ...] = (
    a_request_is_one_batch, a_token_of_each, active_within_seqs, partial_prefills, long_prefills, slots_of_every_draft,
    a_token_to_schedule, slots_of_a_draft, slots_ahead,
)  # fmt: skip
