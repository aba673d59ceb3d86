"""One question: a document, or a model under flags, with a release and a setting; its answers are worked out once."""
