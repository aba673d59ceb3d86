"""`align`: what the engine's own reshape and alignment do to the views of a cache."""

import importlib

import pretend

from bridge import documents


def answer(document):
    """The views of every layer, the decision on every tensor, and whether layers clash."""
    utils = importlib.import_module("vllm.v1.worker.gpu.attn_utils")
    runner = documents.model_runner(document)
    home = "older" if hasattr(utils, "_reshape_kv_cache") else "standard"
    if runner == "v1":
        home = "older_runner"
    found = importlib.import_module(f"bridge.align_{home}").answer(document)
    return {"schema_version": 1, "engine": pretend.version(), **found}
