"""The layers of a draft model beside those of its target: they share the pool of blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kvinspect.document.problem import DocumentError, Problem
from kvinspect.models.config import Model, load_model
from kvinspect.models.draft_checks import check
from kvinspect.models.draft_tables import BY_ARCHITECTURE, BY_NAME, SHIPPED, SPECULATORS, WITHOUT_LAYERS
from kvinspect.models.drafting import Drafting, Read, draft_setting, drafting, runner_of
from kvinspect.models.fields import Fields
from kvinspect.models.given import SOURCE
from kvinspect.models.hub import NotFound, here
from kvinspect.models.layers import Layer
from kvinspect.models.registry import knows, normalized, table
from kvinspect.models.scope import Scope
from kvinspect.models.setting import ModelSetting
from kvinspect.models.speculation import Asked, within
from kvinspect.models.speculative_keys import words

READ = ("eagle", "eagle3", "dflash", "dspark", "draft_model", "mtp")
"""Ways to draft with a model of its own configuration."""

DSPARK = {"deepseek_v41": "DSparkV41DraftModel"}
"""Model type of a target → class of the DSpark draft in its own checkpoint, else `DSparkDraftModel`."""

TARGETS_OWN = ("mtp", "dspark")
"""Ways to draft for which the target's own checkpoint may hold the draft."""


class Draft(NamedTuple):
    """How a target's drafts are made: by which way, and by which model, if one is known."""

    method: str
    model: Model | None = None
    """The draft's own configuration, or the target's where that holds the draft."""
    architecture: str | None = None
    """The class of its layers, None where there are none or none is known."""
    is_named: bool = False
    """Whether the draft has a name, so that its configuration is its own."""

    @property
    def read(self) -> Read | None:
        """The layers' configuration of a draft that is named and here, and its architectures."""
        if self.model is None or not self.is_named:
            return None
        return speculator(self.model) or (self.model.text, list(self.model.architectures))


class Settled(NamedTuple):
    """A draft with all questions answered."""

    scope: Scope
    """The target's, its setting as the draft leaves it."""
    draft: Draft
    drafting: Drafting | None
    """How it is done, None where nothing is drafted."""
    setting: ModelSetting
    """That of the draft's layers: the target's where there are none."""

    @property
    def runner(self) -> str:
        """The model runner, as far as anything hangs on it: with a draft, or in a pipeline; else empty."""
        if self.drafting is not None:
            return self.drafting.runner
        return runner_of(self.scope) if self.scope.setting.arguments.pipeline_parallel_size > 1 else ""

    def layers(self) -> Iterator[Layer]:
        """The layers of the draft, if there are any. Raises DocumentError for a target without one of its own."""
        return _layers(self.scope, self.draft)

    @property
    def left_out(self) -> str:
        """The layers of a draft that are left out and why, in words; empty where nothing is."""
        return _left_out(self.scope, self.draft)


def settled(scope: Scope) -> Settled:
    """How the engine drafts. Raises DocumentError where it refuses to."""
    draft = _draft(scope)
    if not draft.method:
        return Settled(scope, draft, None, scope.setting)
    asked = Asked(scope.setting, scope.model, draft.method, draft.model, draft.architecture, draft.is_named)
    asked = asked._replace(setting=asked.with_tokens)
    scope = replace(scope, setting=asked.setting)
    found = drafting(scope, asked, draft.read)
    check(asked, found.runner)
    scope = replace(scope, setting=within(asked, found.runner))
    under = draft_setting(scope.setting, scope.model, draft.read, found) if found.has_layers else scope.setting
    return Settled(scope, draft, found, under)


def _draft(scope: Scope) -> Draft:
    """Who drafts, and how."""
    name = scope.setting.arguments.draft_model
    model = _named(name)
    method = method_of(scope, model)
    if model is None and method in TARGETS_OWN and not name:
        model = scope.model
    return Draft(method, model, _architecture(scope, method, model), bool(name))


def _named(name: str | None) -> Model | None:
    """The configuration of a draft by its path or name, where this machine has it."""
    if not name or name in WITHOUT_LAYERS:
        return None
    if os.path.exists(name):
        return load_model(name, inside="")
    try:
        found = here(name)
    except NotFound:
        return None
    if found is None:
        return None
    return load_model(found.config.config) if found.config else load_model(str(found.path), inside="")


def method_of(scope: Scope, draft: Model | None) -> str:
    """How the engine drafts: by its argument, else by the draft's name, its classes or its model type."""
    arguments = scope.setting.arguments
    method, name = arguments.speculative_method or "", arguments.draft_model or ""
    if is_a_class(name) and (not method or scope.rules.dots_make_a_class):
        return "custom_class"
    method = "mtp" if method.endswith("_mtp") else method
    if method not in ("", "draft_model", "mtp") or not name:
        return method or _by_default(scope)
    if name in WITHOUT_LAYERS:
        return name
    by_name = (way for word, way in BY_NAME.items() if word in name.lower())
    return next(by_name, None) or (_method_by_config(scope, draft) if draft else method or "draft_model")


def _by_default(scope: Scope) -> str:
    """The way where nothing names one: none at all, or a draft model that is wanting."""
    return "draft_model" if scope.setting.arguments.drafting else ""


def is_a_class(name: str) -> bool:
    """Whether a draft's name is the path of a class of Python, and no model."""
    parts = name.split(".")
    return len(parts) > 1 and "/" not in name and all(part.isidentifier() for part in parts)


def _method_by_config(scope: Scope, draft: Model) -> str:
    """How a draft drafts that no name tells about."""
    by_class = (BY_ARCHITECTURE[name] for name in draft.architectures if name in BY_ARCHITECTURE)
    kind = draft.config.model_type
    if kind == "qwen3" and scope.rules.dspark_of_qwen3 and "DSparkDraftModel" in draft.architectures:
        return "dspark"
    if found := next(by_class, None):
        return found
    if kind in WITHOUT_LAYERS and kind in words(scope.setting.release.version)["method"]:
        return kind
    return "mtp" if _comes_with(scope, draft) else "draft_model"


def _comes_with(scope: Scope, model: Model) -> str | None:
    """The architecture of the draft that comes with a model, in the release."""
    known = table(scope.setting.release.version)["classes"]
    for key in (*list(model.architectures)[:1], model.config.model_type):
        if key in SHIPPED:
            return next((name for name in SHIPPED[key] if name in known), SHIPPED[key][-1])
    return None


def _architecture(scope: Scope, method: str, model: Model | None) -> str | None:
    """The class of the draft's layers."""
    if model is None or method not in READ:
        return None
    if method == "mtp":
        return _comes_with(scope, model)
    names = (speculator(model) or (model.text, list(model.architectures)))[1]
    if method == "dspark":
        return _dspark(scope, model, names)
    return _prefixed(names[0], method) if names else None


def _dspark(scope: Scope, model: Model, names: Sequence[str]) -> str:
    """The class of a DSpark draft: one of its own, or DeepSeek's for whatever else there is."""
    if "DSparkDraftModel" in names and model.config.model_type == "qwen3" and scope.rules.dspark_of_qwen3:
        return "Qwen3DSparkModel"
    own = next((name for name in names if BY_ARCHITECTURE.get(name) == "dspark" or name == "K3DSparkModel"), None)
    return own or DSPARK.get(scope.model.config.model_type, "DSparkDraftModel")


def _left_out(scope: Scope, draft: Draft) -> str:
    """What of a draft is left out, in words."""
    name, method = scope.setting.arguments.draft_model, draft.method
    if method in WITHOUT_LAYERS:
        return ""
    called = f"the layers of the {method.replace('_', ' ')}{'' if 'draft' in method else ' draft'} {name or ''}".strip()
    if method not in READ:
        return f"{called}, of a kind that kvinspect does not know"
    if draft.model is None:
        return f"{called}, which is no folder here"
    unknown = draft.architecture if method != "draft_model" else None
    return "" if unknown is None or _is_known(scope, unknown) else f"the layers of the draft's {unknown}"


def _is_known(scope: Scope, architecture: str) -> bool:
    """Whether the release has the class, and a family here its layers, or the release lacks it, which is an error."""
    classes: Mapping[str, Mapping[str, str]] = table(scope.setting.release.version)["classes"]
    name = normalized(architecture, classes, "generate")
    return name not in classes or knows(architecture, classes[name]["class"])


def _layers(scope: Scope, draft: Draft) -> Iterator[Layer]:
    """The layers of a draft that is known."""
    if draft.model is None or _left_out(scope, draft):
        return
    if draft.method == "mtp":
        yield from _shipped(scope, draft.model, draft.architecture)
    elif draft.method == "draft_model":
        yield from _whole(scope, draft.model)
    elif draft.architecture:
        text = (speculator(draft.model) or (draft.model.text, []))[0]
        yield from replace(scope, at="").inner(text, "", draft.architecture)


def _shipped(scope: Scope, model: Model, architecture: str | None) -> Iterator[Layer]:
    """A draft that comes with its target, or with a copy of it that is named."""
    if architecture is None:
        kind = model.config.model_type
        message = f"kvinspect knows no draft (mtp) that comes with a target of model type {kind or 'unknown'}"
        raise DocumentError([Problem(("speculative_config",), message=message, source=SOURCE, kind="unknown-draft")])
    yield from replace(scope, at="", model=model).inner(model.config, "", architecture)


def _whole(scope: Scope, draft: Model) -> Iterator[Layer]:
    """A small model that drafts, under a prefix of its own; the last pipeline stage has it."""
    for layer in replace(scope, at="", model=draft).inner(draft.config, "draft_model"):
        yield layer._replace(number=scope.text.layers + (layer.number or 0))


def _prefixed(name: str, method: str) -> str:
    """The class of a draft, which an older file may call as the class of its target."""
    prefix = {"eagle": "Eagle", "eagle3": "Eagle3", "dflash": "DFlash"}.get(method, "")
    told = name.startswith(prefix) or (method != "eagle" and name.endswith(prefix)) or name == "LiLiCorrDraftModel"
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
