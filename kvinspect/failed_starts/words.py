"""The arguments that a log prints as words of `vllm serve`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kvinspect.data.flags import Flags

_NOT_OF_THE_CACHE = (
    *("host", "port", "api_key", "served_model_name", "uvicorn_log_level", "chat_template", "ssl_keyfile"),
    *("ssl_certfile", "root_path", "middleware", "allowed_origins", "allowed_headers", "allowed_methods", "headless"),
    *("tool_call_parser", "reasoning_parser", "enable_auto_tool_choice", "download_dir", "tokenizer", "seed"),
)
"""Arguments of the server that change nothing of a cache."""


def words_of(values: Mapping[str, Any], flags: Flags) -> tuple[list[str], list[str]]:
    """The words of engine arguments, and the names of those that are no flags of the release."""
    words: list[str] = []
    unknown: list[str] = []
    for name, value in values.items():
        if name == "model" or name in _NOT_OF_THE_CACHE or value is None:
            continue
        if flags.find(name) is None:
            unknown.append(name)
        else:
            words += _words(name.replace("_", "-"), value)
    return words, unknown


def _words(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, bool):
        yield f"--{name}" if value else f"--no-{name}"
        return
    yield f"--{name}"
    if isinstance(value, (list, tuple)) and all(isinstance(one, (str, int)) for one in value):
        yield from map(str, value)
    else:
        yield json.dumps(value, default=str) if isinstance(value, (dict, list, tuple)) else str(value)
