"""Two KV caches side by side: what changed, and whether the bytes of a block mean the same in both."""
