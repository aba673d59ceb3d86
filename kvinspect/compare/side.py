"""One of the two caches: what align, cg-support and, for a planning document, plan answer about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kvinspect.compare.contents import BlockContent, Subject, content_of
from kvinspect.document.document import Document
from kvinspect.engine.answer import AlignAnswer, LayerAnswer, Setting
from kvinspect.engine.cache import Cache, build_groups
from kvinspect.engine.cudagraph.answer import CGSupportAnswer
from kvinspect.engine.cudagraph.run import cg_support_document
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.refusal import Refused
from kvinspect.engine.releases import Release
from kvinspect.engine.run import align_document
from kvinspect.engine.specs import LATENT, AttentionSpec, LayerSpec, MambaSpec
from kvinspect.planning.answer import PlanAnswer

FNUZ = ("rocm", "9.4")
"""Where fp8 is the fnuz variant: `RocmPlatform.is_fp8_fnuz`."""


@dataclass
class Side:
    """A document under the rules of a release, with its answers."""

    setting: Setting
    document: Document | None = None
    aligned: AlignAnswer | None = None
    graphs: CGSupportAnswer | None = None
    plan: PlanAnswer | None = None
    cache: Cache | None = None
    layers: dict[str, Layer] = field(default_factory=dict)

    @property
    def refusal(self) -> Refused | None:
        """What stops the engine before there are views."""
        if self.plan is not None and self.plan.refusal is not None:
            return self.plan.refusal
        return self.aligned.refusal if self.aligned else None

    @property
    def name(self) -> str:
        """What the side is called where the other is another document or another release."""
        return self.setting.source


@dataclass
class Layer:
    """A layer of a side."""

    answer: LayerAnswer
    spec: LayerSpec
    side: Side
    target: str
    """The layer whose cache it uses, itself where it has one of its own."""

    @property
    def tokens(self) -> int:
        """Tokens of a block of the block manager."""
        return self.spec.block_size

    @property
    def format(self) -> str:
        """What an element is: its dtype, or what a quantised cache keeps in one."""
        if isinstance(self.spec, MambaSpec):
            return " and ".join(self.spec.dtypes)
        dtype, word = self.spec.dtype, self._word
        if dtype not in ("uint8", "int8") or word == "auto":
            return dtype
        setting = self.side.setting
        fnuz = "uz" if (setting.platform, setting.device_capability) == FNUZ else ""
        named = {"fp8": f"float8_e4m3fn{fnuz}", "fp8_e4m3": f"float8_e4m3fn{fnuz}", "fp8_e5m2": "float8_e5m2"}
        return named.get(word, word)

    @property
    def _word(self) -> str:
        assert isinstance(self.spec, AttentionSpec) and self.side.document is not None
        return self.spec.cache_dtype_str or self.side.document.model.cache_dtype

    @property
    def is_latent(self) -> bool:
        """Whether every rank holds the same, since there is one latent head."""
        return isinstance(self.spec, AttentionSpec) and self.spec.kind in LATENT

    def content(self) -> BlockContent:
        """What lies where in a block. Raises Untold, and Intricate. The layer has a view."""
        assert self.answer.view is not None and self.side.cache is not None
        cache, spec, dtype = self.side.cache, self.spec, "auto"
        if isinstance(spec, AttentionSpec):
            dtype = cache.release.reshape.cache_dtype_of(spec, cache.document.model.cache_dtype)
        backend, _ = cache.layer_backends.of(self.target)
        return content_of(Subject(self.answer.view, spec, backend, self.format, dtype))

    def facts(self) -> dict[str, Any]:
        """What is compared of the layer, as `align` prints it."""
        row = {key: value for key, value in self.answer.to_dict().items() if key not in ("layer_name", "stride_before")}
        return {"block_size": self.tokens, "format": self.format, **row}


def side_of(document: Document, release: Release, setting: Setting, plan: PlanAnswer | None = None) -> Side:
    """The answers for a document that has a KV cache. Raises Unknown for a name that nobody knows."""
    aligned = align_document(document, release, setting)
    graphs = cg_support_document(document, release, setting)
    side = Side(aligned.setting, document, aligned, graphs, plan)
    if aligned.layers:
        cache = side.cache = Cache.of(document, release, setting.num_blocks)
        build_groups(cache)
        rows = {layer.layer_name: layer for layer in aligned.layers}
        side.layers = {
            name: Layer(rows[name], group.spec_of(name), side, document.shared.get(name, name))
            for group in cache.groups
            for name in _names(group)
            if name in rows
        }
    return side


def _names(group: KVCacheGroup) -> tuple[str, ...]:
    return (*group.layer_names, *group.sharing)
