"""What a draft that is asked for comes to: the tokens at a time, its longest context (`SpeculativeConfig`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from kvinspect.document.limits import MAX_LAYERS
from kvinspect.document.problem import DocumentError, Problem
from kvinspect.models.config import Model
from kvinspect.models.draft_tables import ONE_MODULE, PROMOTED, STEPS
from kvinspect.models.fields import Fields
from kvinspect.models.given import SOURCE
from kvinspect.models.resolve import resolve_length
from kvinspect.models.rope import rope_parameters
from kvinspect.models.setting import ModelSetting
from kvinspect.models.shape import shape_of

TREE_DEPTH = 24
"""Tokens that suffix decoding drafts at most by default."""


class Asked(NamedTuple):
    """A draft that is asked for."""

    setting: ModelSetting
    target: Model
    method: str
    model: Model | None = None
    """The configuration of the draft, or of the target that holds it, where it is known."""
    architecture: str | None = None
    is_named: bool = False
    """Whether the draft has a name, so that its configuration is its own."""

    @property
    def keys(self) -> Mapping[str, Any]:
        """What is given, by the keys of `speculative_config`."""
        return self.setting.arguments.drafts_by

    @property
    def steps(self) -> int | None:
        """The tokens that a draft is trained to make in one go (`n_predict`), None where it does not say."""
        if self.model is None:
            return None
        if self.method == "mtp":
            return _steps(self.model, self.architecture or "")
        return _block(self) if self.method == "dspark" else self.model.config.maybe_count("n_predict")

    @property
    def tokens(self) -> int | None:
        """The tokens that are drafted at a time, None where nothing says."""
        given = self.setting.arguments.num_speculative_tokens
        if given:
            return given
        if self.method == "suffix":
            return int(self.keys.get("suffix_decoding_max_tree_depth", TREE_DEPTH))
        if self.method == "dspark" and self.setting.rules.dspark_drafts_a_block and self.model is not None:
            return self.model.config.first_count("block_size", "dspark_block_size") if self.is_named else None
        return self.steps if self.is_named else None

    @property
    def with_tokens(self) -> ModelSetting:
        """The setting with as many tokens as are drafted. Raises DocumentError where nothing says how many."""
        tokens = self.tokens
        if tokens is None:
            raise self._without_tokens()
        return self.setting._replace(arguments=replace(self.setting.arguments, num_speculative_tokens=tokens))

    @property
    def modules(self) -> int:
        """The modules of a draft that comes with its target: `num_nextn_predict_layers`, 1 where it says nothing."""
        if self.model is None or self.method != "mtp":
            return 1
        if self.architecture in ONE_MODULE:
            return 1
        part = self.model.text if self.architecture in PROMOTED else self.model.config
        return part.maybe_count("num_nextn_predict_layers", most=MAX_LAYERS) or 1

    def _without_tokens(self) -> DocumentError:
        if self.is_named and self.model is None:
            text, kind = "is missing, and the draft's configuration, which may say it, is not here", "missing"
        else:
            text, kind = "is missing, and nothing else says how many tokens are drafted at a time", "stopped"
        return DocumentError(
            [Problem(("speculative_config", "num_speculative_tokens"), message=text, source=SOURCE, kind=kind)]
        )


def _steps(model: Model, architecture: str) -> int | None:
    """`n_predict` of a draft that comes with its target."""
    keys, default = STEPS.get(architecture, (("num_nextn_predict_layers",), None))
    parts = [model.config, model.text] if architecture in STEPS else [model.config]
    found = (part.maybe_count(key, most=MAX_LAYERS) for key in keys for part in parts)
    return next((count for count in found if count), default)


def _block(asked: Asked) -> int | None:
    """`n_predict` of a DSpark draft, which from 0.33 on has none."""
    if asked.setting.rules.dspark_drafts_a_block or asked.model is None:
        return None
    config = asked.model.config
    if asked.architecture == "Gemma4DSparkModel":
        return config.first_count("n_predict", "block_size")
    is_deepseek = asked.architecture in ("DSparkDraftModel", "DSparkV41DraftModel")
    return config.maybe_count("num_nextn_predict_layers" if is_deepseek else "n_predict")


def within(asked: Asked, runner: str) -> ModelSetting:
    """The setting with the longest context that the draft leaves its target."""
    setting, length = asked.setting, own_length(asked)
    free = runner != "v2" or not setting.rules.drafts_limit_the_context or _shares_positions(asked)
    if length is None or free:
        return setting
    return setting._replace(max_model_len=min(setting.max_model_len, length))


def own_length(asked: Asked) -> int | None:
    """The draft's own longest context in tokens, None where it is the target's or not known."""
    own, model = asked.keys.get("max_model_len"), asked.model
    if model is None or not asked.is_named or "speculators_model_type" in model.config:
        return None if own is None else int(own)
    arguments = replace(asked.setting.arguments, max_model_len=None, disable_sliding_window=False)
    shape = shape_of(model)
    if shape.max_len == float("inf"):
        return None if own is None else int(own)
    longest = resolve_length(model, shape, arguments, asked.setting.rules)
    return longest if own is None else int(own)


CACHE_ONLY = ("default", "linear", "llama3", "ntk", "proportional")
"""Kinds of rotary scaling for which the longest context sizes a table and no more."""


def _shares_positions(asked: Asked) -> bool:
    """Whether the draft's context is raised to its target's (`draft_shares_target_positions`)."""
    if asked.method == "draft_model" or asked.model is None:
        return False
    return all(part.kind in CACHE_ONLY for part in rope_parameters(layers_of(asked.model)))


def layers_of(model: Model) -> Fields:
    """The configuration of a draft's layers."""
    return model.config.part("transformer_layer_config") or model.text
