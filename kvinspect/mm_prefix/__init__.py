"""PrefixLM: which spans of a prompt attend both ways, because an image or a video stands there."""
