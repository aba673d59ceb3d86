"""How many bytes a model's weights take, read off the files in its folder without reading a weight."""

from __future__ import annotations

import json
import pathlib
from typing import NamedTuple

from kvinspect.output import inputs

INDEX = "model.safetensors.index.json"
MAX_HEADER = 100_000_000
"""Bytes; the format's own bound for a header."""


class Weights(NamedTuple):
    """Bytes of all weights, and the file or files that say so."""

    size: int
    source: str


def weights_of(folder: pathlib.Path) -> Weights | None:
    """The weights in a folder: of an index the total that it names, else what the files' headers add up to.

    None where there is neither. Raises ValueError where a header is none.
    """
    index = folder / INDEX
    if index.is_file():
        total = _total(index)
        if total is not None:
            return Weights(total, INDEX)
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        return None
    name = files[0].name if len(files) == 1 else f"{len(files)} safetensors files"
    return Weights(sum(_data_bytes(file) for file in files), f"the header of {name}")


def _total(index: pathlib.Path) -> int | None:
    try:
        inputs.note(index)
        total = json.loads(index.read_text(encoding="utf-8"))["metadata"]["total_size"]
    except (ValueError, KeyError, TypeError):
        return None
    return int(total) if isinstance(total, (int, float)) and 0 < total < 1 << 60 else None


def _data_bytes(file: pathlib.Path) -> int:
    """Bytes of the tensors of a file: where its last one ends."""
    inputs.note(file)
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= MAX_HEADER:
            raise ValueError(f"{file.name} is no safetensors file: its header would have {length} bytes")
        text = stream.read(length)
    try:
        header = json.loads(text)
        ends = [int(entry["data_offsets"][1]) for name, entry in header.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise ValueError(f"{file.name} is no safetensors file: its header cannot be read") from None
    if not ends:
        raise ValueError(f"{file.name} holds no tensors")
    return max(ends)
