"""`kvinspect.mm_prefix`."""

from __future__ import annotations

from kvinspect.api.asking import Origin, ask
from kvinspect.document.checked import checked
from kvinspect.engine.mm_prefix.answer import MMPrefixAnswer
from kvinspect.engine.mm_prefix.run import mm_prefix_document


@checked
def mm_prefix(document: Origin, *, engine: str | None = None) -> MMPrefixAnswer:
    """The spans of image and video tokens that attend both ways, in tokens of the prompt, both ends in.

    `engine` is a release and wins over the document's. Raises DocumentError where the document cannot be used, or names
    a release that nobody knows.
    """
    asked = ask(document, "multimodal", "mm-prefix", engine)
    return mm_prefix_document(asked.document, asked.release, asked.setting)
