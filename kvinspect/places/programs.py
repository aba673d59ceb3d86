"""Which words start an engine: vLLM's own front end, a wrapper that passes its flags on, or something else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from kvinspect.commands.programs import name_of

_SERVER = re.compile(r"vllm\.entrypoints\.(?:openai\.)?(?:api_server|rpc\.server)$|vllm\.entrypoints\.cli\.main$")
_WRAPPERS = re.compile(r"dynamo\.vllm(?:\.main)?$")
_PYTHON = re.compile(r"python(?:3(?:\.[0-9]{1,2})?)?$")


class FrontEnd(NamedTuple):
    """What words start: where its program stands among them, and where its arguments begin."""

    kind: Literal["engine", "wrapper"]
    """`engine`: every flag is vLLM's. `wrapper`: a flag that no release of vLLM has is the wrapper's own."""
    program: int
    arguments: int


def front_end(words: Sequence[str]) -> FrontEnd | None:
    """What takes vLLM's flags among words that begin with a program; None where nothing does.

    >>> front_end(["python3", "-m", "dynamo.vllm", "--model", "m"])
    FrontEnd(kind='wrapper', program=0, arguments=3)
    """
    if len(words) > 1 and name_of(words[0]) == "vllm" and words[1] == "serve":
        return None if "--omni" in words else FrontEnd("engine", 0, 2)
    if not words or not _PYTHON.match(name_of(words[0])):
        return None
    at = next((i for i, word in enumerate(words) if i and (word == "-m" or not word.startswith("-"))), len(words)) + 1
    module = words[at] if at < len(words) and words[at - 1] == "-m" else ""
    if module.endswith("cli.main") and _SERVER.match(module):
        inner = front_end(["vllm", *words[at + 1 :]])
        return inner and inner._replace(arguments=at + inner.arguments)
    if _SERVER.match(module):
        return FrontEnd("engine", 0, at + 1)
    return FrontEnd("wrapper", 0, at + 1) if _WRAPPERS.match(module) else None
