"""Where a model's config.json is: a file or folder here, the hub's cache, the bundled facts, or the hub itself."""

from __future__ import annotations

import pathlib
import re
from typing import TYPE_CHECKING, NamedTuple

from kvinspect.document.files import is_file, is_folder
from kvinspect.document.problem import shortened
from kvinspect.models.hub_cache import snapshot
from kvinspect.output.waiting import waiting

if TYPE_CHECKING:
    from kvinspect.bundled.lookup import NamedConfig
    from kvinspect.models.hub_files import HubFiles

CONFIG = "config.json"
QUANTIZATION = "hf_quant_config.json"
"""What ModelOpt wrote beside it in place of its quantization_config."""

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


class NotFound(ValueError):
    """A name that is neither here nor on the hub, or that the hub could not be asked about."""


class Located(NamedTuple):
    """Where a model is: a config.json here, or the text of one that is not a file; `source` where it has to be said."""

    path: pathlib.Path | None = None
    config: NamedConfig | None = None
    source: str = ""
    weights: pathlib.Path | None = None
    """The folder of the weights, where it is another one."""
    hub_id: str = ""
    """The name under which the hub has it, where it was asked about it."""

    @property
    def name(self) -> str:
        """The path, or the model's name."""
        return str(self.path) if self.path else self.config.name if self.config else ""

    @property
    def folder(self) -> pathlib.Path | None:
        """The folder that may hold the weights."""
        return self.weights or (self.path.parent if self.path else None)


def located(name: str, folder: pathlib.Path | None = None, named_by: str = "") -> Located:
    """The config.json that a name stands for: a file or folder, the hub's cache, the bundled facts, or the hub's.

    Names that lead nowhere are looked up below `folder` as well. A name that a file says (`named_by`) is never fetched:
    only the command line may cause network access. Raises NotFound.
    """
    found = _on_this_machine(name, folder) or _bundled(name)
    if found:
        return found
    from kvinspect.bundled.lookup import near_name

    near = near_name(name)
    hint = f"; did you mean {near}? `kvinspect models` lists those that need no network" if near else ""
    if not _HUB_ID.fullmatch(name) or name.lower().endswith((".json", ".yaml", ".yml")):
        raise NotFound(f"there is no file or folder {shortened(name)}{hint}")
    if named_by:
        raise NotFound(
            f"{name}, the model of {named_by}, is not found locally, and only a model on the command line is fetched "
            f"from the Hugging Face Hub: kvinspect plan {name} --config {named_by}"
        )
    return _fetched(name, hint)


def here(name: str) -> Located | None:
    """What `located` finds without network; a name that is no hub id is a path alone. Raises NotFound."""
    found = _on_this_machine(name, None)
    return found or (_bundled(name) if _HUB_ID.fullmatch(name) else None)


def _on_this_machine(name: str, folder: pathlib.Path | None) -> Located | None:
    for path in (pathlib.Path(name), *([folder / name] if folder else [])):
        if is_folder(path):
            if not is_file(path / CONFIG):
                raise NotFound(f"the folder {name} has no {CONFIG}")
            return Located(path / CONFIG)
        if is_file(path):
            return Located(path)
    cached = snapshot(name, CONFIG) if _HUB_ID.fullmatch(name) else None
    return Located(cached / CONFIG, source="the Hugging Face cache of this machine") if cached else None


def _bundled(name: str) -> Located | None:
    from kvinspect.bundled.lookup import Ambiguous, bundled

    try:
        found = bundled(name)
    except Ambiguous as error:
        raise NotFound(f"{name}: {error}") from None
    return Located(config=found, source=found.source) if found else None


def local_config(name: str, beside: str) -> pathlib.Path | None:
    """The config.json that a name stands for on this machine, looked up beside a file as well; None where it is not."""
    for path in (pathlib.Path(name), pathlib.Path(beside).parent / name) if name else ():
        found = path / CONFIG if is_folder(path) else path
        if is_file(found) and found.suffix == ".json":
            return found
    return None


def _fetched(name: str, hint: str = "") -> Located:
    """The config.json of a hub id, and what ModelOpt wrote beside it. Raises NotFound where there is none."""
    from kvinspect.bundled.lookup import NamedConfig
    from kvinspect.models.hub_files import HubFiles, NotGiven

    files = HubFiles(name)
    try:
        with waiting(f"asking the Hugging Face Hub for {CONFIG} of {name}"):
            text = files.text(CONFIG)
            beside = "" if '"quantization_config"' in text else _optional(files, QUANTIZATION)
    except NotGiven as error:
        instead = f"give the path of its {CONFIG}, or --like and a similar model{hint}"
        raise NotFound(f"{name} is not found locally, and {error}; {instead}") from None
    source = f"{CONFIG} of {name} on the Hugging Face Hub"
    return Located(config=NamedConfig(name, text, "", beside), source=source, hub_id=name)


def _optional(files: HubFiles, file: str) -> str:
    """The text of a file that few models have, empty where this one has none."""
    from kvinspect.models.hub_files import NotGiven

    try:
        return files.text(file)
    except NotGiven as error:
        if error.code != 404:
            raise
        return ""
