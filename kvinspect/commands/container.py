"""`docker run` and its like: the image's release, the GPUs, the variables, and what is run inside."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kvinspect.commands.images import release_of
from kvinspect.commands.launched import Launch
from kvinspect.commands.programs import PODS, is_program, name_of, pair, starts_vllm
from kvinspect.commands.shell_text import EXPANDED

SWITCHES = frozenset((
    "detach", "rm", "interactive", "tty", "privileged", "init", "read-only", "no-healthcheck", "oom-kill-disable",
    "publish-all", "sig-proxy", "disable-content-trust", "quiet", "help", "no-hosts", "replace", "rmi", "tls-verify",
))  # fmt: skip
"""Options of `docker run` and `podman run` that take no value."""

SHORT_SWITCHES = frozenset("ditPqT")
LONG_OF = {"e": "env"}


class Run(NamedTuple):
    """The options before the image, the image, and the words behind it."""

    options: tuple[tuple[str, str], ...]
    image: str
    command: tuple[str, ...]

    def last(self, name: str) -> str | None:
        """The value of an option, None where it is not given."""
        return next((value for key, value in reversed(self.options) if key == name), None)


def image_at(words: Sequence[str]) -> int:
    """How many words of a `docker run` stand before the image; all where it names none."""
    if name_of(words[0]) == PODS:
        return _behind_dashes(words) - 1
    left = deque(words[_options_at(words) :])
    list(_options(left))
    return len(words) - len(left)


def _options_at(words: Sequence[str]) -> int:
    """Where the options begin: behind `docker run`, or `docker container run`."""
    return 3 if len(words) > 2 and words[1] == "container" else 2


def in_container(words: tuple[str, ...], inside: Callable[[tuple[str, ...]], Launch]) -> Launch:
    """What a container starts: the image's own server, or the command that it is given. Raises ValueError."""
    run = run_of(words)
    told = _started(run, inside)
    number, said = gpus_of(run)
    notes = []
    release = release_of(run.image)
    if release is None:
        notes.append(f"the image {run.image[:100]} names no release of vLLM; --engine does".replace(EXPANDED, ""))
    if run.last("env-file") is not None:
        notes.append("the variables of --env-file are not read")
    platform = "rocm" if "rocm" in run.image.lower() else None
    found = Launch(
        told.words, {**_variables(run), **told.env}, release, platform, told.gpus, told.gpus_said, told.notes
    )
    if number is not None:
        found = found._replace(gpus=number, gpus_said=said)
    return found.noted(*notes)


def run_of(words: tuple[str, ...]) -> Run:
    """The words of `docker run` or `kubectl run` in their parts. Raises ValueError where they name no image."""
    if name_of(words[0]) == PODS:
        return _pod(words)
    left = deque(words[_options_at(words) :])
    options = tuple(_options(left))
    if not left:
        raise ValueError(f"{name_of(words[0])} {words[1]} names no image")
    image = left.popleft()
    return Run(options, image, tuple(left))


def _pod(words: tuple[str, ...]) -> Run:
    """The words of `kubectl run NAME --image IMAGE -- ARGUMENTS`; with `--command` they are a whole command.

    Raises ValueError where one of the parts is missing.
    """
    at = _behind_dashes(words)
    options = tuple(_pod_options(words[2 : at - 1 if at < len(words) else at]))
    image = next((value for name, value in options if name == "image"), "")
    if not image:
        raise ValueError("kubectl run names no image")
    command = words[at:]
    if not command:
        raise ValueError("kubectl run gives the image no arguments; they stand behind --, in a command that is quoted")
    if any(name == "command" for name, _ in options) and command:
        return Run((*options, ("entrypoint", command[0])), image, command[1:])
    return Run(options, image, command)


def _behind_dashes(words: Sequence[str]) -> int:
    """Where the words behind `--` begin; at the end where there are none."""
    return words.index("--") + 1 if "--" in words else len(words)


def _pod_options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The options of `kubectl run` with their values, which may be words of their own."""
    for word, behind in zip(words, (*words[1:], ""), strict=True):
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-"):
            yield name, value if equals else ("" if behind.startswith("-") else behind)


def _options(left: deque[str]) -> Iterator[tuple[str, str]]:
    """The options before the image with their values, taken from the words."""
    while left and left[0].startswith("-") and left[0] != "-":
        word = left.popleft()
        if word == "--":
            return
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and name not in SWITCHES:
                value = left.popleft() if left else ""
            yield name, value
            continue
        letters = word[1:]
        while letters and letters[0] in SHORT_SWITCHES:
            letters = letters[1:]
        if letters:
            value = letters[1:].removeprefix("=") or (left.popleft() if left else "")
            yield LONG_OF.get(letters[0], letters[0]), value


def _started(run: Run, inside: Callable[[tuple[str, ...]], Launch]) -> Launch:
    """What runs inside: an entry point that is given, a command, or the image's server with these words."""
    entry = run.last("entrypoint")
    words = ((entry,) if entry else ()) + run.command
    if entry is None and words[:1] == ("serve",):
        words = ("vllm", *words)
    if words and (is_program(words) or (entry is None and not words[0].startswith("-") and starts_vllm(words))):
        return inside(words)
    if entry:
        raise ValueError(f"--entrypoint {entry[:60]} starts nothing of vLLM's".replace(EXPANDED, ""))
    return Launch(words)


def _variables(run: Run) -> Mapping[str, str]:
    """The variables that are set; one without a value is this machine's, which is not read."""
    return dict(pair(value) for name, value in run.options if name == "env" and "=" in value)


def gpus_of(run: Run) -> tuple[int | None, str]:
    """(number, how it is said) of the GPUs that the container sees, None for all of them."""
    said = run.last("gpus")
    devices = [value for name, value in run.options if name == "device" and "nvidia.com/gpu=" in value]
    if said is None and devices and not any(value.endswith("=all") for value in devices):
        return len(devices), " ".join(f"--device {value[:40]}" for value in devices[:4])
    parts = (said or "").strip("'\"")
    shown = f"--gpus {parts[:40]}"
    if parts.isascii() and parts.isdigit() and 0 < int(parts[:6]) <= 4096:
        return int(parts[:6]), shown
    if found := re.search(r"device=([^\s\"']+)", parts):
        return len(found[1].split(",")), shown
    if found := re.search(r"count=([1-9][0-9]{0,3})\b", parts):
        return int(found[1]), shown
    return None, ""
