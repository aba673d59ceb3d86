"""Whether a KV connector moves blocks from one engine to another: a prefill instance and a decode instance.

NIXL's rules, as its worker in the decode instance has them when it pulls: `compute_nixl_compatibility_hash` and
`NixlBaseConnectorWorker._validate_remote_agent_handshake` (0.25 to 0.33). What of them a release has is in its
`connectors.json`. Of other connectors nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kvinspect.connectors.catalogue import Nixl, nixl
from kvinspect.document.problem import DocumentError, Problem, nearest, shown

SHORT = {
    "nixl": "NixlConnector", "nixl-push": "NixlPushConnector", "mooncake": "MooncakeConnector",
    "lmcache": "LMCacheConnectorV1", "lmcache-mp": "LMCacheMPConnector", "moriio": "MoRIIOConnector",
}  # fmt: skip
"""Short names of connectors."""

NIXL = ("NixlConnector", "NixlPullConnector")
"""Connectors whose handshake is known: those in which the decode instance pulls."""

CONTIGUOUS = ("HND", "LBHNC", "BLHNC")
"""Layouts in which the heads of a layer's block lie one behind the other."""


SOURCE = "<call>"
"""What the arguments of a call are called in messages."""


class End(NamedTuple):
    """One instance, as the handshake looks at it. Sizes in tokens and bytes, heads of the whole model."""

    hashed: Mapping[str, Any]
    """What goes into the compatibility hash, by the names of its factors."""
    version: str
    ranks: int
    stages: int
    contexts: int
    kv_heads: int
    block_size: int
    """Tokens of a block as the attention kernels see it."""
    blocks_of_one: int
    """Such blocks in a block of the cache."""
    pages: tuple[int, ...]
    """Bytes of such a block in each attention layer."""
    layout: str
    is_mla: bool
    has_states: bool
    several_kinds: bool
    """Whether layers are managed in groups of several kinds."""
    caches_prefixes: bool
    extra: Mapping[str, Any] = {}
    """The connector's extra configuration."""
    permutes: bool = False
    """`enable_permute_local_kv`."""

    @property
    def heads(self) -> int:
        """KV heads of a rank."""
        return max(1, self.kv_heads // self.ranks)


class PairVerdict(NamedTuple):
    """What a connector makes of a pair: None where that is not known, with the reasons."""

    connector: str
    compatible: bool | None
    why: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        return {**self._asdict(), "why": list(self.why)}


def connector_of(word: str, known: Mapping[str, object]) -> str:
    """The connector that a word names. Raises DocumentError for one that the release does not have."""
    name = SHORT.get(word.lower(), word)
    if name not in known:
        expected, near = "a KV connector of the release, e.g. nixl", nearest(word, [*SHORT, *known])
        raise DocumentError(
            [Problem(("connector",), expected=expected, found=shown(word), nearest=near, source=SOURCE)]
        )
    return name


def verdict(connector: str, prefill: End, decode: End) -> PairVerdict:
    """What the connector makes of blocks that `prefill` has written and `decode` is to read."""
    if connector not in NIXL:
        return PairVerdict(connector, None, (f"the handshake of {connector} is not modeled",))
    rules = nixl(decode.version)
    unknown = tuple(_unknown(prefill, decode, rules))
    if decode.extra.get("enforce_handshake_compat", True) is not False:
        differing = tuple(_hash(prefill, decode, rules))
        if differing:
            return PairVerdict(connector, False, (f"the compatibility hashes differ: {'; '.join(differing)}",))
    found = tuple(text for rule in RULES for text in rule(prefill, decode, rules))
    if found:
        return PairVerdict(connector, False, found)
    return PairVerdict(connector, None if unknown else True, unknown or tuple(_notes(prefill, decode)))


def _hash(prefill: End, decode: End, rules: Nixl) -> Iterator[str]:
    for factor in rules.hashed:
        a, b = prefill.hashed.get(factor), decode.hashed.get(factor)
        if a != b:
            yield f"{WORDS.get(factor, factor.replace('_', ' '))} {_said(a)} and {_said(b)}"


def _said(value: Any) -> str:
    if value is None:
        return "none"
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


WORDS = {
    "vllm_version": "vLLM", "attn_backend_name": "attention backend", "is_hma_enabled": "hybrid KV cache manager",
    "cross_layers_blocks": "blocks across layers", "speculative_config": "draft", "transfer_mode": "transfer",
    "num_kv_heads": "KV heads", "num_hidden_layers": "layers",
}  # fmt: skip


def _unknown(prefill: End, decode: End, rules: Nixl) -> Iterator[str]:
    if max(prefill.contexts, decode.contexts) > 1 and not rules.knows_contexts:
        yield "what NIXL does with decode context parallelism is not known before 0.29"
    if prefill.stages > 1:
        yield "NIXL with pipeline stages is not modeled"


def _notes(prefill: End, decode: End) -> Iterator[str]:
    if prefill.ranks != decode.ranks and not decode.is_mla:
        yield f"KV heads are re-sharded from tensor_parallel_size {prefill.ranks} to {decode.ranks}"
    if prefill.block_size != decode.block_size:
        ratio = decode.block_size // prefill.block_size
        yield f"a block of decode is {ratio} blocks of prefill ({decode.block_size} and {prefill.block_size} tokens)"


def _stages(prefill: End, decode: End, rules: Nixl) -> Iterator[str]:
    if decode.stages > 1:
        yield f"decode has {decode.stages} pipeline stages, and NIXL needs 1 there"


def _ranks(prefill: End, decode: End, rules: Nixl) -> Iterator[str]:
    least, most = sorted((prefill.ranks, decode.ranks))
    if most % least:
        yield f"tensor_parallel_size {most} is no multiple of {least}"
    elif decode.ranks < prefill.ranks > prefill.kv_heads and not decode.is_mla and not decode.has_states:
        text = f"prefill's tensor_parallel_size {prefill.ranks} is above its {prefill.kv_heads} KV heads"
        yield f"{text} and above decode's {decode.ranks}"


def _contexts(prefill: End, decode: End, rules: Nixl) -> Iterator[str]:
    least, most = sorted((prefill.contexts, decode.contexts))
    if most % least:
        yield f"decode_context_parallel_size {most} is no multiple of {least}"
    elif most != least and decode.has_states:
        yield f"a hybrid needs one decode_context_parallel_size, not {prefill.contexts} and {decode.contexts}"


def _blocks(prefill: End, decode: End, rules: Nixl) -> Iterator[str]:
    sizes = f"(prefill {prefill.block_size}, decode {decode.block_size} tokens)"
    if decode.block_size % prefill.block_size:
        yield f"decode's block is no multiple of prefill's {sizes}"
    elif decode.block_size != prefill.block_size and decode.several_kinds and not rules.splits_groups:
        yield f"layers in several groups need one block size {sizes}"
    elif decode.block_size != prefill.block_size and prefill.ranks > decode.ranks and not _replicated(prefill, decode):
        yield f"block sizes may differ only where decode has as many ranks as prefill or more {sizes}"
    several = (prefill.blocks_of_one, decode.blocks_of_one)
    if decode.has_states and several[0] != several[1] and decode.caches_prefixes:
        yield f"prefix caching of a hybrid needs as many kernel blocks in a block, not {several[0]} and {several[1]}"


def _layouts(prefill: End, decode: End, rules: Nixl) -> Iterator[str]:
    if decode.is_mla:
        return
    permutes = False
    if prefill.layout != decode.layout:
        permutes = decode.permutes and prefill.layout in ("HND", "LBHNC") and decode.layout in ("NHD", "LBNHC")
        if not permutes:
            yield f"the layouts differ (prefill {prefill.layout}, decode {decode.layout})"
        elif decode.several_kinds:
            yield "enable_permute_local_kv does not go with layers in several groups"
    split = prefill.ranks != decode.ranks and prefill.ranks <= prefill.kv_heads
    if split and decode.layout not in CONTIGUOUS and not permutes:
        yield f"heads are split between ranks, which layout {decode.layout} does not allow"


def _replicated(prefill: End, decode: End) -> bool:
    """Whether each rank holds the same heads."""
    return decode.is_mla or prefill.ranks > prefill.kv_heads


def _nvfp4(prefill: End, decode: End, rules: Nixl) -> Iterator[str]:
    packed = str(decode.hashed.get("cache_dtype", "")).startswith("nvfp4")
    if rules.keeps_nvfp4_whole and packed and not decode.is_mla and prefill.heads != decode.heads:
        yield f"heads of an nvfp4 cache are not re-sharded (prefill {prefill.heads}, decode {decode.heads} a rank)"


def _bytes(prefill: End, decode: End, rules: Nixl) -> Iterator[str]:
    """Blocks have as many bytes as their heads and tokens make them; those with states are compared otherwise."""
    least, most = sorted((prefill.ranks, decode.ranks))
    if decode.has_states or decode.block_size % prefill.block_size or most % least:
        return
    if len(prefill.pages) != len(decode.pages):
        yield f"prefill has {len(prefill.pages)} layers with a cache, decode {len(decode.pages)}"
        return
    ratio, replicated = decode.block_size // prefill.block_size, _replicated(prefill, decode)
    for theirs, own in zip(prefill.pages, decode.pages, strict=True):
        wanted = own // ratio if replicated else own * prefill.heads // decode.heads // ratio
        if theirs != wanted:
            yield f"a block of prefill has {theirs} bytes, and {wanted} would be those of decode's heads"
            return


Rule = Callable[[End, End, Nixl], Iterator[str]]
RULES: tuple[Rule, ...] = (_stages, _ranks, _contexts, _blocks, _layouts, _nvfp4, _bytes)
