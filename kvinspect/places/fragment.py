"""Engine arguments as a file holds them: words or keys, each with the line and column where it stands."""

from __future__ import annotations

from typing import NamedTuple

from kvinspect.document.problem import Mark


class Word(NamedTuple):
    """A word of a command line, a key or a value, as the program would receive it."""

    text: str
    """Without quotes and escapes; as it is written where it is opaque."""
    mark: Mark
    """Its first character in the file (a quote in front of it counts as its first), both from 1."""
    opaque: bool = False
    """Whether a variable or an expression decides its text, so that nothing is said of its value."""
    default: str | None = None
    """What an opaque word is where its variable is unset (`${MODEL:-Qwen/Qwen3-8B}`)."""
    inner: Mark | None = None
    """Where its text begins behind a quote, where that is not `mark`."""

    @property
    def begins(self) -> Mark:
        """Where its text begins."""
        return self.inner or self.mark


class Entry(NamedTuple):
    """A key of a mapping or the name of a keyword argument, with its value."""

    key: Word
    value: Word | None
    """As it is written; None where that cannot be said."""
    nested: object = None
    """The plain value, where it is other than the text: of a mapping, a list, a number."""
    name: str | None = None
    """What the engine calls the key, where a wrapper has a name of its own for it."""


class Said(NamedTuple):
    """A value and where the file says it: a release in an image's tag, a GPU in a node selector."""

    value: str
    by: str
    """What kind of place says it: `image tag`, `pip install`, `nodeSelector`."""
    mark: Mark | None


class Fragment(NamedTuple):
    """One place that holds arguments of vLLM's own front end."""

    form: str
    """In the words of `FORMS`."""
    words: tuple[Word, ...] = ()
    """Of a command: what stands behind `vllm serve` or the module."""
    entries: tuple[Entry, ...] = ()
    """Of a mapping or of a call."""
    command: Mark | None = None
    """Where the program or the call stands, where it is written."""
    release: Said | None = None
    gpu: Said | None = None
    gpus: Said | None = None
    """How many GPUs the place gets."""
    env: tuple[Entry, ...] = ()
    """The environment variables that count for the place."""
    own_flags: tuple[Word, ...] = ()
    """Arguments of a wrapper (Dynamo, KServe, verl) among the engine's, never unknown."""
    whole: tuple[Word, ...] = ()
    """Of a command whose words name variables of the same file: with what those hold in their place. Rules read it."""
    part_of: Mark | None = None
    """Of a variable's flags: the first word of the command whose `whole` has them. Listed, and judged there."""
    start: Mark | None = None
    """Where the place begins, where that is not its first word: KServe has the model in another list than the flags."""
    model: Word | None = None
    """The model, where something beside the engine's arguments names it."""

    @property
    def begins(self) -> Mark:
        """Where its arguments begin."""
        if self.start:
            return self.start
        first = self.words[0].mark if self.words else self.entries[0].key.mark if self.entries else None
        return first or self.command or Mark(1, 1)
