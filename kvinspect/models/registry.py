"""From the architecture that a config.json names to the family that knows its layers.

Which architectures a release has, what class stands for each and what that class is, is data: each release's
`architectures.json`, written by `tools/architectures.py`. A family is a module under `families/`; it names the
architectures, or vLLM's classes for them, under `ARCHITECTURES`, and yields their layers from `layers`.
"""

from __future__ import annotations

import importlib
import json
import pathlib
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from kvinspect.data.catalogue import read_file
from kvinspect.document.problem import DocumentError, Path, Problem, nearest
from kvinspect.models import families
from kvinspect.models.config import Model

THROUGH_TRANSFORMERS = pathlib.Path(__file__).with_name("transformers.json")

SUFFIXES = (
    ("ForCausalLM", "generate", "none"),
    ("ForConditionalGeneration", "generate", "none"),
    ("ChatModel", "generate", "none"),
    ("LMHeadModel", "generate", "none"),
    ("ForTextEncoding", "pooling", "embed"),
    ("EmbeddingModel", "pooling", "embed"),
    ("ForSequenceClassification", "pooling", "classify"),
    ("ForTokenClassification", "pooling", "classify"),
    ("ForAudioClassification", "pooling", "classify"),
    ("ForImageClassification", "pooling", "classify"),
    ("ForVideoClassification", "pooling", "classify"),
    ("ClassificationModel", "pooling", "classify"),
    ("ForRewardModeling", "pooling", "embed"),
    ("RewardModel", "pooling", "embed"),
    ("Model", "pooling", "embed"),
)
"""Endings of architectures → (runner, conversion) by default, the first that fits (`_SUFFIX_TO_DEFAULTS`)."""

HAND_WRITTEN = (
    "its layers can be written by hand as the kv_cache_specs of a planning document: layer name → kind, block_size, "
    "num_kv_heads, head_size, dtype, backend"
)


class Architecture(NamedTuple):
    """An architecture as a release takes it: vLLM's class for it, and what the class says of itself."""

    name: str
    """As the config.json has it."""
    cls: str
    flags: frozenset[str]
    runner: str = "generate"
    registered: str = ""
    """The name under which the registry has it, where that has another ending."""
    pooling_type: str = "LAST"
    """How a pooling model makes one vector of a sequence's, by default."""
    attn_type: str = "decoder"


@cache
def table(release: str) -> Mapping[str, Any]:
    """What a release's registry has: `classes`, `removed`, and what `transformers` runs beside them."""
    return read_file(release, "architectures")


@cache
def through_transformers() -> frozenset[str]:
    """Classes of transformers that vLLM can run where it has none of its own."""
    return frozenset(json.loads(THROUGH_TRANSFORMERS.read_text(encoding="utf-8")))


def architecture(model: Model, release: str, runner: str = "auto", implementation: str = "auto") -> Architecture:
    """The architecture that the release takes a model for (`resolve_model_cls`). Raises DocumentError for unknown ones.

    `runner` and `implementation` are the engine's arguments.
    """
    known = table(release)["classes"]
    names = _seeing(model, known) or model.architectures
    if not names:
        model.config.fail("architectures", "the names of the model's classes", None, hint=HAND_WRITTEN)
    asked = _runner(names, known) if runner == "auto" else runner
    if implementation == "transformers":
        if not model.config.by_transformers:
            model.config.fail("model_type", "one that transformers itself has", model.config.model_type)
        return _transformers(model, names[0], asked)
    if not any(name in known for name in names) and _converts(names[0], asked) == "none" and _runs_through(names[0]):
        return _transformers(model, names[0], asked)
    for name in names:
        normal = normalized(name, known, asked)
        if normal in known:
            return _made(name, normal, known[normal], asked)
    if _runs_through(names[0]):
        return _transformers(model, names[0], asked)
    raise _unknown(model, names[0], release)


def _seeing(model: Model, known: Mapping[str, Any]) -> list[str]:
    """The class that a model with eyes is taken for, whose file names the class of its language model alone."""
    config = model.config
    if list(model.architectures) == [DEEPSEEK] and config.count("vision_n_layers", 0, least=0):
        return [DEEPSEEK_SEEING] if DEEPSEEK_SEEING in known else []
    return [MIMO_SEEING] if config.model_type.startswith("mimo_v2") and config.mapping("vision_config").is_there else []


DEEPSEEK, DEEPSEEK_SEEING = "DeepseekV4ForCausalLM", "DeepseekV4ForConditionalGeneration"
MIMO_SEEING = "MiMoV2OmniForCausalLM"


def _made(name: str, registered: str, entry: Mapping[str, Any], runner: str) -> Architecture:
    return Architecture(
        name,
        entry["class"],
        frozenset(entry.get("flags", ())),
        runner,
        registered,
        entry.get("pooling_type", "LAST"),
        entry.get("attn_type", "decoder"),
    )


def _runner(names: Sequence[str], known: Mapping[str, Any]) -> str:
    """`_get_default_runner_type`."""
    for name in names:
        flags = known[name].get("flags", ()) if name in known else ()
        if "pooling" in flags:
            return "pooling"
        if "text_generation" in flags:
            return "generate"
        for suffix, runner, _ in SUFFIXES:
            if name.endswith(suffix):
                return runner
    return "generate"


def _converts(name: str, runner: str) -> str:
    """How an architecture is converted for a runner: none, embed or classify."""
    fit = (way for suffix, of, way in SUFFIXES if of == runner and name.endswith(suffix))
    return next(fit, "embed" if runner == "pooling" else "none")


def normalized(name: str, known: Mapping[str, Any], runner: str) -> str:
    """An architecture that the registry has under another ending (`_normalize_arch`)."""
    if name in known:
        return name
    way = _converts(name, runner)
    for suffix, of, to in SUFFIXES:
        if (of, to) == (runner, way) and name.endswith(suffix):
            others = (name.replace(suffix, other) for other, *_ in SUFFIXES)
            return next((other for other in others if other in known), name)
    return name


def _runs_through(name: str) -> bool:
    return name in through_transformers()


def _transformers(model: Model, name: str, runner: str) -> Architecture:
    nested = "MultiModal" if model.text is not model.config else ""
    flags = frozenset({"text_generation", "pp"} | ({"multimodal"} if nested else set()))
    return Architecture(name, f"Transformers{nested}ForCausalLM", flags, runner)


def _unknown(model: Model, name: str, release: str) -> DocumentError:
    """An error that says what is not known: to anybody, or to this release."""
    data = table(release)
    path = _named_at(model)
    near = nearest(name, data["classes"])
    if name in data.get("removed", {}):
        message = f"vLLM took {name} up to {data['removed'][name]}; {release} does not"
    elif name in data.get("plugins", ()):
        message = f"vLLM {release} takes {name} through a plugin only"
    else:
        message = f"vLLM {release} has no architecture {name}"
    problem = Problem(path, message=message, nearest=near, hint=HAND_WRITTEN, kind="unknown-architecture")
    return DocumentError([model.source.place(problem)])


def _named_at(model: Model) -> Path:
    """Where the file says which architecture it is."""
    return ("architectures", 0) if model.config.is_written("architectures") else ("model_type",)


INDEX = pathlib.Path(__file__).with_name("families.json")
"""Architecture or class → its module, written by `python -m kvinspect.models.registry`: a call imports one of forty."""


@cache
def _index() -> Mapping[str, str]:
    found: dict[str, str] = json.loads(INDEX.read_text(encoding="utf-8"))
    return found


@cache
def family_modules() -> Mapping[str, str]:
    """Architecture or class → the module that knows its layers, asked of the modules themselves."""
    found = {}
    for info in pkgutil.iter_modules(families.__path__):
        module = importlib.import_module(f"{families.__name__}.{info.name}")
        found.update(dict.fromkeys(module.ARCHITECTURES, info.name))
    return found


def _module_of(name: str, cls: str) -> str | None:
    """The module that knows an architecture; one that the index lacks may be in a module that is newer."""
    for modules in (_index, family_modules):
        found = modules().get(cls) or modules().get(name)
        if found is not None:
            return found
    return None


def knows(name: str, cls: str) -> bool:
    """Whether a module knows the layers of an architecture, by its own name or by vLLM's class for it."""
    return _module_of(name, cls) is not None


def family(model: Model, name: str, cls: str) -> ModuleType:
    """The module that knows the layers of an architecture, by its own name or by vLLM's class for it.

    Raises DocumentError where none does.
    """
    found = _module_of(name, cls)
    if found is None:
        near = nearest(name, family_modules())
        message = f"the layers of {name} are not known to kvinspect"
        problem = Problem(
            _named_at(model), message=message, nearest=near, hint=HAND_WRITTEN, kind="unknown-architecture"
        )
        raise DocumentError([model.source.place(problem)])
    return importlib.import_module(f"{families.__name__}.{found}")


if __name__ == "__main__":
    INDEX.write_text(json.dumps(dict(sorted(family_modules().items())), indent=1) + "\n", encoding="utf-8")
