"""What vLLM does with a KV cache that is given: one module a step, named as the step is in vLLM."""
