"""Decisions, soundness and the reason of each step in sentences, the same for tables, findings and `--explain`."""
