"""The configurations that several flags write together: drafts and CUDA graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvinspect.document.problem import DocumentError, Problem
from kvinspect.models.given import SOURCE

SPECULATIVE = {"spec_method": "method", "spec_model": "model", "spec_tokens": "num_speculative_tokens"}
"""Flags that set one key of `--speculative-config`."""

GRAPHS = {
    "cudagraph_capture_sizes": "cudagraph_capture_sizes",
    "max_cudagraph_capture_size": "max_cudagraph_capture_size",
}
"""Flags that set one key of `--compilation-config`."""

GRAPHS_OF_LEVEL = {"0": "NONE", "1": "PIECEWISE"}
"""`-O` → the mode of CUDA graphs where nobody names one; higher levels have the release's own."""


def speculative(written: Mapping[str, Any]) -> dict[str, Any] | None:
    """`--speculative-config` with what single flags say of it, None where nothing does.

    Raises DocumentError for a key that both say.
    """
    return _joined(written, "speculative_config", SPECULATIVE)


def compilation(written: Mapping[str, Any]) -> dict[str, Any] | None:
    """`--compilation-config` with what single flags and `-O` say of it, None where nothing does.

    Raises DocumentError for a key that both say.
    """
    found = _joined(written, "compilation_config", GRAPHS)
    mode = GRAPHS_OF_LEVEL.get(str(_of(written, "optimization_level")))
    return {"cudagraph_mode": mode, **(found or {})} if mode else found


def kernels(written: Mapping[str, Any]) -> dict[str, Any]:
    """Of `--kernel-config` what a document says of it."""
    given = _joined(written, "kernel_config", {}) or {}
    return {key: given[key] for key in ("enable_jit_warmup",) if key in given}


def _joined(written: Mapping[str, Any], name: str, flags: Mapping[str, str]) -> dict[str, Any] | None:
    given = _of(written, name)
    found = {str(key).replace("-", "_"): value for key, value in given.items()} if isinstance(given, Mapping) else {}
    said = {flag: key for flag, key in flags.items() if _of(written, flag) is not None}
    for flag, key in said.items():
        if found.get(key) is not None:
            shown = f"--{flag.replace('_', '-')}"
            message = f"{shown} and {key} of --{name.replace('_', '-')} are not taken together"
            raise DocumentError([Problem((flag,), message=message, source=SOURCE, kind="stopped")])
    found |= {key: _of(written, flag) for flag, key in said.items()}
    return found or None


def _of(written: Mapping[str, Any], name: str) -> Any:
    return written.get(name, written.get(name.replace("_", "-")))
