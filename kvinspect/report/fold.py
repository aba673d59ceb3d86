"""Numbers for people: runs of indices, sizes in bytes."""

from __future__ import annotations

from collections.abc import Sequence


def fold_indices(indices: Sequence[int]) -> str:
    """Numbers as ranges for a title.

    >>> fold_indices([0, 1, 2, 5])
    '0–2, 5'
    """
    runs: list[list[int]] = []
    for index in sorted(indices):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


def human_bytes(size: int, digits: int = 3) -> str:
    """A size in the largest unit that leaves at least 1, with so many digits that count.

    >>> human_bytes(41943040), human_bytes(13496934727), human_bytes(640)
    ('40 MiB', '12.6 GiB', '640 bytes')
    """
    if size < 1024:
        return f"{size} byte" + ("" if size == 1 else "s")
    units = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    power = min((size.bit_length() - 1) // 10, len(units))
    value = size / 1024**power * (1 + 1e-12)  # 5.625 is 5.63, as people round
    return f"{value:.{max(digits, len(str(int(value))))}g} {units[power - 1]}"


def title_of(source: str) -> str:
    """A file's name, with its folder's where every model's file has the same.

    >>> title_of("a/b/whisper.yaml"), title_of("models/qwen3-8b/config.json")
    ('whisper.yaml', 'qwen3-8b/config.json')
    """
    parts = source.rsplit("/", 2)
    return "/".join(parts[-2:]) if parts[-1] == "config.json" else parts[-1]
