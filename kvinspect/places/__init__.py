"""Where a repository keeps vLLM's arguments: one detector a form, each giving fragments with their positions."""
