"""Where a model's config.json is: a file or folder here, or on the hub."""

from __future__ import annotations

import os
import pathlib
import re

from kvinspect.document.files import is_file, is_folder
from kvinspect.document.problem import shortened

CONFIG = "config.json"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


class NotFound(ValueError):
    """A name that is neither here nor on the hub, or that the hub could not be asked about."""


def located(name: str, folder: pathlib.Path | None = None, named_by: str = "") -> pathlib.Path:
    """The config.json that a name stands for: itself, in the folder of that name, or fetched from the hub.

    Names that lead nowhere are looked up below `folder` as well. A name that a file says (`named_by`) is never fetched:
    only the command line may cause network access. Raises NotFound.
    """
    for path in (pathlib.Path(name), *([folder / name] if folder else [])):
        if is_folder(path):
            if not is_file(path / CONFIG):
                raise NotFound(f"the folder {name} has no {CONFIG}")
            return path / CONFIG
        if is_file(path):
            return path
    if not _HUB_ID.fullmatch(name):
        raise NotFound(f"there is no file or folder {shortened(name)}")
    if named_by:
        raise NotFound(
            f"{name}, the model of {named_by}, is not found locally, and only a model on the command line is fetched "
            f"from the Hugging Face Hub: kvinspect plan {name} --config {named_by}"
        )
    return _fetched(name)


def here(name: str, beside: str) -> pathlib.Path | None:
    """The config.json that a name stands for on this machine, looked up beside a file as well; None where it is not."""
    for path in (pathlib.Path(name), pathlib.Path(beside).parent / name) if name else ():
        found = path / CONFIG if is_folder(path) else path
        if is_file(found) and found.suffix == ".json":
            return found
    return None


def _fetched(name: str) -> pathlib.Path:
    here = f"{name} is no file or folder here"
    instead = f"give the path of its {CONFIG} instead"
    try:
        from huggingface_hub import hf_hub_download  # type: ignore[import-not-found]
    except ImportError:
        raise NotFound(
            f"{here}, and huggingface_hub, which could fetch it, is not installed; install it, or {instead}"
        ) from None
    try:
        return pathlib.Path(hf_hub_download(name, CONFIG, token=os.environ.get("HF_TOKEN")))
    except Exception as error:
        raise NotFound(f"{here}, and the hub does not give it ({type(error).__name__}); {instead}") from None
