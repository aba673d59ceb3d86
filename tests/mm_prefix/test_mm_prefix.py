"""PrefixLM ranges against a scan of masks, and who sees whom against the rule pair by pair."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvinspect
from kvinspect.mm_prefix.attention import Sight, sight

masks = st.lists(st.booleans(), min_size=1, max_size=40)
MODALITIES = ("image", "video", "audio", "vision_chunk")


def request(*features, req_id="r", **more):
    made = [{"modality": m, "mm_position": {"offset": o, **p}} for m, o, p in features]
    return {"req_id": req_id, "mm_features": made, **more}


def asked(*requests, window=None):
    return kvinspect.mm_prefix({"engine": "0.27", "multimodal": {"sliding_window": window, "requests": list(requests)}})


def scanned(mask, offset):
    """Runs of true by looking at each position."""
    out, start = [], None
    for i, flag in enumerate([*mask, False]):
        if flag and start is None:
            start = i
        if not flag and start is not None:
            out.append((offset + start, offset + i - 1))
            start = None
    return out


def written(mask, how):
    if how == "flags":
        return mask
    if how == "indices":
        return [i for i, flag in enumerate(mask) if flag] or [False] * len(mask)
    return " ".join(f"1x{int(flag)}" for flag in mask)


@given(masks, st.integers(0, 50), st.sampled_from(["flags", "indices", "runs"]), st.none() | st.integers(1, 12))
def test_ranges_are_the_runs_of_the_mask(mask, offset, how, window):
    feature = ("image", offset, {"length": len(mask), "is_embed": written(mask, how)})
    answer = asked(request(feature), window=window).requests[0]
    expected = scanned(mask, offset)
    assert list(answer.ranges) == [r for r in expected if window is None or r[1] - r[0] + 1 <= window]
    assert sorted([*answer.ranges, *(span.range for span in answer.skipped)]) == expected


@given(st.lists(st.tuples(st.sampled_from(MODALITIES), st.integers(0, 30), st.integers(0, 9)), max_size=6))
def test_features_keep_their_order_and_only_images_and_videos_count(features):
    answer = asked(request(*((m, o, {"length": n}) for m, o, n in features))).requests[0]
    assert list(answer.ranges) == [(o, o + n - 1) for m, o, n in features if m in ("image", "video")]
    assert [span.range for span in answer.skipped] == [
        (o, o + n - 1) for m, o, n in features if m not in ("image", "video")
    ]


@given(
    st.integers(0, 25), st.integers(0, 25), st.none() | st.integers(1, 10),
    st.lists(st.tuples(st.integers(0, 25), st.integers(1, 6)), max_size=3),
)  # fmt: skip
def test_who_sees_whom_pair_by_pair(query, key, window, spans):
    ranges = [(start, start + length - 1) for start, length in spans if window is None or length <= window]
    causal = key <= query and (window is None or query - key < window)
    both = any(a <= query <= b and a <= key <= b for a, b in ranges)
    seen = sight((query, query), (key, key), window, ranges)
    assert (seen in (Sight.CAUSAL, Sight.BOTH_WAYS)) == (causal or both)
    assert (seen is Sight.BOTH_WAYS) == (both and key > query)


@given(
    st.tuples(st.integers(0, 20), st.integers(0, 5)), st.tuples(st.integers(0, 20), st.integers(0, 5)),
    st.none() | st.integers(1, 8), st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6)), max_size=2),
)  # fmt: skip
def test_a_cell_of_many_tokens_shows_the_strongest(rows, columns, window, spans):
    ranges = [(start, start + length - 1) for start, length in spans if window is None or length <= window]
    query, key = (rows[0], sum(rows)), (columns[0], sum(columns))
    single = [
        sight((q, q), (k, k), window, ranges) for q in range(query[0], query[1] + 1) for k in range(key[0], key[1] + 1)
    ]
    assert sight(query, key, window, ranges).value == max(one.value for one in single)


def kinds(answer):
    return [(finding.kind, finding.path) for finding in answer.findings]


def test_a_mask_of_another_length_counts_as_it_stands_and_is_a_finding():
    answer = asked(request(("image", 4, {"length": 3, "is_embed": [True] * 5})))
    assert answer.requests[0].ranges == ((4, 8),)
    assert [kind for kind, _ in kinds(answer)] == ["mask-length"]


@pytest.mark.parametrize("mask", ["2x1 1x0", [0, 3]])
def test_masks_in_other_words_may_be_of_another_length_too(mask):
    answer = asked(request(("image", 0, {"length": 2, "is_embed": mask})))
    assert [kind for kind, _ in kinds(answer)] == ["mask-length"]


def test_overlaps_spans_past_the_prompt_and_names_given_twice_are_findings():
    first = request(("image", 0, {"length": 8}), ("video", 6, {"length": 4}), num_prompt_tokens=9)
    answer = asked(first, request(req_id="r"))
    assert {kind for kind, _ in kinds(answer)} == {"overlap", "past-the-prompt", "duplicate-request"}
    assert not answer.clean
    assert answer.requests[0].ranges == ()


def test_an_empty_placeholder_is_a_range_that_ends_before_it_begins():
    answer = asked(request(("image", 4, {"length": 0})))
    assert answer.requests[0].ranges == ((4, 3),)
    assert [kind for kind, _ in kinds(answer)] == ["empty-placeholder"]


@pytest.mark.parametrize("mask", ["3x2", "x1", "3 x 1", "", [2, 1], [1, 1], [-1], [1.5], "9" * 20 + "x1"])
def test_masks_that_say_nothing_are_errors(mask):
    with pytest.raises(kvinspect.DocumentError, match="is_embed"):
        asked(request(("image", 0, {"length": 3, "is_embed": mask})))


def test_a_prompt_of_a_million_tokens_is_no_matter():
    answer = asked(request(("image", 0, {"length": 10**6, "is_embed": "1x0 999998x1 1x0"})), window=10**5)
    assert answer.requests[0].skipped[0].range == (1, 999_998)


def test_a_page_of_very_many_requests_and_spans_says_how_many_it_leaves_out():
    from kvinspect.document.limits import MAX_MASKS, MAX_SPANS
    from kvinspect.report.mask.page import page
    from kvinspect.report.page_parts import Table

    runs = " ".join(["1x1 1x0"] * (MAX_SPANS + 7))
    feature = {"modality": "image", "mm_position": {"offset": 0, "length": 2 * MAX_SPANS + 14, "is_embed": runs}}
    wide = {"req_id": "wide", "num_prompt_tokens": 1000, "mm_features": [feature]}
    requests = [wide, *({"req_id": f"r{i}", "num_prompt_tokens": 4} for i in range(MAX_MASKS + 1))]
    answer = kvinspect.mm_prefix({"engine": "0.33", "multimodal": {"requests": requests}})
    blocks = page(answer).blocks
    (table,) = [block for block in blocks if isinstance(block, Table)]
    assert len(table.rows) == MAX_SPANS
    said = repr(blocks)
    for left in ("2 more requests; ", "7 more spans; ", "and 7 more"):
        assert left in said
