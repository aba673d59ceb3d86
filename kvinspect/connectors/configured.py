"""The KV connector that a call names, and what it asks of the cache.

Follows `VllmConfig._post_init_kv_transfer_config`, `KVTransferConfig.__post_init__` and
`KVConnectorFactory.supports_hma_config` (0.25 to 0.33).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kvinspect.connectors.catalogue import NATIVE, Connector, read
from kvinspect.document.frozen import frozen
from kvinspect.document.limits import MAX_DEPTH
from kvinspect.document.problem import DocumentError, Problem, nearest, shown
from kvinspect.document.refusal import Refused

ROLES = ("kv_both", "kv_consumer", "kv_producer")
SIMPLE = "SimpleCPUOffloadConnector"
OF_BACKEND = {"native": NATIVE, "lmcache": "LMCacheMPConnector"}
"""`--kv-offloading-backend` → the connector."""

ARGUMENTS = frozenset(("kv_transfer_config", "kv-transfer-config", "kv_offloading_size", "kv-offloading-size"))
"""The arguments that name a connector; without one of them there is none."""

SOURCE = "<engine arguments>"


class Transfer(NamedTuple):
    """A connector by its name, with its extra configuration.

    `inner` are the connectors that answer in the place of one that holds others; `known` is what the release says of
    it, None where its class is the user's own.
    """

    name: str
    extra: Mapping[str, Any]
    known: Connector | None
    inner: tuple[Transfer, ...] = ()

    @property
    def ends(self) -> Iterator[Transfer]:
        """The connectors that do the work."""
        if self.known is None or self.known.children is None:
            yield self
        for one in self.inner:
            yield from one.ends

    @property
    def takes_groups(self) -> bool:
        """Whether it works with the hybrid manager; one that holds others does if all of them do and there are some."""
        if self.known is not None and self.known.children is not None:
            return bool(self.inner) and all(one.takes_groups for one in self.inner)
        return self.known is None or self.known.hybrid

    @property
    def in_pieces(self) -> bool:
        """Whether CUDA graphs have to be in pieces."""
        return any(one.known and one.known.piecewise and one.extra.get(one.known.piecewise) for one in self.ends)

    def layout(self, mla: bool) -> str | None:
        """The layout that it requires, None for any. Raises DocumentError where its connectors disagree."""
        layouts = dict.fromkeys(one.known.layouts[mla] for one in self.ends if one.known)
        wanted = [layout for layout in layouts if layout is not None]
        if len(wanted) > 1:
            raise refused(f"its connectors want different layouts: {' and '.join(wanted)}")
        return wanted[0] if wanted else None


def transfer_of(written: Mapping[str, Any], env: Mapping[str, str], version: str) -> Transfer | None:
    """The connector of a call, None where there is none.

    Raises DocumentError for a name or a role that the release does not have.
    """
    given = _of(written, "kv_transfer_config")
    size = _of(written, "kv_offloading_size")
    found = {str(key).replace("-", "_"): value for key, value in given.items()} if isinstance(given, Mapping) else {}
    if size is not None:
        found = _offloading(found, size, written, env)
    elif not isinstance(given, Mapping):
        return None
    return _checked(found, version, 0)


def _offloading(
    found: Mapping[str, Any], size: Any, written: Mapping[str, Any], env: Mapping[str, str]
) -> dict[str, Any]:
    """The configuration that `--kv-offloading-size`, in GiB for all ranks together, makes of one that is written."""
    backend = str(_of(written, "kv_offloading_backend") or "native")
    if backend not in OF_BACKEND:
        near = nearest(backend, OF_BACKEND)
        problem = Problem(("kv_offloading_backend",), expected="native or lmcache", found=shown(backend), nearest=near)
        raise DocumentError([problem._replace(source=SOURCE)])
    extra = dict(found.get("kv_connector_extra_config") or {})
    if backend == "native":
        extra["cpu_bytes_to_use"] = int(_gib(size) * (1 << 30))
    simple = backend == "native" and env.get("VLLM_USE_SIMPLE_KV_OFFLOAD", "0").strip().lower() in ("1", "true")
    name = SIMPLE if simple else OF_BACKEND[backend]
    return {**found, "kv_connector": name, "kv_connector_extra_config": extra, "kv_role": "kv_both"}


def _gib(size: Any) -> float:
    try:
        number = float(str(size))
    except ValueError:
        number = -1.0
    if not 0 <= number < 1 << 30:
        problem = Problem(("kv_offloading_size",), expected="a number of GiB from 0 on", found=shown(size))
        raise DocumentError([problem._replace(source=SOURCE)])
    return number


def _checked(found: Mapping[str, Any], version: str, depth: int) -> Transfer:
    """A configuration as a transfer, those inside it too."""
    name, extra = found.get("kv_connector"), found.get("kv_connector_extra_config") or {}
    if not isinstance(name, str) or not isinstance(extra, Mapping) or depth > MAX_DEPTH:
        raise refused("it names no connector in kv_connector")
    if found.get("kv_role") not in ROLES:
        raise refused(f"kv_role is one of {', '.join(ROLES)}, and it is {shown(found.get('kv_role'))}")
    known, extra = read(version), frozen(extra)
    if found.get("kv_connector_module_path"):
        return Transfer(name, extra, None)
    if name not in known:
        near = nearest(name, known)
        raise refused(f"vLLM {version} has no connector {shown(name)}" + (f"; did you mean {near}?" if near else ""))
    children = extra.get(known[name].children or "") or ()
    inner = [child for child in children if isinstance(child, Mapping)] if isinstance(children, (list, tuple)) else []
    return Transfer(name, extra, known[name], tuple(_checked(child, version, depth + 1) for child in inner))


def check_states(transfer: Transfer, has_states: bool, layout: str | None) -> None:
    """Nothing where the connector moves states as they lie; `layout` is VLLM_SSM_CONV_STATE_LAYOUT.

    Follows `NixlBaseConnectorWorker.__init__` (0.25 to 0.33). Raises Refused.
    """
    if not has_states or layout == "DS":
        return
    name = next((one.name for one in transfer.ends if one.known and one.name.startswith("Nixl")), None)
    if name is not None:
        text = f"{name} moves convolution states with VLLM_SSM_CONV_STATE_LAYOUT=DS only"
        raise Refused("AssertionError", text, function="__init__", kind="state-layout")


def refused(message: str) -> DocumentError:
    """An error of a connector with which the engine would not start."""
    problem = Problem(("kv_transfer_config",), message=f"the engine stops: {message}", source=SOURCE, kind="stopped")
    return DocumentError([problem])


def _of(written: Mapping[str, Any], name: str) -> Any:
    return written.get(name, written.get(name.replace("_", "-")))
