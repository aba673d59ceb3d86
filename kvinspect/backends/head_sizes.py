"""Which head sizes a backend takes: its list, its rule, or what it said when it was asked.

With which head sizes FlashAttention has an fp8 cache is in `flash_attention.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

OBSERVED_HEAD_SIZES = (16, 32, 64, 72, 80, 96, 100, 112, 128, 160, 192, 224, 256, 288, 320, 512, 576, 1024)
"""The head sizes that backends without a list of their own were asked about; of others nothing is known."""


HeadSizeRule = Mapping[str, int] | None
"""What a backend's `supports_head_size` takes where that is a rule: `multiple_of` up to `most`, or `least` and more."""


def takes_head_size(rule: HeadSizeRule, size: int, declared: list[int], accepted: list[int]) -> bool:
    """Whether a backend takes heads of a size; of one that nobody was asked about it is assumed."""
    if rule:
        most = rule.get("most", size)
        return size % rule.get("multiple_of", 1) == 0 and rule.get("least", 0) <= size <= most
    if declared:
        return size in declared or size in accepted
    return size in accepted or size not in OBSERVED_HEAD_SIZES


def in_words(rule: HeadSizeRule, known: list[int]) -> str:
    """The head sizes of a backend, in words."""
    if not rule:
        return ", ".join(map(str, known))
    return (
        f"{rule['least']} and larger" if "least" in rule else f"multiples of {rule['multiple_of']} up to {rule['most']}"
    )
