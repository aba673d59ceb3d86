"""The commands of the program, which help lists and a wrong word is compared with."""

from __future__ import annotations

COMMANDS = {
    "align": ("align", "How vLLM lays out and shares a KV cache, and if that is sound."),
    "cg-support": ("cg_support", "Which CUDA graph mode results, and which backend limits it."),
    "mm-prefix": ("mm_prefix", "Which image and video tokens attend bidirectionally."),
    "plan": ("plan", "Whether a model fits, and how many requests its cache holds."),
    "fit": ("fit", "The smallest number of each GPU that holds a model."),
    "explain": ("explain", "Why vLLM did not start, from its log, and what would let it."),
    "diff": ("diff", "Compare two KV caches; can one read the other's blocks?"),
    "lint": ("lint", "Check documents, config.json and `vllm serve` files in CI, or a command."),
    "rule": ("rule", "The documentation of a lint rule, or the list of all."),
    "map": ("draw", "Draw which bytes of an allocation each layer's blocks take."),
    "capture": ("capture", "How to write the KV cache of a running vLLM as a document."),
    "gpus": ("gpus", "GPUs that --gpu knows by name."),
    "models": ("models", "Models that need no network."),
    "doctor": ("doctor", "A block to paste into a bug report."),
    "schema": ("schema", "The JSON Schema of an inspection document, for editors."),
}
"""The function and the summary of each command, in the order of the help; its module is called as the command is."""
