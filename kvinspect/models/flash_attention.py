"""Which FlashAttention a layer gets on CUDA (`get_flash_attn_version`)."""

from __future__ import annotations

from kvinspect.models.setting import ModelSetting

SUPPORTED = {2: (8, 9, 10, 11, 12), 3: (9,), 4: (9, 10, 11)}
"""Version → families of compute capability that it is built for."""


def flash_attention_version(setting: ModelSetting, head_size: int) -> int | None:
    """The version for a head size in elements (0: whatever the size), None where none runs."""
    family = int((setting.capability or "0").split(".")[0])
    version = {9: 3, 10: 4}.get(family, 2)
    if setting.flash_attn_version is not None:
        version = setting.flash_attn_version
    if family >= 10 and version == 3:
        version = 4 if family in SUPPORTED[4] else 2
    if version == 3 and family == 9 and head_size > 256:
        version = 4
    if version == 4 and family >= 10 and head_size > 128 and head_size != setting.rules.large_head_of_flash_attention_4:
        version = 2
    return version if family in SUPPORTED.get(version, ()) else None
