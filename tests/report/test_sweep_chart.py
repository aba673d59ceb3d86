"""The chart of a sweep: round ticks around the points, labeled axes, and no two series that look alike."""

import itertools
import re

from kvinspect.api.plan_model import sweep
from kvinspect.models.memory import Memory
from kvinspect.planning.sweep_axes import axis
from kvinspect.report.sweep.chart import Chart, Mark, Series, Tick, chart
from kvinspect.report.sweep.svg import svg

SERIES = 40


def swept(root, *axes):
    return sweep(root / "examples/models/qwen3-8b", list(map(axis, axes)), lambda _: Memory(20 << 30, "given"))


def drawn(series):
    mark = Mark(0.5, 0.5, "a point")
    lines = tuple(Series(f"series {i}", (mark, mark._replace(x=1.0))) for i in range(series))
    return svg(Chart("max_model_len", "concurrent requests", lines, (Tick(0.0, "8k"),), (Tick(0.0, "0"),)), "a sweep")


def test_no_two_series_look_alike():
    marks = re.findall(r'<path class="cell" [^>]*?fill="(#\w+)" d="([^"]+)"', drawn(SERIES))
    looks = [look for look, _ in itertools.groupby(marks)]
    assert len(marks) == 2 * SERIES
    assert len(set(looks)) == len(looks) == SERIES


def test_axes_are_labeled_and_every_point_lies_between_round_ticks(root):
    answer = swept(root, "max_model_len=8k..32k", "kv_cache_dtype=auto,fp8")
    found = chart(answer)
    assert {mark.y is not None and 0 <= mark.y <= 1 for one in found.series for mark in one.marks} == {True}
    assert [tick.label for tick in found.x_ticks] == ["8k", "16k", "32k"]
    assert all(re.fullmatch(r"[125]0*|0", tick.label.replace(",", "")) for tick in found.y_ticks), found.y_ticks
    shown = svg(found, "a sweep")
    assert "max_model_len →" in shown
    assert "↑ concurrent requests (logarithmic)" in shown


def test_a_point_that_is_refused_is_named_in_the_legend(root):
    assert "refused at start-up" in svg(chart(swept(root, "max_model_len=8k,64k")), "a sweep")
    assert "refused at start-up" not in drawn(2)
