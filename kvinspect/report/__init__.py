"""Turning answers into something to look at: pages of blocks, and one module a format that renders them."""
