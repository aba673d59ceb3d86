"""Whether the hybrid KV cache manager is off, so that all layers of a model are managed alike."""

from __future__ import annotations

from kvinspect.connectors.configured import Transfer, refused
from kvinspect.models.setting import ModelSetting
from kvinspect.provenance import vllm

READS_HIDDEN_STATES = ("eagle", "eagle3", "mtp", "dflash", "dspark")
"""Ways to draft that read the target's hidden states."""


@vllm("VllmConfig.__post_init__")
def hybrid_manager_is_off(setting: ModelSetting, method: str, transfer: Transfer | None) -> bool:
    """Whether the engine turns it off: for a KV connector that does not know groups, else as the flag says.

    Where no flag says, chunks of attention decide. `method` is how the engine drafts, "" where it does not. Raises
    DocumentError where the flag asks for the manager and the connector does not take it.
    """
    wanted = setting.arguments.disable_hybrid_kv_cache_manager
    if transfer is not None and not transfer.takes_groups:
        if wanted is False:
            raise refused(f"{transfer.name} does not support the hybrid manager, which is requested")
        return True
    return _chunks_forbid_it(setting, method) if wanted is None else wanted


def _chunks_forbid_it(setting: ModelSetting, method: str) -> bool:
    """Whether attention in chunks is drafted from hidden states, or a variable keeps chunks from the manager."""
    denied = setting.arguments.is_off("VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE")
    return setting.shape.attention_chunk_size is not None and (denied or method in READS_HIDDEN_STATES)
