"""What Hugging Face's tools have downloaded to this machine before."""

from __future__ import annotations

import os
import pathlib
import re

from kvinspect.document.files import is_file

_REVISION = re.compile(r"[\w.-]{1,100}")


def cache_folder() -> pathlib.Path:
    """Where Hugging Face's tools keep what they have downloaded."""
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "huggingface"
    )
    return pathlib.Path(os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or f"{home}/hub")


def snapshot(name: str, wanted: str) -> pathlib.Path | None:
    """The folder of a hub id's downloaded main revision that has the file `wanted`, None where there is none."""
    folder = cache_folder() / f"models--{name.replace('/', '--')}"
    try:
        revision = (folder / "refs" / "main").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    found = folder / "snapshots" / revision
    return found if _REVISION.fullmatch(revision) and is_file(found / wanted) else None
