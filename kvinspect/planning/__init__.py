"""vLLM's rules for making a KV cache: specs → groups → tensors → blocks, and what a request costs in it."""
