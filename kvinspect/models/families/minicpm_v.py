"""MiniCPM-V and -O: which language model is inside depends on their version."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.here import Here
from kvinspect.models.layers import Layer

ARCHITECTURES = ("MiniCPMV", "MiniCPMO")

INSIDE = {
    (2, 0): "MiniCPMForCausalLM",
    (2, 5): "LlamaForCausalLM",
    (2, 6): "Qwen2ForCausalLM",
    (4, 0): "LlamaForCausalLM",
    (4, 5): "Qwen3ForCausalLM",
}


def layers(here: Here) -> Iterator[Layer]:
    """The language model under `llm`, with the outer configuration."""
    version = here.config.get("version")
    if version is None:
        parts = (2, 0) if here.config.get("hidden_size") == 2304 and here.config.get("query_num") == 64 else (2, 5)
    else:
        words = str(version).split(".")
        parts = (int(words[0]), int(words[1])) if len(words) == 2 and all(w.isdigit() for w in words) else (0, 0)
    if here.cls == "MiniCPMO":
        parts = (2, 6) if version is None or parts == (2, 6) else parts
    if parts not in INSIDE:
        here.config.fail("version", "one of " + ", ".join(f"{a}.{b}" for a, b in INSIDE), version)
    yield from here.inner(here.config, "llm", INSIDE[parts])
