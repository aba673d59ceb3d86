"""What the configuration of drafts refuses."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.configuration.call import Call, Rule, Stop, whole
from kvinspect.provenance import vllm

READ_HIDDEN_STATES = ("eagle", "eagle3", "mtp", "dflash", "dspark")
"""Ways to draft that `SpeculativeConfig.use_eagle` means."""


@vllm("SpeculativeConfig._verify_args")
def tokens_to_draft(call: Call) -> Iterator[Stop]:
    """A draft has a token at least."""
    tokens = call.speculative.get("num_speculative_tokens")
    if not call.speculative or call.speculative.get("num_speculative_tokens_per_batch_size"):
        return
    if tokens is not None and whole(tokens) is not None and int(whole(tokens) or 0) < 1:
        yield Stop("num_speculative_tokens", f"num_speculative_tokens is {tokens}, and a draft has 1 at least")


@vllm("SpeculativeConfig.__post_init__")
def words_to_look_up(call: Call) -> Iterator[Stop]:
    """The shortest n-gram is no longer than the longest."""
    if call.method not in ("ngram", "ngram_gpu"):
        return
    least, most = (whole(call.speculative.get(f"prompt_lookup_{end}")) for end in ("min", "max"))
    if least is not None and most is not None and least > most:
        yield Stop("speculative_config", f"prompt_lookup_min {least} is above prompt_lookup_max {most}")


@vllm("SpeculativeConfig._verify_args")
def ranks_of_the_draft(call: Call) -> Iterator[Stop]:
    """Ranks of a draft have a key of their own."""
    if call.speculative.get("tensor_parallel_size") is not None:
        text = "tensor_parallel_size is no key of speculative_config; draft_tensor_parallel_size is"
        yield Stop("speculative_config", text)


@vllm("VllmConfig.__post_init__")
def logits_of_all_tokens(call: Call) -> Iterator[Stop]:
    """A draft that reads hidden states needs logits that a fast prefill leaves out."""
    if call.arguments.kv_sharing_fast_prefill and call.method in READ_HIDDEN_STATES:
        yield Stop("kv_sharing_fast_prefill", f"kv_sharing_fast_prefill does not go with method {call.method}")


@vllm("VllmConfig.__post_init__", until="0.30")
def batches_ahead(call: Call) -> Iterator[Stop]:
    """Batches do not overlap with every way to draft (0.25 to 0.30)."""
    yield from _overlap(call, ("ngram_gpu", "draft_model", "extract_hidden_states"))


@vllm("VllmConfig.__post_init__", since="0.33")
def batches_ahead_of_the_older_runner(call: Call) -> Iterator[Stop]:
    """The same of the older model runner alone (0.33)."""
    if call.runner == "v1":
        yield from _overlap(call, ("ngram_gpu", "draft_model", "extract_hidden_states"))


def _overlap(call: Call, able: tuple[str, ...]) -> Iterator[Stop]:
    if not call.arguments.async_scheduling or not call.method:
        return
    if call.method not in (*READ_HIDDEN_STATES, *able):
        yield Stop("async_scheduling", f"async_scheduling does not go with method {call.method}")
    elif call.speculative.get("disable_padded_drafter_batch") is True:
        yield Stop("async_scheduling", "async_scheduling does not go with disable_padded_drafter_batch")


RULES: tuple[Rule, ...] = (
    tokens_to_draft, words_to_look_up, ranks_of_the_draft, logits_of_all_tokens, batches_ahead,
    batches_ahead_of_the_older_runner,
)  # fmt: skip
