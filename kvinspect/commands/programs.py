"""Words that begin a command: the programs that start vLLM, what may stand before them, variables that are set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

CONTAINERS = ("docker", "podman", "nerdctl")
SHELLS = ("bash", "sh", "zsh", "dash")
PREFIXES: Mapping[str, int] = {
    "sudo": 0, "env": 0, "exec": 0, "nohup": 0, "time": 0, "command": 0, "setsid": 0, "stdbuf": 0, "nice": 0, "srun": 0,
    "numactl": 0, "timeout": 1, "taskset": 1, "$": 0, "%": 0, ">": 0, "uv": 1, "poetry": 1, "pipenv": 1, "uvx": 0,
    "pipx": 1, "conda": 1, "micromamba": 1, "pixi": 1, "apptainer": 1, "singularity": 1, "mpirun": 0, "tmux": 1,
    "screen": 0, "ssh": 0, "accelerate": 1, "nsys": 1,
}  # fmt: skip
"""Words that may stand before the program, with the number of words that each takes."""

PODS = "kubectl"
"""What runs an image by its command `run`, as CONTAINERS do; by others it runs a command in what is there."""

_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}=(?!=)", re.ASCII)
"""A variable that is set; `vllm==0.30.0` is a pin."""

_PYTHON = re.compile(r"(?:python(?:3(?:\.[0-9]{1,2})?)?|torchrun)$")
_STARTS = "|".join(map(re.escape, ("vllm", PODS, *CONTAINERS, *SHELLS, *PREFIXES)))
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
    if name == "vllm" or is_python(name):
        return len(words) > 1
    return runs_image(words) or (name in SHELLS and any(word.startswith("-") and word.endswith("c") for word in behind))


def is_python(name: str) -> bool:
    """Whether a program runs a module of Python that it is told by `-m`."""
    return _PYTHON.match(name) is not None


def runs_image(words: Sequence[str]) -> bool:
    """Whether words begin with `docker run` or its like, or with `kubectl run`."""
    name, behind = name_of(words[0]), next(iter(words[1:2]), "")
    return (name in CONTAINERS and behind in ("run", "create", "container")) or (name == PODS and behind == "run")


def behind_prefixes(words: Sequence[str], env: dict[str, str]) -> tuple[str, ...]:
    """The words from the program on; the variables before it are put in `env`."""
    rest = list(words)
    while rest:
        if is_assignment(rest[0]):
            env.update([pair(rest.pop(0))])
            continue
        if not _stands_before(rest):
            break
        takes = PREFIXES.get(name_of(rest.pop(0)), 1)
        while rest and rest[0].startswith("-"):
            rest.pop(0)
        del rest[:takes]
        while len(rest) > 1 and not is_assignment(rest[0]) and not _starts(rest):
            rest.pop(0)
    return tuple(rest)


def _stands_before(words: Sequence[str]) -> bool:
    """Whether words begin with what runs a program that its later words name: `docker exec` and the like too."""
    name = name_of(words[0])
    return name in PREFIXES or (name in (*CONTAINERS, PODS) and len(words) > 1 and not runs_image(words))


def _starts(words: Sequence[str]) -> bool:
    """Whether a program begins with the first word; the package or service before it may be called vllm too."""
    return is_start(words[0]) and not (words[0] == "vllm" and is_start(words[1]))


def is_start(word: str) -> bool:
    """Whether a word may begin a program, or stand before one."""
    name = name_of(word)
    return name == "vllm" or name in (PODS, *CONTAINERS, *SHELLS, *PREFIXES) or is_python(name)
