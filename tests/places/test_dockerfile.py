"""Dockerfiles: both forms of a command, the image's release, the variables of the stage."""

import pytest

from kvinspect.document.problem import Mark
from kvinspect.places import dockerfile


def found(text):
    return list(dockerfile.find(text, "Dockerfile"))


def words(text):
    return [[word.text for word in one.words] for one in found(text)]


@pytest.mark.parametrize(
    "text",
    [
        'FROM vllm/vllm-openai:v0.32.0\nCMD ["--model", "m"]',
        'FROM base\nENTRYPOINT ["vllm", "serve"]\nCMD ["--model", "m"]',
        'FROM base\nENTRYPOINT ["python3", "-m", "vllm.entrypoints.openai.api_server"]\nCMD ["--model", "m"]',
        'FROM base\nCMD ["vllm", "serve", "--model", "m"]',
        'FROM base\nCMD ["sh", "-c", "vllm serve --model m"]',
        'FROM base\nENTRYPOINT ["python", "-m", "supervisor"]\nCMD ["vllm", "serve", "--model", "m"]',
        "FROM base\nCMD vllm serve --model m",
        "FROM base\ncmd exec vllm serve \\\n# a comment\n  --model m",
        "FROM base\nRUN <<EOF\nvllm serve --model m\nEOF",
        "FROM base\nRUN a && vllm serve --model m &",
    ],
)
def test_each_form_of_a_command(text):
    assert words(text) == [["--model", "m"]]


@pytest.mark.parametrize(
    "text",
    [
        'FROM nginx\nCMD ["--model", "m"]\n# vllm',
        "FROM vllm/vllm-openai:v0.32.0\nRUN pip install x --upgrade",
        "FROM base\n# CMD vllm serve m --seed 1",
        'FROM base\nENTRYPOINT ["vllm", "bench"]\nCMD ["--model", "m"]',
        'FROM vllm/vllm-openai:v0.32.0\nENTRYPOINT ["/start"]\nCMD ["--model", "m"]',
        "FROM base\nCMD [vllm, serve",
    ],
)
def test_what_starts_no_server(text):
    assert found(text) == []


def test_release_and_variables_are_those_of_the_stage():
    text = (
        "FROM vllm/vllm-openai:v0.30.0 AS a\nENV VLLM_A=1\nFROM vllm/vllm-openai:v0.32.0\nENV VLLM_B=2 C=3\nENV VLLM_D 4\n"
        'CMD ["--model", "m"]\n'
    )
    (one,) = found(text)
    assert (one.release.value, one.release.mark) == ("0.32.0", Mark(3, 24))
    assert [(entry.key.text, entry.value.text) for entry in one.env] == [("VLLM_B", "2"), ("C", "3"), ("VLLM_D", "4")]
    assert (one.words[0].mark, one.words[0].begins) == (Mark(6, 6), Mark(6, 7))
