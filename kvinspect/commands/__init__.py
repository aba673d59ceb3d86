"""A pasted command that starts vLLM: its words, the release, the GPUs and the variables that it names; nothing is run."""
