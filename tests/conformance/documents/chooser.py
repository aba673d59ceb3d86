"""How a document is put together: every choice is drawn from Hypothesis, the plainest first, so that it can shrink."""

import math

from hypothesis import strategies as st

_PERCENT = st.integers(0, 99)
ITEM_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "uint8": 1, "int8": 1, "float8_e4m3fn": 1}
MOST_BYTES = 1_500_000
"""Bytes of an allocation, so that the engine's side can look at every byte."""


class Chooser:
    """The draws of one document of a release, on one of the given places."""

    def __init__(self, draw, facts, places):
        self.draw = draw
        self.facts = facts
        self.platform, self.capability = self.pick(places)

    def pick(self, values):
        """One of some values; the first is the plainest."""
        return self.draw(st.sampled_from(tuple(values)))

    def chance(self, percent):
        """Whether something happens that is plainer left out."""
        return self.draw(_PERCENT) >= 100 - percent

    def number(self, least, most):
        """A whole number, both ends in."""
        return self.draw(st.integers(least, most))

    def beginning(self):
        """The keys that every document has."""
        place = {"platform": self.platform}
        if self.capability:
            place["device_capability"] = self.capability
        return {"engine": self.facts.version, **place}


def strategy(make, facts, places):
    """The strategy of the documents that `make` puts together from a chooser."""

    @st.composite
    def documents(draw):
        return make(Chooser(draw, facts, places))

    return documents()


def page_bytes(spec):
    """Bytes of a page of a spec without quantisation, near enough to size allocations with."""
    if "kv_cache_specs" in spec:
        return sum(map(page_bytes, spec["kv_cache_specs"].values()))
    if spec.get("page_size_padded"):
        return spec["page_size_padded"]
    if "shapes" in spec:
        return sum(math.prod(s) * ITEM_BYTES[d] for s, d in zip(spec["shapes"], spec["dtypes"], strict=True))
    if "MLA" in spec["kind"]:
        tokens = spec["block_size"] // spec.get("compress_ratio", 1)
        return tokens * spec["head_size"] * ITEM_BYTES[spec["dtype"]]
    both = spec["head_size"] + spec.get("head_size_v", spec["head_size"])
    return spec["block_size"] * spec["num_kv_heads"] * both * ITEM_BYTES[spec["dtype"]]
