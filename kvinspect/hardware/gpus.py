"""GPUs by name: the memory that their driver reports, their platform and their compute capability."""

from __future__ import annotations

import difflib
import json
import pathlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from kvinspect.document.limits import MAX_GPU_WORD, MAX_RANKS
from kvinspect.document.problem import shortened
from kvinspect.hardware.gpu import Gpu

LOCAL = "local"
"""The word for the GPUs of this machine."""

_COUNTED = re.compile(r"([0-9]{1,6}) *[x×*] *(.+)")
_COUNTED_BEHIND = re.compile(r"(.+?) *(?::| [x×*]) *([0-9]{1,6})")
_SIZED = re.compile(r"(.*[0-9a-z])[ _-]+([0-9]{1,3}) ?gi?b?")
_VENDORS = re.compile(r"nvidia|geforce|tesla|amd|instinct|quadro|graphics")
_PREFIXES = re.compile(r"^(?:rtx|rx)")


class Gpus(NamedTuple):
    """So many GPUs of one kind; `counted` says whether the number was given."""

    number: int
    gpu: Gpu
    counted: bool = False


@cache
def known_gpus() -> tuple[Gpu, ...]:
    """Every GPU that kvinspect knows by name."""
    data = json.loads((pathlib.Path(__file__).parent / "gpus.json").read_text(encoding="utf-8"))
    return tuple(_gpu(row, data["sources"]) for row in data["gpus"])


def _gpu(row: Mapping[str, Any], sources: Mapping[str, str]) -> Gpu:
    return Gpu(
        name=row["name"],
        memory=round(row["memory_gib"] * (1 << 30)),
        platform=row["platform"],
        capability=row["capability"],
        source=sources[row["source"]],
        gfx=row.get("gfx", ""),
        unified=row.get("unified", False),
        aliases=tuple(row.get("aliases", ())),
    )


def parse_gpus(text: str) -> Gpus:
    """The GPUs that a text such as `2xH100`, `rtx4090`, `A100-40GB` or `local` names.

    Raises ValueError for a name that is not known, with the nearest one, and for a number that is out of range.

    >>> parse_gpus("8xMI300X").number, parse_gpus("nvidia rtx4090").gpu.name, parse_gpus("A100-40GB").gpu.gib
    (8, 'RTX 4090', 39.39)
    """
    text = text.strip()
    if len(text) > MAX_GPU_WORD:
        raise ValueError(f"expected the name of a GPU of at most {MAX_GPU_WORD} characters, found {len(text):,}")
    count, name = _split(text)
    if not 0 < (1 if count is None else count) <= MAX_RANKS:
        raise ValueError(f"expected 1 to {MAX_RANKS:,} GPUs, found {count:,}")
    if name.lower() == LOCAL:
        from kvinspect.hardware.local import local_gpus

        found = local_gpus()
        return Gpus(found.number if count is None else count, found.gpu, counted=True)
    return Gpus(1 if count is None else count, find_gpu(name), counted=count is not None)


def _split(text: str) -> tuple[int | None, str]:
    """(number, name) of `2xH100`, `H100:2` or `H100 x2`; the number is None where none is given."""
    if match := _COUNTED.fullmatch(text):
        return int(match[1]), match[2]
    if match := _COUNTED_BEHIND.fullmatch(text):
        return int(match[2]), match[1]
    return None, text


def find_gpu(name: str) -> Gpu:
    """The GPU of a name, however it is spelled. Raises ValueError with the nearest name where it is not known."""
    by_key = _by_key()
    key = _key(name)
    found = by_key.get(key) or next(_of_size(name), None)
    if found is not None:
        return found
    near = difflib.get_close_matches(key, by_key, n=1, cutoff=0.0)
    hint = f"; the nearest name is {by_key[near[0]].name}" if near else ""
    raise ValueError(
        f'unknown GPU "{shortened(name, 60)}"{hint}. `kvinspect gpus` lists the known ones; for any other give '
        "--gpu-memory, --platform and --device-capability"
    )


@cache
def _by_key() -> Mapping[str, Gpu]:
    found: dict[str, Gpu] = {}
    for gpu in known_gpus():
        for name in (gpu.name, *gpu.aliases):
            found.setdefault(_key(name), gpu)
    return found


def _key(name: str) -> str:
    """A name without its vendor, its spaces and its case."""
    return _PREFIXES.sub("", re.sub(r"[^0-9a-z+]", "", _VENDORS.sub("", name.lower()))) or name.lower()


def _of_size(name: str) -> Iterator[Gpu]:
    """GPUs whose name is followed by the size on their data sheet, of which drivers report a little less."""
    match = _SIZED.fullmatch(name.lower().strip())
    if not match:
        return
    base, size = _key(match[1]), int(match[2])
    for gpu in known_gpus():
        sized = _SIZED.fullmatch(gpu.name.lower())
        alike = base in (_key(gpu.name), _key(sized[1]) if sized else None)
        if alike and 0.9 * size <= gpu.memory / (1 << 30) <= size:
            yield gpu
