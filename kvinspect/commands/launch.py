"""What starts vLLM in the words of a command: `vllm serve`, the server's module, or a container."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kvinspect.commands.container import image_at, in_container
from kvinspect.commands.launched import Launch
from kvinspect.commands.pins import in_text
from kvinspect.commands.programs import (
    SHELLS,
    behind_prefixes,
    is_assignment,
    is_program,
    is_python,
    is_start,
    name_of,
    pair,
    runs_image,
    starts_vllm,
)
from kvinspect.commands.shell_text import EXPANDED, Statement, statements

MODULES = re.compile(r"vllm\.entrypoints\.(?:openai\.)?(?:api_server|rpc\.server)$|vllm\.entrypoints\.cli\.main$")
_LOOKED_AT = 40
"""Words that are looked at for a program behind what may stand before it."""

_DEEP = 4
"""Commands inside each other: a container, a shell in it, vllm in that."""


def options_of_others(words: Sequence[str]) -> range:
    """Which words of a call belong to what starts vLLM and not to vLLM; empty where nothing starts it.

    >>> options_of_others(["-f", "json", "docker", "run", "--gpus", "all", "vllm/vllm-openai", "--model", "m"])
    range(2, 7)
    """
    start = next((i for i, word in enumerate(words) if is_start(word) and starts_vllm(words[i : i + _LOOKED_AT])), None)
    if start is None:
        return range(0)
    program = behind_prefixes(words[start:], {})
    at = len(words) - len(program)
    if runs_image(program):
        return range(start, at + image_at(program) + 1)
    module = program.index("-m") if is_python(name_of(program[0])) and "-m" in program else 0
    return range(start, at + module + 1)


def launch_of_text(text: str) -> Launch:
    """What a pasted text starts. Raises ValueError where it starts nothing of vLLM's, or more than one thing."""
    return _of_statements(statements(_as_bash(text)), 0)


def _as_bash(text: str) -> str:
    """A text whose lines go on behind a backtick or a caret, as those of PowerShell and cmd, with backslashes there."""
    for mark in "`^":
        ends = re.compile(rf"{re.escape(mark)}[ \t]*(?=\r?\n)")
        if text.count(mark) == len(ends.findall(text)):
            text = ends.sub(r"\\", text)
    return text


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


def _launch(words: tuple[str, ...], deep: int, exported: Mapping[str, str] = {}) -> Launch:
    if deep > _DEEP:
        raise ValueError(f"at most {_DEEP} commands inside each other are followed")
    env = dict(exported)
    rest = behind_prefixes(words, env) or words
    told = _behind(rest, words, env, deep)
    pinned = [release for word in words[: len(words) - len(rest)] for _, release in in_text(word)]
    return told._replace(release=pinned[-1]) if pinned and told.release is None else told


def _behind(rest: tuple[str, ...], words: tuple[str, ...], env: Mapping[str, str], deep: int) -> Launch:
    """What is started behind the words and variables that may stand before it."""
    if rest is not words and len(rest) == 1 and " " in rest[0].strip():
        told = _of_statements(statements(rest[0].replace(EXPANDED, "")), deep + 1)
        return _seen({**env, **told.env}, told)
    if rest and is_program(rest):
        told = _of_program(rest, deep)
        around = {} if runs_image(rest) else env
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
    if runs_image(words):
        return in_container(words, lambda inner: _launch(inner, deep + 1))
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
