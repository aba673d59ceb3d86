"""What a model's config.json means: its layers with their KV cache specs, backends and block sizes."""
