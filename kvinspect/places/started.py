"""What a list of words starts: vLLM's front end behind whatever stands before it, or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from kvinspect.commands.programs import CONTAINERS, SHELLS, behind_prefixes, is_assignment, is_start, name_of
from kvinspect.document.problem import Mark
from kvinspect.places import docker_run
from kvinspect.places.fragment import Entry, Fragment, Said, Word
from kvinspect.places.names import own_flags
from kvinspect.places.programs import front_end
from kvinspect.places.source import Source

MAX_DEEP = 4
"""Commands inside each other: a container, a shell in it, vllm in that."""

LAUNCHERS = frozenset((
    "singularity", "apptainer", "conda", "micromamba", "pixi", "mpirun", "mpiexec", "nsys", "ncu", "screen", "tmux",
    "xvfb-run", "runuser", "su", "flock", "torchrun", "kubectl", "docker-compose", "eval", "hatch", "rye", "pdm", "ssh",
    "tini", "dumb-init", "gosu", "watch", "!", "%%bash",
))  # fmt: skip
"""Programs that run the one which their later words name; what stands between is theirs."""

_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_DEVICES = re.compile(r"[\w:/.-]+(?:,[\w:/.-]+)*", re.ASCII)

Inner = Callable[[int], Source]
"""The text of word i as a source, for `sh -c TEXT`."""

ReadShell = Callable[[Source, str, int], Iterator[Fragment]]
"""How the places of a shell text are found: the text, the form of what holds it, and how deep it is."""


def started(
    words: Sequence[Word], form: str, read: ReadShell, inner: Inner | None = None, deep: int = 0
) -> Iterator[Fragment]:
    """The places among words that begin with a program; none where nothing of vLLM's own is started.

    What a shell in it is told is found by `read`; without `inner` such a text is on one line of the file.
    """
    env: list[Entry] = []
    at = _program_at(words, env)
    rest = words[at:]
    source = _sources(words, inner)
    if deep > MAX_DEEP or not words:
        return
    program = name_of(rest[0].text) if rest else ""
    found: Iterator[Fragment]
    if not rest or (at and len(rest) == 1 and " " in rest[0].text):
        found = _in_strings(words, form, read, source, deep)
    elif program in CONTAINERS:
        found = _contained(rest, form, read, lambda i: source(at + i), deep)
    elif program in SHELLS:
        found = _in_shell(rest, form, read, lambda i: source(at + i), deep)
    else:
        found = _front_end(rest, form)
    for fragment in found:
        around = fragment._replace(env=(*env, *fragment.env))
        yield around if around.gpus else around._replace(gpus=visible(around.env))


def visible(env: Sequence[Entry]) -> Said | None:
    """How many GPUs a variable lets the engine see."""
    for key, value, *_ in reversed(env):
        if key.text in _VISIBLE and value and not value.opaque and _DEVICES.fullmatch(value.text):
            return Said(str(len(value.text.split(","))), key.text, key.mark)
    return None


def _sources(words: Sequence[Word], inner: Inner | None) -> Inner:
    def on_one_line(number: int) -> Source:
        word = words[number]
        return Source(word.text, lambda offset: Mark(word.begins.line, word.begins.column + offset))

    return inner or on_one_line


def _program_at(words: Sequence[Word], env: list[Entry]) -> int:
    """Which word is the program behind prefixes and launchers; variables set before it are put in `env`."""
    texts = [word.text for word in words]
    at = 0
    while at < len(words):
        behind = len(words) - len(behind_prefixes(texts[at:], {}))
        env.extend(docker_run.assignment(word) for word in words[at:behind] if is_assignment(word.text))
        at = behind
        if at + 1 < len(words) and words[at].opaque and _follows_prefix(texts[at + 1]):
            at += 1
            continue
        if at == len(words) or not _launches(texts[at:]):
            return at
        at = next((i for i in range(at + 1, len(words)) if is_start(texts[i])), len(words))
    return at


def _follows_prefix(text: str) -> bool:
    """Whether a word begins a program behind a variable that holds what stands before it (`$PREFIX vllm serve`)."""
    return is_start(text) or is_assignment(text)


def _launches(texts: Sequence[str]) -> bool:
    """Whether a program runs another one that its words name."""
    name = name_of(texts[0])
    return name in LAUNCHERS or (name in CONTAINERS and not docker_run.runs(texts))


def _front_end(words: Sequence[Word], form: str) -> Iterator[Fragment]:
    texts = [word.text for word in words]
    if words[0].opaque and "-m" in texts[1:4]:
        texts[0] = "python3"
    found = front_end(texts)
    if found is not None and found.arguments < len(words):
        arguments = tuple(words[found.arguments :])
        own = own_flags(arguments) if found.kind == "wrapper" else ()
        yield Fragment(form, arguments, command=words[found.program].mark, own_flags=own)


def _in_strings(words: Sequence[Word], form: str, read: ReadShell, source: Inner, deep: int) -> Iterator[Fragment]:
    """What a launcher is told to run in one word: `ssh host "vllm serve …"`."""
    for number, word in enumerate(words):
        if number and " " in word.text:
            yield from read(source(number), form, deep + 1)


def _in_shell(words: Sequence[Word], form: str, read: ReadShell, source: Inner, deep: int) -> Iterator[Fragment]:
    """What `sh -c TEXT` starts."""
    options = (i for i, word in enumerate(words) if i and word.text.startswith("-") and word.text.endswith("c"))
    at = next(options, len(words)) + 1
    if at < len(words):
        yield from read(source(at), form, deep + 1)


def _contained(words: Sequence[Word], form: str, read: ReadShell, source: Inner, deep: int) -> Iterator[Fragment]:
    """What a container starts: the image's own server, or the command that it is given."""
    at = docker_run.image_of(words)
    if at >= len(words):
        return
    options, image = words[:at], words[at]
    numbers = [*_entry_point(options), *range(at + 1, len(words))]
    inside = [words[i] for i in numbers]
    if inside and inside[0].text == "serve":
        inside.insert(0, Word("vllm", image.mark))
        numbers.insert(0, at)
    found = list(started(inside, form, read, lambda i: source(numbers[i]), deep + 1))
    if not found and _are_arguments(inside) and docker_run.serves(image.text, [word.text for word in inside]):
        found = [Fragment(form, tuple(inside), command=words[0].mark)]
    for fragment in found:
        yield fragment._replace(
            env=(*docker_run.variables(options), *fragment.env),
            release=fragment.release or docker_run.release(image),
            gpus=docker_run.gpus(words[: at + 1]) or fragment.gpus,
        )


def _entry_point(options: Sequence[Word]) -> Iterator[int]:
    """The word that is the entry point, where it is given as a word of its own."""
    for number, word in enumerate(options[:-1]):
        if word.text == "--entrypoint" and options[number + 1].text:
            yield number + 1


def _are_arguments(words: Sequence[Word]) -> bool:
    """Whether words can be the server's: flags, or a model and flags."""
    if not words:
        return False
    return words[0].text.startswith("-") or any(word.text.startswith("--") for word in words[1:])
