"""CUDA graphs: what attention backends support, what a group of them still does, and the mode that comes out of it."""
