"""`kvinspect.mm_prefix`."""

from __future__ import annotations

from kvinspect.api.ask import Origin, ask
from kvinspect.document.checked import checked
from kvinspect.mm_prefix.mm_prefix_answer import MMPrefixAnswer


@checked
def mm_prefix(document: Origin, *, engine: str | None = None) -> MMPrefixAnswer:
    """The spans of image and video tokens that attend bidirectionally, in tokens of the prompt, both ends in.

    `engine` is a release and wins over the document's. Raises DocumentError where the document cannot be used, or names
    a release that nobody knows.
    """
    return ask(document, "multimodal", "mm-prefix", engine).mm_prefix
