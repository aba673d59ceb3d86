"""The layers of a draft model beside those of its target: they share the pool of blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from kvinspect.models.config import Model, load_model
from kvinspect.models.draft_tables import BY_ARCHITECTURE, BY_NAME, SHIPPED, SPECULATORS, WITHOUT_LAYERS
from kvinspect.models.drafting import Drafting, draft_setting, drafting
from kvinspect.models.fields import Fields
from kvinspect.models.layers import Layer
from kvinspect.models.registry import table
from kvinspect.models.resolve import refusal
from kvinspect.models.scope import Scope
from kvinspect.models.setting import ModelSetting

READ = ("eagle", "eagle3", "dflash", "dspark", "draft_model", "mtp")
"""Ways to draft with a model of its own configuration."""


def draft_layers(scope: Scope) -> Iterator[Layer]:
    """The layers of the draft that the engine arguments name, none where there is none.

    Raises DocumentError for a target without a draft of its own, and for a draft that is not known.
    """
    draft = _draft(scope)
    method = method_of(scope, draft)
    if method == "mtp":
        yield from _shipped(scope, draft)
    elif draft is None:
        return
    elif method == "draft_model":
        yield from _whole(scope, draft)
    elif method in ("eagle", "eagle3", "dflash", "dspark"):
        yield from _reading(scope, draft, method)


def settled(scope: Scope) -> tuple[Drafting | None, ModelSetting]:
    """How the engine drafts, and the setting of the draft's layers: the target's where there are none."""
    draft = _draft(scope)
    read = (speculator(draft) or (draft.text, list(draft.architectures))) if draft else None
    found = drafting(scope, method_of(scope, draft), read)
    if found is None or not found.has_layers:
        return found, scope.setting
    return found, draft_setting(scope.setting, scope.model, read, found)


def left_out(scope: Scope) -> str:
    """The layers of a draft that are left out and why, in words; empty where nothing is."""
    draft, name = _draft(scope), scope.setting.arguments.draft_model
    method = method_of(scope, draft)
    if method in WITHOUT_LAYERS or draft is not None or (method == "mtp" and not name):
        return ""
    why = "which is no folder here" if method in READ else "of a kind that kvinspect does not know"
    return f"the layers of the {method.replace('_', ' ')}{'' if 'draft' in method else ' draft'} {name or ''}, {why}"


def is_readable(name: str | None) -> bool:
    """Whether a draft is a folder or file that is there."""
    return bool(name) and os.path.exists(str(name))


def method_of(scope: Scope, draft: Model | None) -> str:
    """How the engine drafts: by its argument, else by the draft's name, its classes or its model type."""
    arguments = scope.setting.arguments
    method, name = arguments.speculative_method or "", arguments.draft_model or ""
    method = "mtp" if method.endswith("_mtp") else method
    if method not in ("", "draft_model", "mtp") or not name:
        return method
    if name in WITHOUT_LAYERS:
        return name
    by_name = (way for word, way in BY_NAME.items() if word in name.lower())
    return next(by_name, None) or (_method_by_config(scope, draft) if draft else method or "draft_model")


def _method_by_config(scope: Scope, draft: Model) -> str:
    """How a draft drafts that no name tells about."""
    by_class = (BY_ARCHITECTURE[name] for name in draft.architectures if name in BY_ARCHITECTURE)
    kind = draft.config.model_type
    if found := next(by_class, None):
        return found
    if kind in WITHOUT_LAYERS and kind:
        return kind
    return "mtp" if _comes_with(scope, draft) else "draft_model"


def _draft(scope: Scope) -> Model | None:
    """The model that drafts, where it has a configuration of its own that is here."""
    name = scope.setting.arguments.draft_model
    return load_model(name or "", inside="") if is_readable(name) else None


def _comes_with(scope: Scope, model: Model) -> str | None:
    """The architecture of the draft that comes with a model, in the release."""
    known = table(scope.setting.release.version)["classes"]
    for key in (*list(model.architectures)[:1], model.config.model_type):
        if key in SHIPPED:
            return next((name for name in SHIPPED[key] if name in known), SHIPPED[key][-1])
    return None


def _shipped(scope: Scope, draft: Model | None) -> Iterator[Layer]:
    """A draft that comes with its target, or with a copy of it that is named."""
    if draft is None and scope.setting.arguments.draft_model:
        return
    model = draft or scope.model
    architecture = _comes_with(scope, model)
    if architecture is None:
        kind = model.config.model_type
        message = f"kvinspect knows no draft (mtp) that comes with a target of model type {kind or 'unknown'}"
        raise refusal("speculative_config", message)
    yield from replace(scope, at="", model=model).inner(model.config, "", architecture)


def _whole(scope: Scope, draft: Model) -> Iterator[Layer]:
    """A small model that drafts, under a prefix of its own; the last pipeline stage has it."""
    for layer in replace(scope, at="", model=draft).inner(draft.config, "draft_model"):
        yield layer._replace(number=scope.text.layers + (layer.number or 0))


def _reading(scope: Scope, draft: Model, method: str) -> Iterator[Layer]:
    """A draft that reads the target's hidden states: its class has the method's name before the target's."""
    text, names = speculator(draft) or (draft.text, list(draft.architectures))
    for name in names[:1]:
        yield from replace(scope, at="").inner(text, "", _named(name, method))


def _named(name: str, method: str) -> str:
    """The class of a draft, which an older file may call as the class of its target."""
    prefix = {"eagle": "Eagle", "eagle3": "Eagle3", "dflash": "DFlash"}.get(method, "")
    told = name.startswith(prefix) or (method != "eagle" and name.endswith(prefix)) or name == "LiLiCorrDraftModel"
    if method == "dspark" and name == "DSparkDraftModel":
        return "Qwen3DSparkModel"
    return name if told else prefix + name


def speculator(model: Model) -> tuple[Fields, list[str]] | None:
    """(layers' configuration, architectures) of a draft in speculators' format, None for another model.

    Raises DocumentError for a kind that vLLM does not read.
    """
    config = model.config
    kind = config.word("speculators_model_type")
    if not kind:
        return None
    text = config.part("transformer_layer_config")
    if kind not in SPECULATORS or text is None:
        config.fail("speculators_model_type", f"one of {', '.join(SPECULATORS)}", kind)
    known = SPECULATORS[kind]
    name = known.get(text.model_type or "llama", known.get(""))
    if name is None:
        text.fail("model_type", f"one of {', '.join(known)}", text.model_type)
    return text, [name]
