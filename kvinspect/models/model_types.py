"""What a configuration class says where a file says nothing: `defaults.json`, by model type.

`tools/model_defaults.py` reads it off transformers and vLLM.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

TEXT_PARTS = ("text_config", "llm_config", "text_encoder", "decoder", "generator", "thinker_config", "vlm_config",
              "language_config", "llm_cfg", "decoder_config")  # fmt: skip
"""Where the language model's own configuration may lie, the likelier first."""

FLAT = (
    "ernie4_5_vl_moe", "glm4v", "glm4v_moe", "glm_image", "glm_ocr", "hunyuan_vl", "paddleocr_vl", "qwen2_vl",
    "qwen2_5_vl",
)  # fmt: skip
"""Model types whose older files have the language model's fields at the top."""


class ModelType(NamedTuple):
    """The fixed values of a model type, and its names for fields that others call differently."""

    name: str = ""
    values: Mapping[str, Any] = {}
    names: Mapping[str, str] = {}
    """Usual name → the name in this type's files."""
    copies: Mapping[str, str] = {}
    """Field → the field whose value it takes where it has none."""
    parts: Mapping[str, str] = {}
    """Nested configuration → its model type."""
    filled: Mapping[str, Mapping[str, Any]] = {}
    """Nested configuration → values that it is given."""
    causal: str | None = None
    """The architecture of its language model."""
    base: str | None = None
    """The architecture of a file that names none."""


PLAIN = ModelType()
"""A mapping without a configuration class: what it says, and nothing else."""


@cache
def _entries() -> Mapping[str, Mapping[str, Any]]:
    text = (pathlib.Path(__file__).parent / "defaults.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


@cache
def model_type(name: str) -> ModelType:
    """The model type of a name, without values for an unknown one."""
    return ModelType(name, **_entries().get(name, {}))
