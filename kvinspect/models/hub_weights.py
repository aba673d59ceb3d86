"""How many bytes a model's weights take, asked of the hub: an index's total, a file's header, or its own count."""

from __future__ import annotations

import re

from kvinspect.document.limits import MAX_WEIGHT_HEADERS
from kvinspect.models.hub_files import HubFiles, NotGiven
from kvinspect.models.weights import INDEX, Weights, data_bytes, total_in
from kvinspect.output.waiting import waiting

FIRST = 1 << 16
"""Bytes of a file that the first request about it asks for; the headers of most small models are shorter."""

SINGLE = "model.safetensors"
_COUNTS = re.compile(rb'"parameters"\s*:\s*\{([^{}]{1,4000})\}')
_COUNT = re.compile(rb'"([A-Z]+[0-9A-Z_]*)"\s*:\s*(\d{1,18})(?=\s*(?:,|$))')
BYTES = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2}
"""dtype of safetensors → bytes of an element; one that is missing has one byte."""


def hub_weights(name: str) -> Weights:
    """The weights of a hub id, of which no weight is downloaded. Raises NotGiven."""
    files = HubFiles(name)
    with waiting(f"asking the Hugging Face Hub for the weights of {name}"):
        for ask in (_of_index, _of_header, _of_facts):
            try:
                found = ask(files)
            except NotGiven as error:
                if error.code != 404:
                    raise
                continue
            if found is not None:
                return found
    raise NotGiven("the Hugging Face Hub names no safetensors files of it")


def _of_index(files: HubFiles) -> Weights | None:
    """The total stands at the beginning of an index, or at its end."""
    first = files.part(INDEX, 0, FIRST)
    total = total_in(first.data)
    return Weights(total, f"{INDEX} on the hub") if total else None


def _of_header(files: HubFiles) -> Weights | None:
    first = files.part(SINGLE, 0, FIRST)
    size = int.from_bytes(first.data[:8], "little")
    if size > MAX_WEIGHT_HEADERS:
        raise NotGiven(f"the header of its {SINGLE} would have {size} bytes")
    header = first.data[8 : 8 + size]
    if len(header) < size:
        rest = files.part(SINGLE, len(first.data), size - len(header))
        if not rest.is_part:
            return None
        header += rest.data
    try:
        return Weights(data_bytes(SINGLE, header), f"the header of {SINGLE} on the hub")
    except ValueError as error:
        raise NotGiven(str(error)) from None


def _of_facts(files: HubFiles) -> Weights | None:
    """What the hub has counted: elements of each dtype."""
    counts = _COUNTS.search(files.facts("safetensors"))
    size = sum(int(many) * BYTES.get(dtype.decode(), 1) for dtype, many in _COUNT.findall(counts[1])) if counts else 0
    return Weights(size, "the parameters that the hub counts") if size else None
