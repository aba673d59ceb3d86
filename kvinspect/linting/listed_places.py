"""The places of files as `lint --places` lists them: where they are, what they say, and what is around them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kvinspect.document.numbers import counted
from kvinspect.document.problem import DocumentError, Mark
from kvinspect.document.refusal import Unknown
from kvinspect.document.source import label_of, read_text
from kvinspect.linting.subjects.command_line import SECRETS
from kvinspect.output.safe import safe
from kvinspect.places.find import detect
from kvinspect.places.flags import Argument, model_of, read
from kvinspect.places.fragment import Fragment, Said, Word
from kvinspect.releases.lookup import known

Place = Mapping[str, Any]


def listed(path: str, by_call: bool) -> Iterator[Place]:
    """The places of a file as JSON says them. Raises DocumentError where a file that the call names is not text."""
    label = label_of(path)
    try:
        text = read_text(path, label)
    except DocumentError:
        if by_call:
            raise
        return
    for fragment in detect(text, label):
        yield {"file": label, **described(fragment)}


def described(fragment: Fragment) -> Place:
    """A place; lines and columns are counted from 1."""
    arguments = read(fragment, _known(fragment.release))
    model = model_of(fragment, arguments)
    lines = [fragment.begins.line, *(one.mark.line for one in arguments.flags)]
    return {
        **_at(fragment.begins),
        "end_line": max(lines),
        "form": fragment.form,
        "command": fragment.command and _at(fragment.command),
        "model": _model(model),
        "release": _said(fragment.release),
        "gpu": _said(fragment.gpu),
        "gpus": _said(fragment.gpus),
        "env": {
            one.key.text: one.value.text if one.value else None
            for one in fragment.env
            if one.key.text.startswith("VLLM_") and not one.key.text.endswith("KEY")
        },
        "flags": [_argument(one) for one in arguments.flags if not one.own],
        "own_flags": [_argument(one) for one in arguments.flags if one.own],
    }


def _known(release: Said | None) -> str | None:
    try:
        return known(release.value) if release else None
    except Unknown:
        return None


def _at(mark: Mark) -> Mapping[str, int]:
    return {"line": mark.line, "column": mark.column}


def _said(said: Said | None) -> Mapping[str, Any] | None:
    return said and {"value": said.value, "said": said.by, **(_at(said.mark) if said.mark else {})}


def _model(model: Word | None) -> Mapping[str, Any] | None:
    if model is None:
        return None
    return {"value": None if model.opaque else model.text, "default": model.default, **_at(model.begins)}


def _argument(one: Argument) -> Mapping[str, Any]:
    hidden = "***" if one.name in SECRETS else None
    value = hidden or one.value
    opaque = {"opaque": True, "default": one.default and (hidden or one.default)} if one.opaque else {}
    return {"name": one.name, "written": one.written, "value": value, **opaque, **_at(one.mark)}


def as_json(places: Sequence[Place]) -> str:
    """The places as one JSON list."""
    return json.dumps(list(places), indent=2, ensure_ascii=False) + "\n"


def as_text(places: Sequence[Place]) -> str:
    """A line a place, and how many there are."""
    lines = [_line(place) for place in places]
    return "\n".join([*lines, f"{counted(len(places), 'place')} in {counted(_files(places), 'file')}."]) + "\n"


def _files(places: Sequence[Place]) -> int:
    return len({place["file"] for place in places})


def _line(place: Place) -> str:
    model, release = place["model"], place["release"]
    named = safe(str(model["value"] or model["default"] or "a variable")) if model else "no model"
    says = f"vLLM {release['value']} ({release['said']})" if release else "no release"
    flags = counted(len(place["flags"]), "flag")
    return f"{safe(place['file'])}:{place['line']}:{place['column']}: {place['form']}: {named}, {says}, {flags}"
