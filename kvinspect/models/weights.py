"""How many bytes a model's weights take, read off the files in its folder without reading a weight.

Nothing is parsed: patterns find the numbers in one pass, however the JSON around them is nested.
"""

from __future__ import annotations

import pathlib
import re
from itertools import islice
from typing import NamedTuple

from kvinspect.document.files import is_file, opened
from kvinspect.document.limits import MAX_WEIGHT_FILES, MAX_WEIGHT_HEADERS, MAX_WEIGHT_INDEX_BYTES

INDEX = "model.safetensors.index.json"
_TOTAL = re.compile(rb'"metadata"\s*:\s*\{[^{}]*"total_size"\s*:\s*(\d{1,18})(?:\.\d{1,9})?\s*[,}]')
_END = re.compile(rb'"data_offsets"\s*:\s*\[\s*\d{1,18}\s*,\s*(\d{1,18})\s*\]')


class Weights(NamedTuple):
    """Bytes of all weights, and the file or files that say so."""

    size: int
    source: str


def weights_of(folder: pathlib.Path) -> Weights | None:
    """The weights in a folder: of an index the total that it names, else what the files' headers add up to.

    None where there is neither. Raises ValueError where a header is none, or where a limit is passed.
    """
    index = folder / INDEX
    if is_file(index):
        total = _total(index)
        if total is not None:
            return Weights(total, INDEX)
    files = sorted(islice(folder.glob("*.safetensors"), MAX_WEIGHT_FILES + 1))
    if not files:
        return None
    if len(files) > MAX_WEIGHT_FILES:
        raise ValueError(f"expected at most {MAX_WEIGHT_FILES} safetensors files in a folder, found more")
    name = files[0].name if len(files) == 1 else f"{len(files)} safetensors files"
    size, left = 0, MAX_WEIGHT_HEADERS
    for file in files:
        header = _header(file, left)
        size, left = size + data_bytes(file.name, header), left - len(header)
    return Weights(size, f"the header of {name}")


def _total(index: pathlib.Path) -> int | None:
    try:
        with opened(index) as stream:
            text = stream.read(MAX_WEIGHT_INDEX_BYTES + 1)
    except (OSError, ValueError):
        return None
    if len(text) > MAX_WEIGHT_INDEX_BYTES:
        raise ValueError(f"{INDEX}: expected at most {MAX_WEIGHT_INDEX_BYTES} bytes, found more")
    return total_in(text)


def total_in(text: bytes) -> int | None:
    """The bytes of all tensors that an index, or a part of one, names; None where it names none."""
    found = _TOTAL.search(text)
    return int(found[1]) or None if found else None


def _header(file: pathlib.Path, limit: int) -> bytes:
    """The text before the tensors. Raises ValueError for a file that has none, or too much of it."""
    try:
        with opened(file) as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > limit:
                raise ValueError(
                    f"its header would have {length} bytes, and those of a folder have at most {MAX_WEIGHT_HEADERS}"
                )
            return stream.read(length)
    except (OSError, ValueError) as error:
        raise ValueError(f"{file.name} is no safetensors file: {error}") from None


def data_bytes(name: str, header: bytes) -> int:
    """Bytes of the tensors of a file: where its last one ends. Raises ValueError for a header that names none."""
    ends = [int(found[1]) for found in _END.finditer(header)]
    if not ends:
        raise ValueError(f"{name} is no safetensors file: its header names no tensors")
    return max(ends)
