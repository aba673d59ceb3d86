"""The model of a place under the arguments of the place, where its facts come with kvinspect."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kvinspect.bundled.lookup import NamedConfig, bundled
from kvinspect.data.duties import VARIABLES, names
from kvinspect.document.finding import Finding, Severity
from kvinspect.document.problem import DocumentError
from kvinspect.document.refusal import Unknown
from kvinspect.document.source import read_source
from kvinspect.linting.checked import of_model
from kvinspect.linting.problems import as_findings
from kvinspect.linting.settings import Settings
from kvinspect.linting.subjects.place import PlaceSubject
from kvinspect.places.flags import Argument, model_of

SPOKEN_OF = ("KV001", "KV405")
"""Rules that hold whatever GPU serves the model: what the engine refuses, KV heads that ranks share."""


def facts_of(subject: PlaceSubject) -> NamedConfig | None:
    """The config.json of the model that a place names in full, None where its facts do not come with kvinspect."""
    model = model_of(subject.fragment, subject.arguments)
    name = (model.default if model.opaque else model.text) if model else None
    return bundled(name) if name and name.count("/") == 1 else None


def about_model(subject: PlaceSubject, facts: NamedConfig, settings: Settings) -> Iterator[Finding]:
    """What the engine would make of the model; nothing where a value that counts is not known."""
    from kvinspect.linting.subjects.model_config import ModelFile
    from kvinspect.models.command import read_words
    from kvinspect.models.config import Model
    from kvinspect.question.memory import PLENTY
    from kvinspect.question.model import ModelQuestion, Served
    from kvinspect.question.question import Rules

    words = list(_words(subject))
    if None in words:
        return
    source = subject.source

    def asked() -> ModelQuestion:
        arguments = dict(read_words([word for word in words if word], subject.flags).arguments)
        arguments.pop("model", None)
        model = Model(read_source(facts.config, facts.name))
        rules = Rules.of(subject.release.version, None)
        served = Served.of(model, arguments, lambda: rules, settings.platform or "cuda", None)
        return ModelQuestion(served.within(_variables(subject)), PLENTY)

    try:
        found = list(of_model(source, asked))
    except DocumentError as error:
        found = list(as_findings(ModelFile(source).placed(error.errors)))
    except (ValueError, Unknown):
        return
    yield from (one for one in found if one.code in SPOKEN_OF and not one.unjudged and one.severity >= Severity.NOTE)


def _variables(subject: PlaceSubject) -> dict[str, str]:
    """The variables of the place that the release reads; KV008 is about the others."""
    known = names(subject.release.version)[VARIABLES]
    said = ((one.key.text, one.value) for one in subject.env if one.key.text in known)
    return {name: value.text for name, value in said if value is not None and not value.opaque}


def _words(subject: PlaceSubject) -> Iterator[str | None]:
    """The flags as words of their own, those that a variable decides at their defaults; None for one without."""
    for one in subject.by_key.values():
        if subject.flags.find(one.name) is not None:
            yield _word(one)


def _word(one: Argument) -> str | None:
    if one.opaque:
        return f"--{one.name}={one.default}" if one.default is not None else None
    value = one.plain if one.plain is not None else one.value
    if value is True or value is False:
        return f"--{one.name}" if value else f"--no-{one.name}"
    return f"--{one.name}={json.dumps(value) if isinstance(value, (dict, list)) else value}"
