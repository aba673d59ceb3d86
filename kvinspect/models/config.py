"""A model's config.json: its values with the names and defaults of the model type, and the place of each in the file.

What a file leaves out is what the configuration class of its `model_type` says (`defaults.json`, read off transformers
and vLLM by `tools/model_defaults.py`): fixed values, other names of a field, the field that another one takes its
value from, the model types of nested configurations and what is put into those that say little.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NoReturn

from kvinspect.document.limits import MAX_INT
from kvinspect.document.problem import DocumentError, Path, Problem, shown
from kvinspect.document.source import Source, read_source
from kvinspect.models.completions import COMPLETIONS

Origin = str | pathlib.Path | Mapping[str, Any]

TEXT_PARTS = ("text_config", "llm_config", "text_encoder", "decoder", "generator", "thinker_config", "vlm_config",
              "language_config", "llm_cfg", "decoder_config")  # fmt: skip
"""Where the language model's own configuration may lie, the likelier first."""

FLAT = (
    "ernie4_5_vl_moe", "glm4v", "glm4v_moe", "glm_image", "glm_ocr", "hunyuan_vl", "paddleocr_vl", "qwen2_vl",
    "qwen2_5_vl",
)  # fmt: skip
"""Model types whose older files have the language model's fields at the top."""

MAX_LAYERS = 10_000
"""Layers of a model; past it a number is taken for a slip, not for a model."""


@cache
def _model_types() -> dict[str, dict[str, Any]]:
    text = (pathlib.Path(__file__).parent / "defaults.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def model_type_entry(model_type: str) -> Mapping[str, Any]:
    """`values`, `names`, `copies`, `parts`, `filled`, `causal` and `base` of a model type; empty for an unknown one."""
    return _model_types().get(model_type, {})


class Fields:
    """One configuration of a model's file: the whole, or the part of its language model.

    A field is looked up as written, else under its other name, else as the value of the field it follows, else as the
    model type's default. A `null` is no value, and keeps the default away.
    """

    def __init__(self, source: Source, written: Mapping[str, Any], path: Path = (), model_type: str = "") -> None:
        self.source, self.path, self.written = source, path, written
        named = written.get("model_type")
        self.model_type: str = named if isinstance(named, str) and named else model_type
        entry = model_type_entry(self.model_type)
        self._names: Mapping[str, str] = entry.get("names", {})
        self._copies: Mapping[str, str] = entry.get("copies", {})
        self._defaults: Mapping[str, Any] = entry.get("values", {})
        self._others = {real: name for name, real in self._names.items()}
        self._rules = COMPLETIONS.get(self.model_type, {})
        self._set: Mapping[str, Any] = {}

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a field, `default` where nobody says one."""
        rule = self._rules.get(name)
        value = self._set[name] if name in self._set else self.plain(name) if rule is None else rule(self)
        return default if value is None else value

    def plain(self, name: str) -> Any:
        """The value that the file or the model type's defaults give, None where nobody says one."""
        real = self._names.get(name, name)
        keys = (name, real, self._others.get(real, real))
        for key in keys:
            if self.written.get(key) is not None:
                return self.written[key]
        if real in self._copies:
            return self.plain(self._copies[real])
        if any(key in self.written for key in keys):
            return None
        return self._defaults.get(real, self._defaults.get(name))

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def having(self, **values: Any) -> Fields:
        """The same configuration with some fields set, in nested ones as well, as the engine's own rules set them."""
        return self._like(self.written, self.path, self.model_type, {**self._set, **values})

    def _like(
        self,
        written: Mapping[str, Any],
        path: Path,
        model_type: str,
        values: Mapping[str, Any],
        filled: Mapping[str, Any] | None = None,
    ) -> Fields:
        other = Fields(self.source, written, path, model_type)
        other._set = values
        other._defaults = {**other._defaults, **(filled or {})}
        return other

    def count(self, name: str, default: int | None = None, least: int = 1, most: int = MAX_INT) -> int:
        """A field that counts something. Raises DocumentError where it is no whole number from `least` to `most`."""
        value = self.get(name, default)
        if isinstance(value, float) and value.is_integer() and abs(value) < MAX_INT:
            value = int(value)
        if type(value) is not int or not least <= value <= most:
            bound = f" up to {most}" if most != MAX_INT else ""
            self.fail(name, f"a whole number from {least} on{bound}", value)
        return value

    def maybe_count(self, name: str, least: int = 1) -> int | None:
        """A field that counts something, or None where nobody says."""
        return None if self.get(name) is None else self.count(name, least=least)

    def first_count(self, *names: str, least: int = 1) -> int | None:
        """The first of several fields that is there."""
        return next((self.count(name, least=least) for name in names if self.get(name) is not None), None)

    def flag(self, name: str, default: bool = False) -> bool:
        """Whether a field holds, as Python takes a value for true or false."""
        return bool(self.get(name, default))

    def word(self, name: str, default: str = "") -> str:
        """A field that is a word. Raises DocumentError where it is something else."""
        value = self.get(name, default)
        if not isinstance(value, str):
            self.fail(name, "a word", value)
        return value

    def items(self, name: str, length: int | None = None) -> Sequence[Any]:
        """A field that is a list, () where nobody says one. Raises DocumentError where it is shorter than `length`."""
        value = self.get(name, ())
        if not isinstance(value, (list, tuple)):
            self.fail(name, "a list", value)
        if length is not None and value and len(value) < length:
            self.fail(name, f"a list of {length} entries, one a layer", f"{len(value)} entries", quoted=False)
        return value

    @property
    def layers(self) -> int:
        """`num_hidden_layers`."""
        return self.count("num_hidden_layers", most=MAX_LAYERS)

    @property
    def hidden_size(self) -> int:
        """`hidden_size`, in elements."""
        return self.count("hidden_size")

    @property
    def heads(self) -> int:
        """`num_attention_heads` of the whole model."""
        return self.count("num_attention_heads")

    @property
    def kv_heads(self) -> int:
        """`num_key_value_heads` of the whole model, where nobody says as many as query heads."""
        return self.count("num_key_value_heads", self.heads)

    @property
    def head_dim(self) -> int:
        """`head_dim` in elements, else the hidden size shared out to the heads."""
        return self.maybe_count("head_dim") or self.shared_out()

    def shared_out(self) -> int:
        """The hidden size shared out to the heads. Raises DocumentError where less than an element is left."""
        size = self.hidden_size // self.heads
        if size < 1:
            self.fail("num_attention_heads", f"at most hidden_size ({self.hidden_size}) heads", self.heads)
        return size

    def part(self, *names: str) -> Fields | None:
        """The nested configuration under the first of several names, made of the model type's default if need be."""
        entry = model_type_entry(self.model_type)
        kinds, filled = entry.get("parts", {}), entry.get("filled", {})
        for name in names:
            value = self.written.get(name)
            if isinstance(value, Mapping):
                return self._like(value, (*self.path, name), kinds.get(name, ""), self._set, filled.get(name))
            if value is not None and name in kinds:
                self.fail(name, "a mapping", value)
            if name in kinds:
                return self._missing_part(name, kinds[name], filled.get(name))
        return None

    def _missing_part(self, name: str, kind: str, filled: Mapping[str, Any] | None) -> Fields:
        """A nested configuration that the file leaves out: its type's defaults, or what older files say at the top."""
        if self.model_type not in FLAT:
            return self._like({}, (*self.path, name), kind, self._set, filled)
        own = {key: value for key, value in self.written.items() if key != "model_type"}
        return self._like(own, self.path, kind, self._set, filled)

    @property
    def text(self) -> Fields:
        """The language model's part, the whole where there is none (`get_hf_text_config`)."""
        part = self.part(*TEXT_PARTS)
        return self if part is None else part.text

    def layer_types(self) -> Sequence[str] | None:
        """`layer_types` as written, one word a layer, None where there are none."""
        found = self.items("layer_types", self.layers)
        if any(not isinstance(word, str) for word in found):
            self.fail("layer_types", "a list of words", found)
        return found or None

    def fail(self, name: str, expected: str, found: Any, quoted: bool = True, hint: str = "") -> NoReturn:
        """Raises DocumentError for a field that cannot be used."""
        written = next((key for key in (name, self._names.get(name, name)) if key in self.written), None)
        path = (*self.path, written or name)
        if written is None and found is None:
            problem = Problem(path, message="is missing", expected=expected, hint=hint, kind="missing")
        else:
            problem = Problem(path, expected=expected, found=shown(found) if quoted else str(found), hint=hint)
        raise DocumentError([self.source.place(problem)])

    def refuse(self, name: str, message: str, hint: str = "", kind: str = "refused") -> NoReturn:
        """Raises DocumentError for values that the engine would not start with."""
        written = next((key for key in (name, self._names.get(name, name)) if key in self.written), name)
        raise DocumentError([self.source.place(Problem((*self.path, written), message=message, hint=hint, kind=kind))])


class Model:
    """A model as its config.json describes it: `load_model`'s value."""

    def __init__(self, source: Source, beside: Mapping[str, Any] | None = None, **values: Any) -> None:
        self.source = source
        self.config = Fields(source, source.value).having(**values)
        self.text = self.config.text
        self._beside = beside

    def having(self, **values: Any) -> Model:
        """The same model with some fields set, wherever in the file they stand."""
        return Model(self.source, self._beside, **values)

    def overridden(self, overrides: Any) -> Model:
        """The model under `--hf-overrides`, whose nested objects add to those of the file. Raises DocumentError."""
        if overrides in (None, {}):
            return self
        if not isinstance(overrides, Mapping):
            problem = Problem(("hf_overrides",), expected="a JSON object", found=shown(overrides))
            raise DocumentError([problem._replace(source="<engine arguments>")])
        return Model(self.source._replace(value=_merged(self.source.value, overrides)), self._beside)

    @property
    def name(self) -> str:
        """What the file is called in messages."""
        return self.source.name

    @property
    def architectures(self) -> Sequence[str]:
        """The names of the model's classes, else the one that transformers has for its model type."""
        named = self.config.items("architectures")
        if any(not isinstance(name, str) for name in named):
            self.config.fail("architectures", "a list of names", named)
        base = model_type_entry(self.config.model_type).get("base")
        return named or ([base] if base else [])

    @property
    def quantization(self) -> Mapping[str, Any]:
        """`quantization_config`, or the file that ModelOpt wrote beside it; empty where there is neither."""
        found = self.config.get("quantization_config", self._beside)
        if found is not None and not isinstance(found, Mapping):
            self.config.fail("quantization_config", "a mapping", found)
        return found or {}

    def dtypes(self) -> Iterator[Any]:
        """The dtypes that the file names, the one that counts first."""
        parts = (self.config, self.text, self.config.part("vision_config"), self.config.part("encoder_config"))
        for fields in parts:
            if fields is not None:
                yield from (value for key in ("dtype", "torch_dtype") if (value := fields.get(key)) is not None)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = (key for key, value in above.items() if isinstance(value, Mapping) and isinstance(below.get(key), Mapping))
    return {**below, **above, **{key: _merged(below[key], above[key]) for key in both}}


def load_model(origin: Origin) -> Model:
    """A model from its config.json, the folder that holds it, or the mapping itself.

    Raises DocumentError where the file is not there, is no JSON, or holds no configuration of a model.
    """
    if isinstance(origin, Mapping):
        return _checked(read_source(origin, "<config>"))
    path = pathlib.Path(origin)
    if path.is_dir():
        beside = path / "hf_quant_config.json"
        quantization = read_source(beside).value if beside.is_file() else None
        return _checked(read_source(path / "config.json"), quantization)
    return _checked(read_source(origin, loose=True))


def _checked(source: Source, beside: Any = None) -> Model:
    if not isinstance(source.value, Mapping):
        found = "nothing" if source.value is None else shown(source.value)
        problem = Problem((), expected="the configuration of a model, a mapping", found=found)
        raise DocumentError([source.place(problem)])
    return Model(source, beside if isinstance(beside, Mapping) else None)
