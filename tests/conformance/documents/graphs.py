"""Documents for `cg-support`: backends, modes of compilation, speculative tokens, encoder groups."""

from conformance.documents import caches, specs

MODES = ("VLLM_COMPILE", "NONE", "STOCK_TORCH_COMPILE", "DYNAMO_TRACE_ONCE")
GRAPHS = ("FULL_AND_PIECEWISE", "FULL", "FULL_DECODE_ONLY", "PIECEWISE", "NONE")


def graphs(choose):
    """A document that `cg-support` answers."""
    document, groups = caches.with_groups(choose, more_blocks=(8, 2, 64, 300, 512))
    if choose.chance(20):
        document["encoder_attention_groups"] = encoder_groups(choose, document.get("backends", {}))
        if choose.chance(30):
            groups.clear()
    document["compilation_config"] = {
        "mode": choose.pick(MODES),
        "cudagraph_mode": choose.pick(GRAPHS),
        "splitting_ops_contain_attention": choose.pick((True, False)),
        "use_inductor_graph_partition": choose.chance(20),
    }
    document["speculative_config"] = {"num_speculative_tokens": choose.pick((0, 0, 1, 3, 7))}
    document["scheduler_config"] = {"max_num_seqs": choose.pick((256, 4, 64, 300))}
    if choose.chance(20):
        document["parallel_config"] = {"decode_context_parallel_size": choose.pick((2, 4))}
    heads = next((g["kv_cache_spec"].get("num_kv_heads", 1) for g in groups), 1)
    document["model_config"]["num_attention_heads"] = heads * choose.pick((1, 2, 4, 8)) + choose.pick((0, 0, 0, 1))
    document["model_config"]["num_key_value_heads"] = heads
    return document


def encoder_groups(choose, own):
    """Layers outside the KV cache."""
    pool = (*choose.facts.on(choose.platform, choose.facts.plain), *own)
    out = []
    for i in range(choose.number(1, 2)):
        used = choose.pick(pool)
        geometry = specs.Geometry(choose, [used])
        spec = specs.attention(choose, geometry, ("EncoderOnlyAttentionSpec",))
        out.append({"backend": used, "layer_names": [f"e.{i}"], "kv_cache_spec": spec})
    return out
