"""Every name of a document that the release does not know, found before anything is worked out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from kvinspect.backends.backend import Backends
from kvinspect.document.document import Document
from kvinspect.document.model import SpecEntry
from kvinspect.document.problem import Path, nearest
from kvinspect.document.refusal import Unknown
from kvinspect.engine.release import EngineRelease


def unknown_names(document: Document, release: EngineRelease, backends: Backends) -> Iterator[Unknown]:
    """The cache dtype, backends and words of specs that are not known, in the order of the model's fields."""
    yield from _cache_dtype(document, release)
    known = backends.names
    for path, name in _named_backends(document):
        if name not in known:
            expected = f"a backend of vLLM {release.version} or of the document's backends"
            yield Unknown(path, name, expected, nearest(name, known), "unknown-backend")
    for path, entry in _specs(document):
        yield from _spec_words(path, entry, release)


def _cache_dtype(document: Document, release: EngineRelease) -> Iterator[Unknown]:
    word, known = document.model.cache_dtype, [*release.catalogue["cache_dtypes"], "half", "float"]
    if word not in known:
        expected = f"a --kv-cache-dtype of vLLM {release.version}: {', '.join(known)}"
        yield Unknown(("cache_dtype",), word, expected, nearest(word, known), "unknown-dtype")


def _named_backends(document: Document) -> Iterator[tuple[Path, str]]:
    model = document.model
    for group in document.groups:
        entry = model.kv_cache_config.kv_cache_groups[group.id] if model.kv_cache_config else None
        if entry and entry.backend is not None:
            yield (*group.path, "backend"), entry.backend
    for i, attention in enumerate(model.attention_groups or []):
        yield ("attention_groups", i, "backend"), attention.backend
    for i, encoder in enumerate(model.encoder_attention_groups):
        yield ("encoder_attention_groups", i, "backend"), encoder.backend
    for path, spec in _specs(document):
        if spec.backend is not None:
            yield (*path, "backend"), spec.backend


def _specs(document: Document) -> Iterator[tuple[Path, SpecEntry]]:
    model = document.model
    for group in document.groups:
        path = (*group.path, "kv_cache_spec")
        yield path, group.spec
        yield from (((*path, "kv_cache_specs", key), spec) for key, spec in (group.spec.kv_cache_specs or {}).items())
    for i, encoder in enumerate(model.encoder_attention_groups):
        if encoder.kv_cache_spec:
            yield ("encoder_attention_groups", i, "kv_cache_spec"), encoder.kv_cache_spec
    yield from ((("kv_cache_specs", key), spec) for key, spec in (model.kv_cache_specs or {}).items())


def _spec_words(path: Path, spec: SpecEntry, release: EngineRelease) -> Iterator[Unknown]:
    for field in ("kv_quant_mode", "mamba_type"):
        word = getattr(spec, field)
        if isinstance(word, str) and word not in _words(release, field):
            known = _words(release, field)
            yield Unknown((*path, field), word, f"one of {', '.join(known)}", nearest(word, known), "unknown-word")


@cache
def _words(release: EngineRelease, field: str) -> tuple[str, ...]:
    if field == "kv_quant_mode":
        return tuple(release.catalogue["kv_quant_modes"])
    return tuple(entry["mamba_type"] for entry in release.catalogue["backends"].values() if "mamba_type" in entry)
