"""What a draft's layers are made under: its loader takes some of the target's settings over, and not others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kvinspect.backends import model_runner
from kvinspect.document.load import load
from kvinspect.document.problem import DocumentError
from kvinspect.models.config import Model
from kvinspect.models.draft_tables import WITHOUT_LAYERS
from kvinspect.models.fields import Fields
from kvinspect.models.resolve import resolve_cache_dtype
from kvinspect.models.scope import Scope
from kvinspect.models.setting import ModelSetting
from kvinspect.models.speculation import Asked

EXPERTS = ("num_experts", "moe_num_experts", "n_routed_experts", "num_local_experts")
"""Where a configuration says how many experts there are (`get_num_experts`)."""


OF_THE_RUNNER = ("use_heterogeneous_vocab", "enable_adaptive_verification")
"""Keys on which the choice of a model runner hangs."""


class Drafting(NamedTuple):
    """How the engine drafts, and what a document says of it."""

    method: str
    said: dict[str, Any]
    """Entries of a document on which the choice of a model runner hangs, and the planner's lookahead."""
    runner: str
    varies: bool = False
    """Whether the tokens at a time depend on the batch (`num_speculative_tokens_per_batch_size`)."""

    @property
    def left_out(self) -> str:
        """What of the draft's CUDA graphs is left out, in words: under runner V2 each length of a draft has its own."""
        return (
            "the CUDA graphs of drafts whose length depends on the batch" if self.varies and self.runner == "v2" else ""
        )

    @property
    def has_layers(self) -> bool:
        """Whether the draft is a model with layers."""
        return self.method not in WITHOUT_LAYERS


Read = tuple[Fields, list[str]]
"""The layers' configuration of a draft that is here, and its architectures."""


def drafting(scope: Scope, asked: Asked, draft: Read | None) -> Drafting:
    """How the engine drafts."""
    setting, arguments, method = scope.setting, scope.setting.arguments, asked.method
    text, names = draft or (None, [])
    at_once = method in ("dflash", "dspark") or names[:1] in (["PeagleLlamaForCausalLM"], ["PeagleQwen3ForCausalLM"])
    speculative = {
        "num_speculative_tokens": arguments.num_speculative_tokens,
        "method": method,
        "parallel_drafting": arguments.parallel_drafting or at_once,
        "draft_model_config": {
            "architectures": names,
            "layer_types": list((text.layer_types() if text else None) or ()),
            "num_nextn_predict_layers": asked.modules,
        },
        **{key: True for key in OF_THE_RUNNER if asked.keys.get(key)},
    }
    said = {**_deployed(scope), "speculative_config": speculative}
    runner = runner_of(scope, said)
    return Drafting(method, said, runner, _varies(setting, method, runner))


BY_BATCH = ("ngram", "eagle", "eagle3", "mtp", "draft_model", "dflash")
"""Ways to draft whose length runner V1 lets depend on the batch."""


def _varies(setting: ModelSetting, method: str, runner: str) -> bool:
    """Whether the length of drafts depends on the batch, where it is asked for."""
    rules, asked = setting.rules, setting.arguments.drafts_by.get("num_speculative_tokens_per_batch_size") is not None
    alone = setting.arguments.data_parallel_size == 1 or not rules.lengths_need_one_rank
    return asked and alone and (runner == "v2" or not rules.lengths_by_runner or method in BY_BATCH)


def _deployed(scope: Scope) -> dict[str, Any]:
    """What a document says of a model on which the choice of a runner hangs."""
    setting, arguments = scope.setting, scope.setting.arguments
    return {
        "model_config": {
            "architectures": [setting.architecture.name],
            "is_hybrid": setting.is_hybrid,
            "is_moe": has_experts(scope.text),
        },
        "parallel_config": {
            "tensor_parallel_size": arguments.tensor_parallel_size,
            "pipeline_parallel_size": arguments.pipeline_parallel_size,
        },
    }


def runner_of(scope: Scope, said: Mapping[str, Any] | None = None) -> str:
    """The model runner of a model, under what a document says of it and its draft."""
    setting = scope.setting
    forced = setting.arguments.forced_runner
    if forced:
        return forced
    document = load({"platform": setting.platform, **(said or _deployed(scope))}, "the draft")
    return model_runner.choose(document, setting.release.version).runner


def has_experts(text: Fields) -> bool:
    """Whether a model is a mixture of experts."""
    try:
        return bool(text.first_count(*EXPERTS, least=0))
    except DocumentError:
        return True  # a list of counts, one a layer


def draft_setting(setting: ModelSetting, model: Model, draft: Read | None, found: Drafting) -> ModelSetting:
    """The setting under which the draft's layers are made. Raises DocumentError for a cache dtype that is none."""
    arguments, method, rules = setting.arguments, found.method, setting.rules
    older = found.runner == model_runner.OLDER
    own, dtype = _backend(arguments.draft_attention_backend), arguments.draft_kv_cache_dtype
    backend = own if older or method in rules.drafts_with_a_backend else None
    if backend is None and not older and method in rules.drafts_like_their_target:
        backend = setting.attention_backend
    made = setting._replace(attention_backend=backend)
    if dtype is not None and (older or method in rules.drafts_with_a_cache_dtype):
        word = dtype if dtype == "auto" else resolve_cache_dtype(model, dtype, setting.release)
        made = made._replace(cache_dtype=word)
    if method == "draft_model" or (older and method == "dflash"):
        made = made._replace(shape=setting.shape._replace(is_mm_prefix=False))
    made = made._replace(non_causal=method in ("dflash", "dspark") and _looks_ahead(draft, setting, method))
    return setting if made == setting else made


def _backend(name: str | None) -> str | None:
    return None if name is None or name.lower() == "auto" else name.upper()


def _looks_ahead(draft: Read | None, setting: ModelSetting, method: str) -> bool:
    """Whether a layer of the draft sees tokens behind its own (`dflash_has_any_non_causal`)."""
    if draft is None:
        return True
    (text, _), by = draft, setting.rules.drafts_are_causal_by
    if "is_causal" in by and "is_causal" in text:
        return not text.flag("is_causal")
    if method != "dspark" or "layer_types" in by:
        own = text.mapping("dflash_config")
        if "causal" in own:
            return not own.flag("causal")
    kinds = text.layer_types() if "layer_types" in by else None
    return not kinds or any(kind != "sliding_attention" for kind in kinds)
