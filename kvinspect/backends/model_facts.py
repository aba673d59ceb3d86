"""What a document says of its model and its features, as the facts on which the choice of a model runner depends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvinspect.document.document import Document

NAMING = ("architectures", "runner_type", "is_moe", "is_hybrid", "is_attention_free", "is_diffusion")
"""The keys of `model_config` that say what model it is."""


class Facts(dict[str, Any]):
    """Facts of a document; a key of the document such as `parallel_config.enable_dbo` is one as well."""

    def __init__(self, document: Document, more: Mapping[str, Any]) -> None:
        super().__init__(more)
        self.model = document.model

    def __missing__(self, key: str) -> Any:
        value: Any = self.model
        for name in key.split("."):
            value = getattr(value, name)
        return value if value is None or isinstance(value, (str, int)) else "set"


def is_named(document: Document) -> bool:
    """Whether the document says what model it is about."""
    return any(getattr(document.model.model_config, key) is not None for key in NAMING)


def open_keys(document: Document) -> Iterator[str]:
    """The keys that would say more."""
    config = document.model.model_config
    if config.architectures is None:
        yield "model_config.architectures"
    elif config.is_moe is None:
        yield "model_config.is_moe"


def state_kind(document: Document) -> str:
    """`hybrid` or `attention_free` as the specs tell it, "" for a cache without state-space layers."""
    kinds = {kind for group in document.groups for kind in group.kinds} - {"uniform_type"}
    if "mamba" not in kinds:
        return ""
    return "hybrid" if kinds - {"mamba"} else "attention_free"


def cases(document: Document, listed: Sequence[str]) -> list[Facts]:
    """The facts, once for each way in which what the document leaves open may turn out.

    `listed`: the architectures that a release names. A model without a name may be each of them, or none.
    """
    config, sure = document.model.model_config, _sure(document)
    names = [config.architectures] if config.architectures is not None else [[], *([name] for name in listed)]
    experts = (False, True) if config.is_moe is None else (config.is_moe,)
    return [Facts(document, {**sure, "architectures": each, "is_moe": moe}) for each in names for moe in experts]


def _sure(document: Document) -> dict[str, Any]:
    model, state = document.model, state_kind(document)
    config, draft = model.model_config, model.speculative_config.draft_model_config
    windows = {kind == "sliding_attention" for kind in draft.layer_types}
    free = state == "attention_free" if config.is_attention_free is None else config.is_attention_free
    return {
        "platform": model.platform,
        "runner_type": config.runner_type or "generate",
        "is_diffusion": bool(config.is_diffusion),
        "is_hybrid": state == "hybrid" if config.is_hybrid is None else config.is_hybrid,
        "is_attention_free": free,
        "draft_mixes_windows": windows == {True, False},
        "draft_is_dflash2": "DFlash2DraftModel" in draft.architectures,
    }
