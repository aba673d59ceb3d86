"""Words that begin a command: the programs that start vLLM, what may stand before them, variables that are set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

CONTAINERS = ("docker", "podman", "nerdctl")
SHELLS = ("bash", "sh", "zsh", "dash")
PREFIXES: Mapping[str, int] = {
    "sudo": 0, "env": 0, "exec": 0, "nohup": 0, "time": 0, "command": 0, "setsid": 0, "stdbuf": 0, "nice": 0, "srun": 0,
    "numactl": 0, "timeout": 1, "taskset": 1, "$": 0, "%": 0, ">": 0, "uv": 1, "poetry": 1, "pipenv": 1,
}  # fmt: skip
"""Words that may stand before the program, with the number of words that each takes."""

_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}=", re.ASCII)
_PYTHON = re.compile(r"python(?:3(?:\.[0-9]{1,2})?)?$")
_STARTS = "|".join(map(re.escape, ("vllm", *CONTAINERS, *SHELLS, *PREFIXES)))
COMMAND = re.compile(rf"{_ASSIGNED.pattern}|(?:.*/)?(?:{_STARTS}|{_PYTHON.pattern})$", re.ASCII | re.DOTALL)
"""A word with which a command may begin. Where no word of a call is one, the words are vLLM's own and no command."""


def name_of(word: str) -> str:
    """The program that a word names, without its folder."""
    return word.rpartition("/")[2]


def is_assignment(word: str) -> bool:
    """Whether a word sets a variable, as a shell has it before a command."""
    return _ASSIGNED.match(word) is not None


def pair(word: str) -> tuple[str, str]:
    """Name and value of a word that sets a variable."""
    name, _, value = word.partition("=")
    return name, value


def starts_vllm(words: Sequence[str]) -> bool:
    """Whether words begin with what starts vLLM, or may stand before it."""
    rest = behind_prefixes(words, {})
    return bool(rest) and is_program(rest)


def is_program(words: Sequence[str]) -> bool:
    """Whether words begin with a program that serves, or that runs one which does."""
    name, behind = name_of(words[0]), words[1:2]
    if name == "vllm" or _PYTHON.match(name):
        return len(words) > 1
    return (
        name in CONTAINERS and behind in (("run",), ["run"], ("create",), ["create"], ["container"], ("container",))
    ) or (name in SHELLS and any(word.startswith("-") and word.endswith("c") for word in behind))


def behind_prefixes(words: Sequence[str], env: dict[str, str]) -> tuple[str, ...]:
    """The words from the program on; the variables before it are put in `env`."""
    rest = list(words)
    while rest:
        if is_assignment(rest[0]):
            env.update([pair(rest.pop(0))])
            continue
        if name_of(rest[0]) not in PREFIXES:
            break
        takes = PREFIXES[name_of(rest.pop(0))]
        while rest and rest[0].startswith("-"):
            rest.pop(0)
        del rest[:takes]
        while len(rest) > 1 and not is_assignment(rest[0]) and not is_start(rest[0]):
            rest.pop(0)
    return tuple(rest)


def is_start(word: str) -> bool:
    """Whether a word may begin a program, or stand before one."""
    name = name_of(word)
    return name == "vllm" or name in (*CONTAINERS, *SHELLS, *PREFIXES) or _PYTHON.match(name) is not None
