"""Which release makes specs how; no other module of this room asks for a version."""

from __future__ import annotations

from kvinspect.models.rules import Rules

_0_25 = Rules(latent_alignment=1, kimi_latent=".attn")
_0_27 = Rules()
_RULES = {"0.25": _0_25, "0.26": _0_25}


def rules(release: str) -> Rules:
    """The rules of a release by its major and minor number."""
    return _RULES.get(release, _0_27)
