"""Shell scripts, Markdown, Python and notebooks of the deployment cases: each place where it is to be found."""

import pathlib

import pytest
import yaml

from kvinspect.places.find import detect

DEPLOY = pathlib.Path(__file__).parent / "deploy"
EXPECTED = {one["file"]: one for one in yaml.safe_load((DEPLOY / "expected.yaml").read_text())}
FORMS = ("Shell", "Markdown: shell", "Markdown: Python", "Python", "Notebook", "hydra")
FILES = sorted(
    name for name, one in EXPECTED.items() if name.endswith((".sh", ".md", ".py", ".ipynb")) and one["places"]
)


def found(name):
    return [one for one in detect((DEPLOY / name).read_text(), name) if one.form.startswith(FORMS)]


def wanted(name):
    return [one for one in EXPECTED[name]["places"] if one["form"].startswith(FORMS)]


def begins(fragment):
    first = [*fragment.words, *(entry.key for entry in fragment.entries)][0].mark
    return fragment.start or first


def flags(fragment):
    """{(line, column): how it is spelt} of a place's flags."""
    words = {tuple(word.begins): word.text.partition("=")[0] for word in fragment.words if word.text.startswith("-")}
    return words | {tuple(entry.key.mark): entry.key.text for entry in fragment.entries}


def spelt(place, name):
    written = place.get("written", {}).get(name)
    if written or "call" in place["form"] or "Python fence" in place["form"]:
        return written or name
    return f"--{name}"


def positional(fragment):
    return {tuple(word.begins) for word in fragment.words[:1]} | {tuple(word.mark) for word in fragment.words[:1]}


def test_every_form_of_a_text_has_a_case():
    assert {form for name in FILES for place in wanted(name) for form in FORMS if place["form"].startswith(form)} == {
        *FORMS
    }


@pytest.mark.parametrize("name", FILES)
def test_places_stand_where_they_are_to_be_found(name):
    got = [(one.form, *begins(one), one.command and [*one.command]) for one in found(name)]
    assert got == [(one["form"], one["line"], one["column"], one.get("command")) for one in wanted(name)]


@pytest.mark.parametrize("name", FILES)
def test_flags_stand_where_they_are_to_be_found(name):
    for fragment, place in zip(found(name), wanted(name), strict=True):
        got = flags(fragment)
        for flag, at in place["flags_at"].items():
            if flag == "model" and tuple(at) not in got:
                assert tuple(at) in positional(fragment) | {tuple(e.key.mark) for e in fragment.entries}
            elif not place["form"].startswith("Notebook"):
                assert got[tuple(at)] == spelt(place, flag)
            else:
                assert tuple(at) in got


@pytest.mark.parametrize("name", FILES)
def test_variables_of_the_place_are_those_that_count(name):
    for fragment, place in zip(found(name), wanted(name), strict=True):
        got = {e.key.text: e.value.text for e in fragment.env if e.key.text.startswith("VLLM_")}
        assert got == place["env"]


@pytest.mark.parametrize("name", FILES)
def test_the_last_flag_stands_on_the_last_line(name):
    for fragment, place in zip(found(name), wanted(name), strict=True):
        own = [word.begins.line for word in fragment.own_flags]
        assert max([line for line, _ in flags(fragment)] + own) == place["end_line"]


def test_a_release_and_gpus_that_a_container_names():
    (one,) = found("docker-run.sh")
    assert (one.release.value, [*one.release.mark], one.gpus.value) == ("0.32.0", [6, 21], "2")
    (fence, *_) = found("guide-compose.md")
    assert (fence.release.value, [*fence.release.mark], fence.gpus) == ("0.33.0", [7, 23], None)
    (trainer,) = found("run_grpo_rollout.sh")
    assert (trainer.gpus.value, [word.begins.line for word in trainer.own_flags]) == ("8", [7, 11, 12])
    assert [entry.name for entry in trainer.entries] == [
        "tensor_parallel_size",
        "gpu_memory_utilization",
        "max_num_batched_tokens",
    ]


def test_flags_of_variables_belong_to_the_command_that_names_them():
    *held, command = found("run-arrays.sh")
    assert {one.part_of for one in held} == {command.words[0].mark}
    assert [word.text for word in command.words] == ["$MODEL", "${ARGS[@]}", "$EXTRA", "--port", "8000"]
    assert command.words[0].default == "Qwen/Qwen3-8B"
    assert [word.text for word in command.whole if word.text.startswith("--")] == [
        "--tensor-parallel-size",
        "--max-model-len",
        "--hf-overrides",
        "--enforce-eager",
        "--enable-prefix-caching",
        "--max-seq-len-to-capture",
        "--port",
    ]
    assert [word.default for word in command.whole if word.text == "$TP"] == ["2"]
