"""KV003: a backend or group that nothing uses."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import WARNING, Found, Rule
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Backends of the document that no layer has, and groups without layers."""
    model = subject.document.model
    used = {use.backend for use in subject.document.uses.values()}
    used |= {group.backend for group in model.encoder_attention_groups}
    used |= {spec.backend for spec in (model.kv_cache_specs or {}).values() if spec.backend}
    for name in model.backends:
        if name not in used:
            yield Found(
                ("backends", name), f"no layer uses the backend {name}; remove it or assign it to a group", at_key=True
            )
    for group in subject.document.groups:
        if not group.layer_names:
            yield Found(group.path, f"KV cache group {group.id} has no layers; remove it", at_key=True)
    for i, attention in enumerate(model.attention_groups or []):
        if not attention.layer_names:
            yield Found(("attention_groups", i), "this group has no layers; remove it")
    for i, encoder in enumerate(model.encoder_attention_groups):
        if not encoder.layer_names:
            yield Found(("encoder_attention_groups", i), "this group has no layers; remove it")


RULE = Rule("KV003", "unused-entry", WARNING, "a backend or group that nothing uses", check)
