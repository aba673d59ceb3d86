"""PrefixLM: which spans of a prompt attend bidirectionally: those of images and videos."""
