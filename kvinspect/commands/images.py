"""The release of vLLM that a container image's tag names."""

from __future__ import annotations

import re

_TAG = re.compile(r"(?:\$\{\w+:?-)?v?(?P<release>0\.[0-9]{1,3}(?:\.[0-9]{1,3})?)(?![0-9.]*rc)(?:$|[.+_}-])", re.ASCII)
"""A tag, which may be what a variable is where it is unset: `${TAG:-v0.27.1}`."""

_NUMBERED_OTHERWISE = re.compile(r"dynamo|lmcache|router|aibrix|omni|runtime", re.IGNORECASE)
"""Images with vLLM in their name whose tags are releases of something around it."""


def release_at(image: str) -> tuple[str, int] | None:
    """(release, where its first digit stands in the text), None where the tag names none.

    >>> release_at("vllm/vllm-openai:v0.28.0-x86_64")
    ('0.28.0', 18)
    """
    path, colon, tag = image.partition("@")[0].partition(":" if "://" not in image else "\x00")
    while colon and "/" in tag.partition("$")[0]:
        head, colon, tag = tag.partition(":")
        path += f":{head}"
    if "vllm" not in path.lower() or _NUMBERED_OTHERWISE.search(path):
        return None
    found = _TAG.match(tag)
    return (found["release"], len(path) + 1 + found.start("release")) if found and colon else None


def release_of(image: str) -> str | None:
    """The release that an image's tag names, None where it names none."""
    found = release_at(image)
    return found[0] if found else None
