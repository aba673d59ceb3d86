"""A pasted command that starts vLLM: its words, the release, GPUs and variables that it names. Nothing is run."""
