"""What a pasted command starts, and that nothing in it is run."""

import contextlib
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvinspect.commands.launch import launch_of, launch_of_text, options_of_others
from kvinspect.commands.programs import COMMAND, starts_vllm
from kvinspect.commands.shell_text import EXPANDED, statements


def words_of(text):
    return [list(one.words) for one in statements(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vllm serve m  # -tp 2", [["vllm", "serve", "m"]]),
        ("vllm serve m \\\n  -tp 2 \\\r\n -q fp8\n", [["vllm", "serve", "m", "-tp", "2", "-q", "fp8"]]),
        ("a \\  # why\n -b", [["a", "-b"]]),
        ("a \\  ", [["a"]]),
        ("""x '{"a": 1}' "b c" d\\ e""", [["x", '{"a": 1}', "b c", "d e"]]),
        ("a && b | c; d &", [["a"], ["b"], ["c"], ["d"]]),
        ("a > log 2>&1 b", [["a", "b"]]),
        ("a &> log", [["a"]]),
        ("a\u2003b", [["a", "b"]]),
        ("a#b '#c'", [["a#b", "#c"]]),
        (
            "a $B ${C:-${D}} $(e $(f)) `g h`",
            [["a", *(EXPANDED + x for x in ("$B", "${C:-${D}}", "$(e $(f))", "`g h`"))]],
        ),
        (r"a '$B' \$C 5$", [["a", "$B", "$C", "5$"]]),
    ],
)
def test_words(text, words):
    assert words_of(text) == words


@pytest.mark.parametrize(
    "text", ["a 'b", 'a "b', "a `b", "a $(b", "a ${b", "a < b", "cat << EOF", "a\x00b", "a \x1b[0m"]
)
def test_texts_that_are_refused(text):
    with pytest.raises(ValueError, match="the command "):
        statements(text)


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m -tp 2",
        "$ vllm serve m -tp 2",
        "/usr/local/bin/vllm serve m -tp 2",
        "sudo -E nohup vllm serve m -tp 2 &",
        "uv run vllm serve m -tp 2",
        "numactl -N 0 vllm serve m -tp 2",
        "bash -c 'vllm serve m -tp 2'",
        "cd /x && pip install vllm && vllm serve m -tp 2",
        "vllm serve m -tp 2 | tee log",
        "python3 -m vllm.entrypoints.openai.api_server m -tp 2",
        "python -u -m vllm.entrypoints.cli.main serve m -tp 2",
        "docker run --rm -it --gpus=all -p8000:8000 vllm/vllm-openai:v0.27.1 m -tp 2",
        "podman run --entrypoint vllm img/vllm:v0.27.1 serve m -tp 2",
        "docker run vllm/vllm-openai serve m -tp 2",
        "docker run rocm/vllm:nightly bash -lc 'FOO=1 vllm serve m -tp 2'",
        "vllm serve m\n  -tp 2",
        "m -tp 2",
    ],
)
def test_what_starts_the_engine(text):
    assert launch_of_text(text).words == ("m", "-tp", "2")


def test_variables_release_and_gpus():
    found = launch_of_text(
        "export A=1\nB=2 docker run -e C=3 --env D -e=E=5 --gpus '\"device=0,1\"' x.io/vllm/vllm-openai:v0.27.1-cu129 --model m"
    )
    assert found.words == ("--model", "m")
    assert (found.env, found.release, found.gpus) == ({"C": "3", "E": "5"}, "0.27.1", 2)
    assert launch_of_text("M=a/b; vllm serve $M").words == ("a/b",)
    assert launch_of_text("CUDA_VISIBLE_DEVICES=0,2,3 vllm serve m").gpus == 3


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai", None),
        ("vllm/vllm-openai:v0.28.0", "0.28.0"),
        ("host:5000/vllm/vllm-openai:v0.28.0@sha256:00", "0.28.0"),
        ("host:5000/vllm/vllm-openai", None),
        ("nvcr.io/nvidia/vllm:25.09-py3", None),
        ("acme/chat:v0.28.0", None),
        ("vllm/vllm-openai:v0.28.0rc1", None),
    ],
)
def test_the_release_of_an_image(image, release):
    found = launch_of_text(f"docker run {image} --model m")
    assert found.release == release
    assert any("names no release" in note for note in found.notes) == (release is None)


@pytest.mark.parametrize(
    "text",
    [
        "vllm bench serve m",
        "python -m http.server",
        "python server.py",
        "docker run --gpus all",
        "vllm serve a; vllm serve b",
        "a; b",
        "docker run --entrypoint ls vllm/vllm-openai -l",
        "bash -c",
        "",
    ],
)
def test_what_starts_no_engine(text):
    with pytest.raises(ValueError, match=r"expected|only|no server|names no image|starts nothing|lacks"):
        launch_of_text(text)


def test_commands_inside_each_other_end():
    text = "vllm serve m"
    for _ in range(8):
        text = "bash -c '" + text.replace("'", "'\\''") + "'"
    with pytest.raises(ValueError, match="inside each other"):
        launch_of_text(text)


def test_words_that_are_others():
    call = ["-f", "json", "docker", "run", "--gpus", "all", "vllm/vllm-openai", "--model", "m"]
    assert options_of_others(call) == range(2, 7)
    assert options_of_others(["vllm", "serve", "m"]) == range(1)
    assert not options_of_others(["m", "-tp", "2"])


WORDS = st.sampled_from(
    ["vllm", "serve", "docker", "run", "podman", "-e", "--env", "-it", "A=1", "bash", "-c", "python", "-m", "'", '"', "\\",
     "vllm.entrypoints.openai.api_server", "$X", "`", "$(", ")", "|", "&&", ">", "<", "#", "\n", "--gpus", "x/vllm:v0.27.1",
     "--entrypoint", "env", "sudo", "-", "--", "timeout", "container", "export", "${", "}", ";", "2>&1"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(WORDS | st.text(max_size=6), max_size=14))
def test_hostile_commands_are_words_or_an_error(parts):
    for read, given_ in ((launch_of, parts), (launch_of_text, " ".join(parts)), (options_of_others, parts)):
        with contextlib.suppress(ValueError):
            read(given_)


def test_a_long_text_is_refused_at_once():
    for text in ("a " * 40_000, "'" + "a" * 200_000):
        with pytest.raises(ValueError, match="at most"):
            launch_of_text(text)


def test_only_what_is_exported_reaches_the_engine():
    assert launch_of_text("export A=1; B=2; C=3 vllm serve m").env == {"A": "1", "C": "3"}


def test_a_call_of_whose_words_none_begins_a_command_is_no_command():
    words = (
        "vllm",
        "/usr/bin/docker",
        "python3.12",
        "bash",
        "sudo",
        "$",
        "A=1",
        "a/vllm\n",
        "--gpus",
        "m",
        "run",
        "-c",
    )
    for call in itertools.product(words, repeat=3):
        if not any(map(COMMAND.match, call)):
            assert launch_of(call).words == call
            assert not starts_vllm(call)
            assert not options_of_others(call)
    assert [word for word in words if COMMAND.match(word)] == [*words[:8]]
