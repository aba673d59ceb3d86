"""What starts vLLM in the words of a command: `vllm serve`, the server's module, or a container."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvinspect.commands.shell_text import EXPANDED, Statement, statements

MODULES = re.compile(r"vllm\.entrypoints\.(?:openai\.)?(?:api_server|rpc\.server)$|vllm\.entrypoints\.cli\.main$")
CONTAINERS = ("docker", "podman", "nerdctl")
SHELLS = ("bash", "sh", "zsh", "dash")
PREFIXES: Mapping[str, int] = {
    "sudo": 0, "env": 0, "exec": 0, "nohup": 0, "time": 0, "command": 0, "setsid": 0, "stdbuf": 0, "nice": 0, "srun": 0,
    "numactl": 0, "timeout": 1, "taskset": 1, "$": 0, "%": 0, ">": 0, "uv": 1, "poetry": 1, "pipenv": 1,
}  # fmt: skip
"""Words that may stand before the program, with the number of words that each takes."""

_ASSIGNED = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}=", re.ASCII)
_PYTHON = re.compile(r"python(?:3(?:\.[0-9]{1,2})?)?$")
_LOOKED_AT = 40
"""Words that are looked at for a program behind what may stand before it."""

_DEEP = 4
"""Commands inside each other: a container, a shell in it, vllm in that."""


class Launch(NamedTuple):
    """The words behind `vllm serve`, and what the rest of the command says."""

    words: tuple[str, ...]
    env: Mapping[str, str] = {}
    release: str | None = None
    """That of a container's image."""
    platform: str | None = None
    gpus: int | None = None
    """GPUs that the command lets vLLM see."""
    gpus_said: str = ""
    notes: tuple[str, ...] = ()
    """What of the command is left out, in sentences."""

    def noted(self, *notes: str) -> Launch:
        """The same with further notes."""
        return self._replace(notes=(*self.notes, *notes))


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
    rest = _behind_prefixes(words, {})
    return bool(rest) and _is_program(rest)


def _is_program(words: Sequence[str]) -> bool:
    """Whether words begin with a program that serves, or that runs one which does."""
    name, behind = name_of(words[0]), words[1:2]
    if name == "vllm" or _PYTHON.match(name):
        return len(words) > 1
    return (
        name in CONTAINERS and behind in (("run",), ["run"], ("create",), ["create"], ["container"], ("container",))
    ) or (name in SHELLS and any(word.startswith("-") and word.endswith("c") for word in behind))


def options_of_others(words: Sequence[str]) -> range:
    """Which words of a call belong to what starts vLLM and not to vLLM; empty where nothing starts it.

    >>> options_of_others(["-f", "json", "docker", "run", "--gpus", "all", "vllm/vllm-openai", "--model", "m"])
    range(2, 7)
    """
    start = next(
        (i for i, word in enumerate(words) if _is_start(word) and starts_vllm(words[i : i + _LOOKED_AT])), None
    )
    if start is None:
        return range(0)
    rest = words[start:]
    at = next(i for i, word in enumerate(rest) if _is_start(word) and name_of(word) not in PREFIXES)
    if name_of(rest[at]) in CONTAINERS:
        from kvinspect.commands.container import image_at

        return range(start, start + at + image_at(rest[at:]) + 1)
    return range(start, start + at + 1 + (rest[at + 1 : at + 2] == ["-m"]))


def launch_of_text(text: str) -> Launch:
    """What a pasted text starts. Raises ValueError where it starts nothing of vLLM's, or more than one thing."""
    return _of_statements(statements(text), 0)


def launch_of(words: Sequence[str]) -> Launch:
    """What words start; those that name no program are the model and its flags. Raises ValueError as above."""
    return _launch(tuple(words), 0)


def _of_statements(found: Sequence[Statement], deep: int) -> Launch:
    """The one command that starts vLLM; variables that others set count, the rest is noted."""
    joined = list(_joined(found))
    env: dict[str, str] = {}
    exported: dict[str, str] = {}
    chosen: list[tuple[int, Statement]] = []
    notes = [note for _, note in joined if note]
    for i, (one, _) in enumerate(joined):
        words = list(one.words[1:] if one.words[0] == "export" else one.words)
        if words and all(is_assignment(word) for word in words):
            env.update(map(pair, words))
            if one.words[0] == "export":
                exported.update(map(pair, words))
        elif starts_vllm(one.words) or (len(joined) == 1):
            chosen.append((i, one))
        elif i and joined[i - 1][0].end in ("|", "|&"):
            notes.append(f"what follows the pipe, {_short(one.words)}, is left out")
        else:
            notes.append(f"the command {_short(one.words)} is left out")
    if len(chosen) != 1:
        raise ValueError(
            "expected one command that starts vLLM (`vllm serve MODEL …`, "
            "`python -m vllm.entrypoints.openai.api_server` "
            f"or `docker run … IMAGE …`), found {len(chosen) or 'none'}"
        )
    number, one = chosen[0]
    if number and joined[number - 1][0].end in ("|", "|&"):
        notes.append("what is piped into vLLM is left out")
    if one.redirected:
        notes.append("the redirection of its output is left out")
    told = _launch(tuple(_filled(word, env) for word in one.words), deep, exported)
    return told._replace(notes=(*notes, *told.notes))


def _joined(found: Sequence[Statement]) -> list[tuple[Statement, str]]:
    """The statements, a line that begins with a flag joined to the one before it, with what has to be said of that."""
    joined: list[tuple[Statement, str]] = []
    for one in found:
        if joined and joined[-1][0].end == "\n" and one.words[0].startswith("-"):
            before, note = joined[-1]
            whole = before._replace(
                words=before.words + one.words, end=one.end, redirected=before.redirected or one.redirected
            )
            note = (
                "lines that begin with a flag are read as part of the command, though no backslash ends the line before"
            )
            joined[-1] = (whole, note)
        else:
            joined.append((one, ""))
    return joined


def _filled(word: str, env: Mapping[str, str]) -> str:
    """A word with the variables that the text itself sets."""
    if EXPANDED not in word:
        return word

    def value(found: re.Match[str]) -> str:
        return env.get(found[1] or found[2], found[0])

    return re.sub(EXPANDED + r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", value, word)


def _short(words: Sequence[str]) -> str:
    text = " ".join(words[:4]).replace(EXPANDED, "")
    return f"`{text[:60]}{'…' if len(words) > 4 or len(text) > 60 else ''}`"


def _behind_prefixes(words: Sequence[str], env: dict[str, str]) -> tuple[str, ...]:
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
        while len(rest) > 1 and not is_assignment(rest[0]) and not _is_start(rest[0]):
            rest.pop(0)
    return tuple(rest)


def _is_start(word: str) -> bool:
    """Whether a word may begin a program, or stand before one."""
    name = name_of(word)
    return name == "vllm" or name in (*CONTAINERS, *SHELLS, *PREFIXES) or _PYTHON.match(name) is not None


def _launch(words: tuple[str, ...], deep: int, exported: Mapping[str, str] = {}) -> Launch:
    if deep > _DEEP:
        raise ValueError(f"at most {_DEEP} commands inside each other are followed")
    env = dict(exported)
    rest = _behind_prefixes(words, env) or words
    if rest and _is_program(rest):
        told = _of_program(rest, deep)
        around = {} if name_of(rest[0]) in CONTAINERS else env
        return _seen({**around, **told.env}, told)
    if not env:
        return Launch(words)
    return _seen(env, Launch(tuple(rest) if rest is not words else ()))


def _of_program(words: tuple[str, ...], deep: int) -> Launch:
    """What a program starts."""
    name = name_of(words[0])
    if name == "vllm":
        if words[1] != "serve":
            raise ValueError(f"only `vllm serve` can be asked about, found `vllm {words[1][:40]}`")
        return Launch(words[2:])
    if name in SHELLS:
        at = next(i for i, word in enumerate(words) if i and word.startswith("-") and word.endswith("c"))
        if len(words) <= at + 1:
            raise ValueError(f"{name} {words[at]} lacks its command")
        return _of_statements(statements(words[at + 1].replace(EXPANDED, "")), deep + 1)
    if name in CONTAINERS:
        from kvinspect.commands.container import in_container

        return in_container(words, lambda inner: _launch(inner, deep + 1), _is_program)
    return _of_python(words)


def _of_python(words: tuple[str, ...]) -> Launch:
    if "-m" not in words or not MODULES.match(next(iter(words[words.index("-m") + 1 :]), "")):
        raise ValueError(
            f"{_short(words)} is no server of vLLM's: expected python -m vllm.entrypoints.openai.api_server"
        )
    at = words.index("-m") + 1
    rest = words[at + 1 :]
    if not words[at].endswith("cli.main"):
        return Launch(rest)
    return _of_program(("vllm", *(rest or ("",))), _DEEP)


def _seen(env: Mapping[str, str], told: Launch) -> Launch:
    """The launch with the GPUs that a variable lets it see."""
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        ids = env.get(name, "").strip()
        if ids and re.fullmatch(r"[\w:/.-]+(?:,[\w:/.-]+)*", ids, re.ASCII):
            told = told._replace(gpus=len(ids.split(",")), gpus_said=f"{name}={ids[:40]}")
    return told._replace(env=dict(env))
