"""A running engine's own KV cache as an inspection document, written by a plugin that vLLM loads.

This room runs inside the engine. It imports nothing that vLLM has not imported already, reads the engine's objects by
attribute and never by class, and whatever goes wrong in it is a warning in the engine's log.
"""
