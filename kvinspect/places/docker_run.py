"""`docker run` and its like among the words of a place: which word is the image, what its options say."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvinspect.commands.container import gpus_of, image_at, run_of
from kvinspect.commands.images import release_at
from kvinspect.places.fragment import Entry, Said, Word
from kvinspect.places.names import are_the_engines

_SERVER = re.compile(r"(?:^|/)[\w.-]*vllm[\w./-]*", re.IGNORECASE | re.ASCII)
_OTHER = re.compile(r"router|gateway|omni|dynamo|lmcache|semantic|exporter|metrics|katan|bench|-sim\b", re.IGNORECASE)


def runs(texts: Sequence[str]) -> bool:
    """Whether words that begin with a container engine's name run a container."""
    return texts[1:2] in (["run"], ["create"]) or texts[1:3] in (["container", "run"], ["container", "create"])


def serves(image: str, words: Sequence[str] = ()) -> bool:
    """Whether the words behind an image are vLLM's: its name is that of the server, or names vLLM and the flags fit.

    >>> serves("vllm/vllm-openai:v0.32.0"), serves("registry/acme/vllm-router:1"), serves("my-vllm", ["--concurrency"])
    (True, False, False)
    """
    path = image.partition("@")[0].rpartition(":")[0] if ":" in image.rpartition("/")[2] else image
    if _SERVER.search(path) is None or _OTHER.search(path) is not None:
        return False
    return "vllm-openai" in path or not words or are_the_engines(words)


def image_of(words: Sequence[Word]) -> int:
    """Which word of `docker run …` is the image; behind the last one where there is none."""
    texts = [word.text for word in words]
    at = image_at(texts)
    if at < len(words) and words[at].opaque and not serves(texts[at]):
        # Options that a variable holds stand before the image.
        later = (i for i in range(at + 1, len(words)) if not texts[i].startswith("-") and serves(texts[i]))
        at = next(later, at)
    return at


def release(image: Word) -> Said | None:
    """The release that an image's tag names, with the place of its first digit."""
    found = release_at(image.text)
    if found is None:
        return None
    begins = image.begins
    return Said(found[0], "image tag", begins._replace(column=begins.column + found[1]))


def variables(words: Sequence[Word]) -> tuple[Entry, ...]:
    """What `-e NAME=value` sets among the options; one without a value is the machine's own."""
    found = []
    for number, word in enumerate(words):
        before = words[number - 1].text if number else ""
        skipped = next((len(one) for one in ("--env=", "-e") if word.text.startswith(one) and word.text != "-e"), 0)
        if (skipped or before in ("-e", "--env")) and "=" in word.text[skipped:]:
            begins = word.begins._replace(column=word.begins.column + skipped)
            found.append(assignment(word._replace(text=word.text[skipped:], mark=begins, inner=None)))
    return tuple(found)


def assignment(word: Word) -> Entry:
    """The variable that a word `NAME=value` sets."""
    name, _, value = word.text.partition("=")
    begins = word.begins
    behind = begins._replace(column=begins.column + len(name) + 1)
    return Entry(word._replace(text=name, opaque=False, default=None), Word(value, behind, word.opaque))


def gpus(words: Sequence[Word]) -> Said | None:
    """How many GPUs `--gpus` lets the container see, None for all of them."""
    try:
        number, said = gpus_of(run_of(tuple(word.text for word in words)))
    except ValueError:
        return None
    at = next((word.mark for word in words if word.text.startswith(("--gpus", "--device"))), None)
    return Said(str(number), said, at) if number is not None else None
