"""Why the last start in a log failed: the log of any size as pieces, its flags, and its known failures."""
