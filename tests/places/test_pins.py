"""Which release an image or a package manager's line pins, and which programs take vLLM's flags."""

import pytest

from kvinspect.commands.images import release_at
from kvinspect.commands.pins import in_text
from kvinspect.places.programs import front_end


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("vllm/vllm-openai:v0.28.0", ("0.28.0", 18)),
        ("registry.example.com:5000/vllm-openai:v0.33.0-x86_64", ("0.33.0", 39)),
        ("vllm/vllm-openai:${VLLM_TAG:-v0.27.1}", ("0.27.1", 30)),
        ("vllm/vllm-openai:v0.28", ("0.28", 18)),
        ("vllm/vllm-openai:v0.28.0@sha256:0123", ("0.28.0", 18)),
        ("vllm/vllm-openai:v0.28.0rc1", None),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai", None),
        ("registry.example.com/dynamo/vllm-runtime:0.9.0", None),
        ("acme/router:0.28.0", None),
    ],
)
def test_the_release_of_an_image_and_where_it_stands(image, expected):
    assert release_at(image) == expected
    assert expected is None or image[expected[1] :].startswith(expected[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pip install vllm==0.28.0", ["0.28.0"]),
        ('uv pip install "vllm[audio] == 0.28" vllm==0.33.0', ["0.28", "0.33.0"]),
        ("pip install vllm>=0.28.0", []),
        ("pip install vllm==0.28.0rc1", []),
        ("pip install acme-vllm==0.28.0", []),
    ],
)
def test_the_releases_that_a_text_installs(text, expected):
    found = list(in_text(text))
    assert [release for _, release in found] == expected
    assert all(text[at:].startswith(release) for at, release in found)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("vllm serve m", ("engine", 2)),
        ("/usr/bin/vllm serve m", ("engine", 2)),
        ("vllm serve m --omni", None),
        ("vllm bench serve", None),
        ("python3 -m vllm.entrypoints.openai.api_server --model m", ("engine", 3)),
        ("python -u -m vllm.entrypoints.cli.main serve m", ("engine", 5)),
        ("python -m dynamo.vllm --model m", ("wrapper", 3)),
        ("python -m dynamo.frontend", None),
        ("python -m sglang.launch_server --model m", None),
        ("python server.py -m vllm.entrypoints.openai.api_server", None),
        ("trtllm-serve m", None),
        ("", None),
    ],
)
def test_what_takes_the_flags_of_the_engine(words, expected):
    found = front_end(words.split())
    assert (found and (found.kind, found.arguments)) == expected
