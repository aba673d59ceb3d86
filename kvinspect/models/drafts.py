"""The layers of a draft model beside those of its target: they share the pool of blocks.

Which draft a target of a model type has is `SpeculativeConfig.hf_config_override`'s rule.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kvinspect.models.config import Model, load_model
from kvinspect.models.here import Here
from kvinspect.models.layers import Layer
from kvinspect.models.resolve import refusal

DRAFTS: Mapping[str, str] = {
    **dict.fromkeys(("deepseek_v3", "deepseek_v32", "glm_moe_dsa"), "DeepSeekMTPModel"),
    "deepseek_v4": "DeepSeekV4MTPModel",
    "pangu_ultra_moe": "OpenPanguMTPModel",
    "kimi_k3": "KimiK3MTPModel",
    "glm4_moe": "Glm4MoeMTPModel",
    "glm4_moe_lite": "Glm4MoeLiteMTPModel",
    "ernie4_5_moe": "ErnieMTPModel",
    **dict.fromkeys(("nemotron_h", "nemotron_h_puzzle"), "NemotronHMTPModel"),
    "qwen3_next": "Qwen3NextMTP",
    "qwen3_5": "Qwen3_5MTP",
    "qwen3_5_moe": "Qwen3_5MoeMTP",
    "bailing_hybrid": "BailingMoeV25MTPModel",
    "exaone_moe": "ExaoneMoeMTP",
    "hy_v3": "HYV3MTPModel",
    **dict.fromkeys(("longcat_flash", "longcat_flash_ngram"), "LongCatFlashMTPModel"),
    "mimo": "MiMoMTPModel",
}
"""Model type of a target → architecture of the draft that comes with it."""

WITHOUT_LAYERS = ("", "ngram", "[ngram]", "ngram_gpu", "suffix", "medusa", "mlp_speculator")
"""Ways to draft that keep no KV cache."""

READ = ("eagle", "eagle3", "draft_model")
"""Ways to draft with a model of its own configuration."""


def draft_layers(here: Here) -> Iterator[Layer]:
    """The layers of the draft that the engine arguments name, none where there is none.

    Raises DocumentError for a target without a draft of its own, and for a draft that is not known.
    """
    arguments = here.setting.arguments
    method = arguments.speculative_method or ""
    if method == "mtp" or method.endswith("_mtp"):
        yield from _shipped(here)
    elif method in READ and is_readable(arguments.draft_model):
        draft = load_model(arguments.draft_model or "", inside="")
        yield from _whole(here, draft) if method == "draft_model" else _eagle(here, draft, method)


def left_out(here: Here) -> str:
    """What of a draft is left out and why, in words; empty where nothing is."""
    arguments = here.setting.arguments
    method, name = arguments.speculative_method or "", arguments.draft_model
    if method in WITHOUT_LAYERS or method == "mtp" or method.endswith("_mtp"):
        return ""
    if method in READ and is_readable(name):
        return ""
    why = "which is no folder here" if method in READ else "of a kind that kvinspect does not know"
    return f"the layers of the {method.replace('_', ' ')}{'' if 'draft' in method else ' draft'} {name or ''}, {why}"


def is_readable(name: str | None) -> bool:
    """Whether a draft is a folder or file that is there."""
    return bool(name) and os.path.exists(str(name))


def _shipped(here: Here) -> Iterator[Layer]:
    kind = here.config.model_type
    if kind not in DRAFTS:
        message = f"kvinspect knows no draft (mtp) that comes with a target of model type {kind or 'unknown'}"
        raise refusal("speculative_config", message)
    newer = here.cls == "BailingMoeV3ForCausalLM"
    yield from here.inner(here.config, "", "BailingMoeV3MTPModel" if newer else DRAFTS[kind])


def _whole(here: Here, draft: Model) -> Iterator[Layer]:
    """A small model that drafts, under a prefix of its own; the last pipeline stage has it."""
    for layer in replace(here, at="", model=draft).inner(draft.config, "draft_model"):
        yield layer._replace(number=here.text.layers + (layer.number or 0))


def _eagle(here: Here, draft: Model, method: str) -> Iterator[Layer]:
    """The draft's architecture has the method's name before the target's, where it has not already."""
    prefix = "Eagle3" if method == "eagle3" else "Eagle"
    for name in list(draft.architectures)[:1]:
        told = name.startswith(prefix) or (prefix == "Eagle3" and name.endswith(prefix))
        yield from replace(here, at="").inner(draft.text, "", name if told else prefix + name)
