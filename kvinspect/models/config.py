"""A model as its config.json describes it, read from a file, a folder or a mapping."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvinspect.document.checked import checked
from kvinspect.document.files import is_file, is_folder, leads_out
from kvinspect.document.frozen import frozen
from kvinspect.document.problem import DocumentError, Problem, shown
from kvinspect.document.source import NAMED_BY_INPUT, Source, read_source
from kvinspect.models.fields import Fields

Origin = str | pathlib.Path | Mapping[str, Any]


class Model:
    """A model as its config.json describes it: `load_model`'s value."""

    def __init__(self, source: Source, beside: Source | None = None, **values: Any) -> None:
        self.source = source
        self.config = Fields.of(source).having(**values)
        self.text = self.config.text
        self._beside = beside
        self._values = frozen(values)

    @property
    def _made_of(self) -> tuple[Source, Source | None, Mapping[str, Any]]:
        return self.source, self._beside, self._values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self._made_of == other._made_of

    def __hash__(self) -> int:
        return hash(self._made_of)

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, self._made_of

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
        return self.config.architectures

    @property
    def quantization(self) -> Fields:
        """`quantization_config`, or the file that ModelOpt wrote beside it; empty where there is neither."""
        if "quantization_config" in self.config or self._beside is None:
            return self.config.mapping("quantization_config")
        return Fields(self._beside, self._beside.value)

    @property
    def values(self) -> Mapping[str, Any]:
        """The file's own values, with the quantization that ModelOpt wrote beside it."""
        found: Mapping[str, Any] = self.source.value
        if "quantization_config" in found or self._beside is None:
            return found
        return {**found, "quantization_config": self._beside.value}

    def dtypes(self) -> Iterator[str]:
        """The dtypes that the file names, the one that counts first. Raises DocumentError for a word that is none."""
        for fields in (self.config, self.text, self.config.part("vision_config"), self.config.part("encoder_config")):
            if fields is not None:
                yield from (fields.dtype(key, "") for key in ("dtype", "torch_dtype") if key in fields)


def _made(source: Source, beside: Source | None, values: Mapping[str, Any]) -> Model:
    """A model as it comes out of pickle."""
    return Model(source, beside, **values)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = (key for key, value in above.items() if isinstance(value, Mapping) and isinstance(below.get(key), Mapping))
    return {**below, **above, **{key: _merged(below[key], above[key]) for key in both}}


@checked
def load_model(origin: Origin, inside: str | pathlib.Path | None = None) -> Model:
    """A model from its config.json, the folder that holds it, or the mapping itself.

    `inside` is the folder of the input file that names the model: what lies elsewhere is not quoted in messages.
    Raises DocumentError where the file is not there, is no JSON, or holds no configuration of a model.
    """
    return read_model(origin, inside)


def read_model(origin: Origin, inside: str | pathlib.Path | None = None) -> Model:
    """Like `load_model`, of what is known to be an origin."""
    if isinstance(origin, Mapping):
        return Model(_checked(read_source(origin, "<config>")))

    def read(file: pathlib.Path, loose: bool = False) -> Source:
        private = NAMED_BY_INPUT if inside is not None and leads_out(file, inside) else ""
        return _checked(read_source(file, loose=loose, private=private))

    path = pathlib.Path(origin)
    file = path / "config.json" if is_folder(path) else path
    beside = file.parent / "hf_quant_config.json"
    quantization = read(beside) if file.name == "config.json" and is_file(beside) else None
    return Model(read(file, loose=file is path), quantization)


def read_model_text(text: str, name: str) -> Source:
    """The configuration in a text that is no file; `name` is what it is called. Raises DocumentError."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        problem = Problem((), message="is no JSON", source=name)
        raise DocumentError([problem]) from None
    return _checked(read_source(value, name) if isinstance(value, Mapping) else Source(name, value))


def _checked(source: Source) -> Source:
    """The source, if it holds a mapping."""
    if not isinstance(source.value, Mapping):
        found = "nothing" if source.value is None else shown(source.value)
        problem = Problem((), expected="the configuration of a model, a mapping", found=found)
        raise DocumentError([source.place(problem)])
    return source
