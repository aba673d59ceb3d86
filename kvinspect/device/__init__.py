"""torch: the same views on real tensors. Nothing outside this folder imports torch, and this folder only when asked."""
