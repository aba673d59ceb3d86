"""What releases do differently when they make specs of a model."""

from __future__ import annotations

from typing import NamedTuple

from kvinspect.backends.flash_attention import FlashAttentionRules


class ModelRules(NamedTuple):
    """Sizes are in tokens or, of heads, in elements."""

    latent_alignment: int = 128
    """What blocks of a hybrid with MLA are made a multiple of."""
    window_knows_packing: bool = True
    """Whether a window layer's block is weighed with its quantisation mode."""
    window_of_equal_layers: bool = False
    """Whether layers that are all of one kind have the model's window, whichever kind that is."""
    flash_attention: FlashAttentionRules = FlashAttentionRules()
    """Which version of FlashAttention a layer gets, and what it takes."""
    yarn_scales: bool = True
    """Whether YaRN's factor counts from the length that a model was trained for, and is not in its length already."""
    block_of_all_backends: bool = False
    """Whether a block suits the backends of all layers, not of the first alone."""
    gemma4_by_layer: bool = False
    """Whether Gemma 4 takes FlashAttention 3 or 4 layer by layer on compute capability 9 with an fp8 cache."""
    names_of_modules: bool = False
    """Whether layers of transformers' models are named after their modules, not by their number."""
    server_sizes: tuple[tuple[int, int], ...] = ((70, 8192),)
    """(GiB of a GPU from which it holds, max_num_batched_tokens of `vllm serve`), the largest first."""
    small_capabilities: tuple[str, ...] = ()
    """Compute capabilities of GPUs with much memory that `vllm serve` treats as small ones: GB10."""
    states_hash_by_mode: bool = False
    """Whether a group of states has blocks of its own for hashes by its mode (0.30 on), and not by its block size."""
    ranks_offload_together: bool = False
    """Whether ranks offload into one region of whole pages, which holds a latent that they share once (0.27 on)."""
    xpu_graphs_are_asked_for: bool = False
    """Whether an XPU captures graphs only where VLLM_XPU_ENABLE_XPU_GRAPH is on (0.25 to 0.30)."""
    eager_skips_jit_warmup: bool = False
    """Whether `--enforce-eager` leaves out the warm-up of kernels, unless faults are tolerated (0.33)."""
    sampler_copies: float = 4.0
    """Float32 tensors of logits that the sampler holds at the peak of the profiling run."""
    hybrids_cache_prefixes: bool = False
    """Whether models with state-space layers cache prefixes where none is given."""
    states_cache_all: bool = True
    """Whether states are kept for all blocks, where prefixes are cached, the model can and nobody says."""
    names_rows: bool = False
    """Whether specs say how many bytes a row of latents has; the V size of a row is 0 then."""
    marks_drafts: bool = False
    """Whether specs say of a draft's layers that they are."""
    turboquant_has_a_spec: bool = False
    """Whether TurboQuant's layers have a class of their own."""
    latent_is_quantised: bool = True
    """Whether the spec of latent attention names the quantisation of its cache."""
    kimi_latent: str = ""
    """What follows a layer's name in Kimi-Linear's latent attention."""
    kimi_counts_ahead: bool = True
    """Whether Kimi Delta Attention's convolution keeps the inputs of drafted tokens."""
    states_checkpoint: bool = False
    """Whether specs say that a prefill leaves states on its way, and blocks keep to where it can."""
    short_conv_counts_ahead: bool = False
    """Whether a short convolution keeps the inputs of drafted tokens."""
    intervals_of_qwen3_next: bool = False
    """Whether Qwen 3-Next's `full_attention_interval` counts; else every fourth layer attends."""
    window_fills_the_page: bool = False
    """Whether a window's block is as long as the page of the other layers allows, not the shortest."""
    cohere_window_counts_itself: bool = False
    """Whether a window of Cohere's has its own token beside those that the configuration counts."""
    transformers_attend: bool = False
    """Whether every layer of transformers' modules has to attend; else other kinds count as attention."""
    colqwen_declares: bool = True
    """Whether ColQwen 3.5 says which way it attends; else it attends both ways, but for a nested language model."""
    text_alone_is_causal: bool = True
    """Whether a model that is served without images attends one way, though its images would attend both."""
    drafts_overlap: tuple[str, ...] = (
        "eagle", "eagle3", "mtp", "dflash", "dspark", "extract_hidden_states", "ngram_gpu",
    )  # fmt: skip
    """Ways to draft with which batches overlap."""
    newer_always_overlaps: bool = False
    """Whether under runner V2 batches overlap with every way to draft."""
    older_overlaps_in_stages: bool = True
    """Whether runner V1 takes overlapping batches in a pipeline, though it does not overlap them."""
    dots_make_a_class: bool = False
    """Whether the name of a draft that could be a class of Python is one, whatever way to draft is given."""
    dspark_of_qwen3: bool = True
    """Whether a DSpark draft of Qwen 3's kind is told by its model type where its class is DeepSeek's."""
    dspark_drafts_a_block: bool = False
    """Whether DSpark drafts any number of tokens, by default its block."""
    dspark_fills_its_block: bool = False
    """Whether DSpark drafts no less than its block."""
    inkling_drafts_one: bool = False
    """Whether Inkling's draft makes one token alone."""
    drafts_limit_the_context: bool = False
    """Whether runner V2 has no longer context than the draft takes."""
    vocabularies_need_logits: bool = False
    """Whether a draft with another vocabulary goes with no local argmax."""
    adapts_with_dspark_alone: bool = False
    """Whether verification adapts to drafts by DSpark alone."""
    lengths_need_one_rank: bool = True
    """Whether drafts whose length depends on the batch have it no more under data parallelism."""
    lengths_by_runner: bool = False
    """Whether runner V1 drafts by the batch's size with some ways alone."""
    drafts_with_a_backend: tuple[str, ...] = ("dflash", "dspark", "eagle", "eagle3", "mtp")
    """Ways to draft whose loader under runner V2 takes the draft's own backend; V1 always does."""
    drafts_like_their_target: tuple[str, ...] = ("eagle", "eagle3", "mtp", "draft_model")
    """Ways to draft that have the target's backend where the draft has none of its own, under runner V2 alone."""
    drafts_with_a_cache_dtype: tuple[str, ...] = ("dflash", "dspark", "eagle", "eagle3", "mtp")
    """Ways to draft whose loader under runner V2 takes the draft's own cache dtype; V1 always does."""
    draft_keys_take_dashes: bool = False
    """Whether a key of `--speculative-config` may have dashes for underscores."""
    drafts_are_causal_by: tuple[str, ...] = ("is_causal", "dflash_config", "layer_types")
    """What tells whether a layer of a draft that looks both ways does not."""
    weigh_ahead: tuple[str, ...] = ()
    """Classes of Mamba 2 that count drafted tokens when pages are aligned, beside those that do in every release."""
    flash_kda_leaves_states: bool = False
    """Whether Kimi K3's layers leave states on the way of a prefill where FlashKDA does it."""
    deepseek_v4_is_fp8: bool = False
    """Whether DeepSeek V4 has an fp8 cache by default; else `--kv-cache-dtype` has to ask for it."""
    exaone_moe_windows: tuple[str, ...] = ("sliding_windows",)
    """Keys that tell the windows of K-EXAONE's layers, of which the first that is there counts."""
    exaone_moe_draft: str = "mtp_"
    """What the keys of K-EXAONE's draft layers begin with; without it they follow the target's keys."""
    short_conv: str = "conv"
    """What LFM 2 calls its convolutions."""
