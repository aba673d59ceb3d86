"""The engine's own answers, facts about its backends, and real models' config.json files, packed (`README.md`)."""

import atexit
import json
import lzma
import pathlib
import shutil
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

FOLDER = pathlib.Path(__file__).parent


@cache
def answers(name: str) -> Sequence[Mapping[str, Any]]:
    """The cases of a file under `answers/`, such as `align-0.27.1`: documents with the engine's answers."""
    with lzma.open(FOLDER / "answers" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
        return tuple(json.loads(line) for line in file)


@cache
def facts(name: str) -> Mapping[str, Any]:
    """A file under `facts/`, such as `backends-0.27.1`. Raises FileNotFoundError where it is not there."""
    with lzma.open(FOLDER / "facts" / f"{name}.json.xz", "rt", encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
        return found


def has_facts(name: str) -> bool:
    """Whether there is such a file under `facts/`."""
    return (FOLDER / "facts" / f"{name}.json.xz").is_file()


@cache
def models() -> pathlib.Path:
    """A folder with the real models' config.json files, one `ORGANIZATION__MODEL.json` each; unpacked once a process."""
    return _unpacked() / "hf_configs"


@cache
def drafts() -> pathlib.Path:
    """A folder with a folder for each draft model, its config.json inside."""
    return _unpacked() / "drafts"


@cache
def _unpacked() -> pathlib.Path:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kvinspect-models-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with tarfile.open(FOLDER / "models.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder
