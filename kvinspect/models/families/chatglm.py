"""ChatGLM 2 and 3, GLM-4 and GLM-4V in their first form."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("ChatGLMForCausalLM", "GLM4VForCausalLM")


def layers(scope: Scope) -> Iterator[Layer]:
    """KV heads are `multi_query_group_num` where the model has groups."""
    text = scope.text
    if scope.cls == "ChatGLMForCausalLM" and text.mapping("vision_config").is_there:
        hint = '--hf-overrides \'{"architectures": ["GLM4VForCausalLM"]}\' names the class that does'
        text.refuse("vision_config", "the engine's ChatGLMForCausalLM takes no model with a vision_config", hint)
    groups = text.count("multi_query_group_num") if text.flag("multi_query_attention") else text.heads
    at = "transformer.encoder.layers"
    return scope.decoder(at, "self_attention.attn", head_size=text.shared_out(), num_kv_heads=groups)
