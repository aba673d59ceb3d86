"""The connectors that each release has, `connectors.json`, written by `tools/connectors.py`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from kvinspect.data.catalogue import read_file

NATIVE = "OffloadingConnector"
"""The connector of `--kv-offloading-size`."""


class Connector(NamedTuple):
    """What a connector asks of the cache.

    `hybrid`: it takes groups of blocks (`SupportsHMA`). `layouts` are those that it requires for models without and
    with MLA. Under the `piecewise` key of its extra configuration, CUDA graphs have to be in pieces. Under `children`
    stand the connectors that answer in its place.
    """

    hybrid: bool
    layouts: tuple[str | None, str | None]
    piecewise: str | None
    children: str | None


@cache
def read(version: str) -> Mapping[str, Connector]:
    """The connectors of a release, by the names that `--kv-transfer-config` has for them."""
    found = read_file(version, "connectors")["connectors"]
    return {name: _connector(row) for name, row in found.items()}


def _connector(row: Mapping[str, object]) -> Connector:
    layouts = row.get("layout")
    pair = (layouts.get("plain"), layouts.get("mla")) if isinstance(layouts, Mapping) else (None, None)
    piecewise, children = row.get("piecewise"), row.get("children")
    return Connector(
        bool(row["hybrid"]), pair, str(piecewise) if piecewise else None, str(children) if children else None
    )


class Nixl(NamedTuple):
    """What a release's NIXL handshake compares."""

    hashed: tuple[str, ...]
    """Factors of the compatibility hash."""
    knows_contexts: bool
    """Whether ranks of decode context parallelism are compared."""
    splits_groups: bool
    """Whether layers in several groups may have blocks of another size than the other side's."""
    keeps_nvfp4_whole: bool
    """Whether heads of an nvfp4 cache are not re-sharded."""


@cache
def nixl(version: str) -> Nixl:
    """The handshake of a release's NIXL connector."""
    row = read_file(version, "connectors")["nixl"]
    return Nixl(**{**row, "hashed": tuple(row["hashed"])})
