"""The vLLM that is installed beside kvinspect, asked itself: a catalogue of its own backend and spec classes.

`tools/catalogue.py` asks it, in processes of its own, so that no module of vLLM is ever imported into this one and the
machine needs no device. That takes a minute or two, so the answer is kept in the user's cache folder, by version and
by what the tools are: others might ask for more.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys
import zlib
from functools import cache
from typing import Any

from kvinspect.output.waiting import waiting
from kvinspect.version import __version__

IN_PACKAGE = pathlib.Path(__file__).parent / "tools"
IN_CHECKOUT = pathlib.Path(__file__).parents[2] / "tools"
LIMIT_SECONDS = 900


class NotAsked(Exception):
    """Why an installed vLLM could not be asked, in a line."""


@cache
def version() -> str | None:
    """The version of the vLLM that is installed in this environment, without importing it.

    The names of its metadata folders say it; `importlib.metadata` would take longer than many a plan.
    """
    for folder in sys.path:
        for found in pathlib.Path(folder).glob("vllm-*.dist-info"):
            return found.name.removeprefix("vllm-").removesuffix(".dist-info").partition("+")[0]
    return None


@cache
def catalogue() -> dict[str, Any]:
    """What the installed release's classes answer, as `data/<release>/catalogue.json` holds it.

    Raises NotAsked where there is no vLLM, or it does not let itself be asked.
    """
    found = version()
    if found is None:
        raise NotAsked("no vLLM is installed in this environment")
    path = cache_folder() / f"{found}-kvinspect-{__version__}-{_fingerprint(_tools())}.json"
    if not path.is_file():
        from tempfile import TemporaryDirectory

        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent) as folder:
            asked = _ask(pathlib.Path(folder))
            asked.replace(path)
    answer: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return answer


def cache_folder() -> pathlib.Path:
    """Where answers are kept: `$XDG_CACHE_HOME/kvinspect`, by default `~/.cache/kvinspect`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (pathlib.Path(base) if base else pathlib.Path.home() / ".cache") / "kvinspect" / "installed"


def _tools() -> pathlib.Path:
    """The folder of the tools. Raises NotAsked where there is none."""
    found = next((tools for tools in (IN_PACKAGE, IN_CHECKOUT) if tools.is_dir()), None)
    if found is None:
        raise NotAsked("the tools that query an installed vLLM are not part of this installation")
    return found


def _fingerprint(tools: pathlib.Path) -> str:
    """Another word for other tools."""
    sources = b"".join(path.read_bytes() for path in sorted(tools.glob("*.py")))
    return f"{zlib.crc32(sources):08x}"


def _ask(folder: pathlib.Path) -> pathlib.Path:
    """Have the tool write the catalogue into a folder. Raises NotAsked."""
    import subprocess

    tool = _tools() / "catalogue.py"
    try:
        with waiting("asking the classes of the installed vLLM, up to a minute the first time"):
            done = subprocess.run([sys.executable, tool, folder], capture_output=True, text=True, timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        raise NotAsked(f"the installed vLLM did not answer within {LIMIT_SECONDS} seconds") from None
    written = next(folder.glob("*/catalogue.json"), None)
    if done.returncode or written is None:
        last = (done.stderr.strip().splitlines() or ["nothing was written"])[-1]
        raise NotAsked(f"the installed vLLM {version()} cannot be asked: {last[:300]}")
    return written
