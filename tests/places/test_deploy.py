"""Every place in the deployment files of `deploy/`, as `expected.yaml` there has it: lines, columns, context, flags."""

import pathlib

import pytest
import yaml

from kvinspect.document.refusal import Unknown
from kvinspect.places.find import detect, reader_of
from kvinspect.places.flags import model_of, read
from kvinspect.releases.lookup import known

FOLDER = pathlib.Path(__file__).parent / "deploy"
READERS = ("yaml_file", "json_file", "env_file", "unit_file", "markdown_file")
CASES = yaml.safe_load((FOLDER / "expected.yaml").read_text(encoding="utf-8"))
MINE = [case for case in CASES if reader_of(case["file"]) in READERS]
OWN_NAMES = ("VLLM_IMAGE", "VLLM_EXTRA_ARGS")
"""Variables of a unit that only look like the engine's."""


def found_in(case):
    text = (FOLDER / case["file"]).read_text(encoding="utf-8")
    return list(detect(text, case["file"]))


def known_release(fragment):
    try:
        return known(fragment.release.value) if fragment.release else None
    except Unknown:
        return None


def value_of(argument):
    if not argument.opaque:
        return argument.value
    return {"opaque": argument.value, **({"default": argument.default} if argument.default else {})}


def described(fragment):
    """A place in the words of expected.yaml."""
    arguments = read(fragment, known_release(fragment))
    model = model_of(fragment, arguments)
    ours = [one for one in arguments.flags if not one.own]
    own = [one for one in arguments.flags if one.own]
    release = fragment.release
    return {
        "line": fragment.begins.line,
        "column": fragment.begins.column,
        "end_line": max(one.mark.line for one in arguments.flags),
        "form": fragment.form,
        "model": model.text if model and not model.opaque else None,
        "release": (release and release.value, release and [*release.mark]),
        "gpu": (fragment.gpu and fragment.gpu.value, fragment.gpus and int(fragment.gpus.value)),
        "env": {
            one.key.text: one.value.text
            for one in fragment.env
            if one.key.text.startswith("VLLM_") and one.key.text not in OWN_NAMES
        },
        "flags": {one.name: value_of(one) for one in ours},
        "flags_at": {one.name: [*one.mark] for one in ours},
        "own_flags": {one.written: one.value for one in own},
        "own_flags_at": {one.written: [*one.mark] for one in own},
    }


def wanted(place):
    gpu = place["gpu"] or {}
    return {
        **{key: place[key] for key in ("line", "column", "end_line", "form", "model", "env", "flags", "flags_at")},
        "release": (place["release"]["value"], place["release"].get("at")),
        "gpu": (gpu.get("kind"), gpu.get("count")),
        "own_flags": place.get("own_flags", {}),
        "own_flags_at": place.get("own_flags_at", {}),
    }


def test_the_files_are_there():
    assert len(MINE) >= 25
    assert {case["kind"] for case in MINE} == {"positive", "negative"}


@pytest.mark.parametrize("case", MINE, ids=lambda case: case["file"])
def test_the_places_of_a_file(case):
    assert [described(one) for one in found_in(case)] == [wanted(place) for place in case["places"]]


@pytest.mark.parametrize("case", MINE, ids=lambda case: case["file"])
def test_where_the_program_of_a_place_stands(case):
    found = zip(found_in(case), case["places"], strict=True)
    assert all([*(one.command or ())] == place["command"] for one, place in found if "command" in place)
