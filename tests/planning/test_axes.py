"""The values of a sweep."""

import pytest

from kvinspect.document.limits import MAX_SWEEP_POINTS
from kvinspect.planning.sweep_axes import axis, points


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("gpu_memory_utilization=0.5..0.9..0.1", (0.5, 0.6, 0.7, 0.8, 0.9)),
        ("gpu-memory-utilization=0.7..0.95..0.1", (0.7, 0.8, 0.9)),
        ("x=0.1..1.6", (0.1, 0.2, 0.4, 0.8, 1.6)),
        ("x=0..4..2", (0, 2, 4)),
        ("x=0..1..0.25", (0.0, 0.25, 0.5, 0.75, 1.0)),
        ("x=4096..16384..4096", (4096, 8192, 12288, 16384)),
        ("x=8k..20k", (8000, 16000, 20000)),
        ("x=1..3..1,auto,0.5..0.6..0.1", (1, 2, 3, "auto", 0.5, 0.6)),
        ("x=5..5", (5,)),
        ("x=0.9", ("0.9",)),
    ],
)
def test_values(text, values):
    assert axis(text).values == values


@pytest.mark.parametrize(
    "text",
    ["x=8k...9k", "x=1..", "x=..1", "x=1..2..", "x=1..2..3..4", "x=2..1", "x=1..2..0", "x=-1..2", "x=a..b", "x=1..b",
     "x=0..4", "x=nan..1", "x=1..inf", "x=0.5..0.9..-0.1", "x=1..2..0.0", "x=1e3..2e3", "x=.."],
)  # fmt: skip
def test_a_malformed_range_names_the_right_form(text):
    with pytest.raises(ValueError, match=r"LOW\.\.HIGH\.\.STEP, such as 8k\.\.1M or 0\.5\.\.0\.9\.\.0\.1"):
        axis(text)


@pytest.mark.parametrize("text", ["x", "=1", "x=", "x=1,,2", "x=,"])
def test_a_sweep_without_values(text):
    with pytest.raises(ValueError, match="VALUES such as"):
        axis(text)


@pytest.mark.parametrize(
    "texts",
    [
        ("x=1..1000000000000..1",),
        ("x=0.000000001..1..0.000000001",),
        ("x=" + "1," * 70_000 + "1",),
        ("x=1..101..1", "y=1..10..1"),
        ("x=1..40..1", "y=1..40..1", "z=1,2"),
    ],
)
def test_too_many_points_are_refused_before_one_is_made(texts):
    with pytest.raises(ValueError, match=f"at most {MAX_SWEEP_POINTS:,} points"):
        points([axis(text) for text in texts])


def test_as_many_points_as_the_limit_are_planned():
    assert len(points([axis("x=1..10..1"), axis("y=1..10..1")])) == MAX_SWEEP_POINTS
