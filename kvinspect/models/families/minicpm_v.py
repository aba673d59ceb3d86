"""MiniCPM-V and -O: which language model is inside depends on their version."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("MiniCPMV", "MiniCPMO")

INSIDE = {
    "2.0": "MiniCPMForCausalLM",
    "2.5": "LlamaForCausalLM",
    "2.6": "Qwen2ForCausalLM",
    "4.0": "LlamaForCausalLM",
    "4.5": "Qwen3ForCausalLM",
}


def layers(scope: Scope) -> Iterator[Layer]:
    """The language model under `llm`, with the outer configuration."""
    config = scope.config
    first = config.maybe_count("hidden_size") == 2304 and config.maybe_count("query_num") == 64
    default = "2.6" if scope.cls == "MiniCPMO" else "2.0" if first else "2.5"
    version = config.version("version") or default
    if version not in INSIDE:
        config.fail("version", "one of " + ", ".join(INSIDE), version)
    yield from scope.inner(config, "llm", INSIDE[version])
