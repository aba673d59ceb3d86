"""The last station of every text: escaped for terminals and CI runners, then a stream or a file, whole or not at all.

This room imports nothing of the project and nothing heavy: the capture plugin writes with it inside the engine.
"""
