"""The standardised layouts: strides, placement, the choice of a layout, splitting, and what overlays what."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvinspect
from kvinspect.document.refusal import Refused
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.layout.layouts import KVCacheLayout, layout_of
from kvinspect.engine.layout.placement import Room, place
from kvinspect.engine.layout.resolve import resolve, supported
from kvinspect.engine.layout.strides import layer_shape, layout_strides
from kvinspect.engine.overlay import Layer, conflicts, touching
from kvinspect.geometry.runs import BlockBytes
from kvinspect.specs.kinds import attention
from kvinspect.specs.page_size import page_by_slots

small = st.integers(1, 4)
layouts = st.sampled_from(list(KVCacheLayout))


def spec(heads=2, head_size=4, block_size=8, dtype="float16", **more):
    sizes = {"block_size": block_size, "num_kv_heads": heads, "head_size": head_size, "head_size_v": head_size}
    return attention("full_attention", dtype=dtype, **sizes, **more)


specs = st.builds(spec, heads=small, head_size=small, block_size=st.sampled_from([1, 2, 4]))


def cells(spec, strides, blocks, layers):
    """Every byte that a layer's block touches, the layers and blocks counted out."""
    shape = (layers, *layer_shape(spec, blocks))
    return [sum(i * s for i, s in zip(at, strides, strict=True)) for at in product(*map(range, shape))]


@given(specs, small, small, layouts)
def test_a_layout_fills_its_bytes_once_and_without_a_hole(spec, blocks, layers, layout):
    strides = layout_strides(spec, blocks, layers, layout)
    assert sorted(cells(spec, strides, blocks, layers)) == list(range(page_by_slots(spec) * blocks * layers))


@given(specs, small, small, layouts)
def test_strides_descend_in_memory_order(spec, blocks, layers, layout):
    strides = layout_strides(spec, blocks, layers, layout)
    in_memory = [strides[axis] for axis in layout.value]
    assert in_memory == sorted(in_memory, reverse=True)
    assert in_memory[-1] == 1


@given(specs, small, small, st.sampled_from([KVCacheLayout.LBHNC, KVCacheLayout.BLNHC]), st.integers(0, 40))
def test_padding_steps_over_the_rest_of_the_page(spec, blocks, layers, layout, padding):
    padded = spec._replace(page_size_padded=page_by_slots(spec) + padding)
    strides = layout_strides(padded, blocks, layers, layout)
    assert min(strides[0], strides[1]) == padded.page_size_padded
    assert strides[2:] == layout_strides(spec, blocks, layers, layout)[2:]


def test_padding_has_no_room_where_pages_are_taken_apart():
    padded = spec(page_size_padded=page_by_slots(spec()) + 2)
    with pytest.raises(Refused, match="LHBNC splits them"):
        layout_strides(padded, 4, 2, KVCacheLayout.LHBNC)
    assert layout_strides(padded._replace(num_kv_heads=1), 4, 2, KVCacheLayout.LHBNC)[1] == padded.page_size_padded


def test_padded_pages_are_not_split():
    padded = spec(block_size=8, page_size_padded=page_by_slots(spec()) + 2)
    with pytest.raises(Refused, match="cannot be split"):
        layout_strides(padded, 4, 2, KVCacheLayout.LBHNC, kernel_block_size=4)


def test_strides_are_above_zero():
    with pytest.raises(Refused, match="bytes above 0"):
        layout_strides(spec(), 4, 2, KVCacheLayout.LBHNC, fixed=(0, None))


@given(st.lists(st.tuples(specs, small), min_size=1, max_size=3), small, layouts, st.booleans())
def test_the_layers_of_a_group_never_meet(rows, blocks, layout, aligned):
    names = iter("abcdefghijklmnop")
    groups = [KVCacheGroup(i, tuple(next(names) for _ in range(count)), spec) for i, (spec, count) in enumerate(rows)]
    room = Room(blocks, layout, page_by_slots, aligned)
    pages = {page_by_slots(spec) for spec, _ in rows}
    try:
        tensors = place(groups, room)
    except Refused as refused:
        assert refused.refusal.kind == "pages-differ"
        assert len(pages) > 1
        return
    for group, tensor in zip(groups, tensors, strict=True):
        strides = layout_strides(
            group.spec, blocks, len(group.layer_names), layout, fixed=(tensor.layer_stride, tensor.block_stride)
        )
        found = [tensor.offset + at for at in cells(group.spec, strides, blocks, len(group.layer_names))]
        assert len(set(found)) == len(found)
        assert max(found) < tensor.size
    assert len({tensor.size for tensor in tensors}) == 1


def test_a_block_stride_keeps_the_alignment_that_a_backend_asks_for():
    aligned = spec(heads=1, head_size=3, block_size=1, block_stride_alignment=32)
    group = KVCacheGroup(0, ("a", "b"), aligned)
    (by_region,) = place([group], Room(4, KVCacheLayout.LBHNC, page_by_slots, True))
    (packed,) = place([group], Room(4, KVCacheLayout.BLHNC, page_by_slots, True))
    (before,) = place([group], Room(4, KVCacheLayout.LBHNC, page_by_slots, False))
    assert (by_region.block_stride, by_region.size) == (32, 2 * 4 * 32)
    assert (packed.block_stride, packed.layer_stride) == (32, page_by_slots(aligned))
    assert before.block_stride == page_by_slots(aligned) == 12


def test_whole_kernel_blocks_are_an_alignment_only_where_a_block_is_more_than_one():
    room = Room(4, KVCacheLayout.LBHNC, page_by_slots, True)
    assert room.alignment(spec(block_size=8, block_stride_alignment="16n")) == 1
    assert room.alignment(spec(block_size=8, block_stride_alignment="4n")) == spec(block_size=4).page(page_by_slots)


def names(found):
    return [layout.name for layout in found]


def test_lists_that_are_the_same_keep_their_order():
    assert names(supported({"a": ("LHBNC", "LBHNC"), "b": ("LHBNC", "LBHNC"), "c": None})) == ["LHBNC", "LBHNC"]


def test_where_lists_differ_the_commonest_first_choice_wins_and_the_engines_order_breaks_ties():
    assert names(supported({"a": ("LHBNC", "LBHNC"), "b": ("LBHNC", "LHBNC")})) == ["LBHNC", "LHBNC"]
    two = {"a": ("LHBNC", "LBHNC"), "b": ("LBHNC", "LHBNC"), "c": ("LHBNC", "LBHNC", "BLHNC")}
    assert names(supported(two)) == ["LHBNC", "LBHNC"]


def test_no_common_layout_is_refused():
    with pytest.raises(Refused, match="a LBNHC, b LBHNC"):
        supported({"a": ("LBNHC",), "b": ("LBHNC",)})


def test_pages_that_differ_in_shape_need_whole_pages():
    choice = resolve({"a": ("LHBNC", "LBHNC")}, [spec(), spec(heads=4)], None, page_by_slots, False)
    assert choice.standard is KVCacheLayout.LBHNC
    with pytest.raises(Refused, match="keeps a page together"):
        resolve({"a": ("LHBNC",)}, [spec(), spec(heads=4)], None, page_by_slots, False)


def test_sharded_beside_replicated_pages_need_the_blocks_outermost_from_0_33_on():
    mixed = [spec(), spec(heads=4, dcp_sharded=False)]
    assert resolve({}, mixed, None, page_by_slots, False).standard is KVCacheLayout.LBNHC
    assert resolve({}, mixed, None, page_by_slots, True).standard is KVCacheLayout.BLNHC


def test_what_is_asked_for_has_to_be_among_the_candidates():
    assert resolve({}, [spec()], "HND", page_by_slots, False).standard is layout_of("LBHNC")
    with pytest.raises(Refused, match="NHD is requested"):
        resolve({"a": ("LBHNC",)}, [spec()], "NHD", page_by_slots, False)


patterns = st.builds(
    BlockBytes,
    offset=st.integers(0, 40),
    block_stride=st.integers(1, 12),
    num_blocks=st.just(3),
    dims=st.sampled_from([(), ((2, 5),), ((2, 20),)]),
    run=st.integers(1, 4),
)


@given(st.lists(st.tuples(patterns, st.integers(0, 2)), min_size=2, max_size=5))
def test_overlaid_layers_are_judged_as_by_counting_every_byte(rows):
    layers = sorted((Layer(str(i), t, p) for i, (p, t) in enumerate(rows)), key=lambda layer: layer.bytes.offset)
    found, touched = conflicts(layers), touching(layers)
    for tensor in {layer.tensor for layer in layers}:
        mine = [layer for layer in layers if layer.tensor == tensor]
        pairs = [(a, b) for a in mine for b in layers]
        assert (tensor in found) == any(meet(a.bytes, b.bytes, True) for a, b in pairs)
        others = [(a, b) for a, b in pairs if b.tensor != tensor]
        assert (tensor in touched) == any(meet(a.bytes, b.bytes, False) for a, b in others)


def meet(first, second, apart):
    """Whether two blocks share a byte, two of different IDs only if `apart`."""
    return any(bytes_of(first, i) & bytes_of(second, j) for i in range(3) for j in range(3) if not apart or i != j)


def bytes_of(pattern, block):
    return {byte for start, end in pattern.runs(block) for byte in range(start, end)}


SPLIT = {
    "engine": "0.33",
    "kv_cache_config": {
        "num_blocks": 4,
        "kv_cache_groups": [
            {
                "layer_names": ["l.{0..1}"],
                "backend": "FLASHINFER",
                "kv_cache_spec": {
                    "kind": "full_attention",
                    "block_size": 128,
                    "num_kv_heads": 2,
                    "head_size": 64,
                    "dtype": "float16",
                },
            }
        ],
    },
    "model_config": {"num_attention_heads": 2},
}


def test_dense_blocks_are_split_into_kernel_blocks():
    layer = kvinspect.align({**SPLIT, "kv_cache_layout": "LBNHC"}).layers[0]
    assert (layer.view.kernel_block_size, layer.num_kernel_blocks) == (64, 8)
    assert layer.view.parts[0].view.shape == (8, 2, 64, 128)


def test_packed_blocks_stay_whole_from_0_33_on_and_are_refused_before():
    packed = {**SPLIT, "kv_cache_layout": "BLNHC"}
    assert kvinspect.align(packed).layers[0].view.kernel_block_size == 128
    before = kvinspect.align(packed, engine="0.30").to_dict()
    assert (before["stage"], before["reason"]["type"]) == ("allocate", "ValueError")
    assert before["kernel_block_sizes"] == [64]
    assert before["kv_cache_tensors"][0]["block_stride"] == 2 * 128 * 2 * 64 * 2 * 2


def test_tensors_of_another_release_are_refused_as_its_dataclass_would():
    tensors = {"size": 1048576, "layers": ["l.{0..1}"], "layer_stride": 262144, "block_stride": 65536}
    written = {**SPLIT, "kv_cache_config": {**SPLIT["kv_cache_config"], "kv_cache_tensors": [tensors]}}
    assert kvinspect.align(written).to_dict()["decision"] != "refused"
    old = kvinspect.align(written, engine="0.28").to_dict()
    assert (old["stage"], old["reason"]["type"]) == ("placement", "TypeError")
    del tensors["layer_stride"]
    assert kvinspect.align(written).to_dict()["reason"]["type"] == "TypeError"


def test_an_octave_slot_is_not_guessed():
    group = SPLIT["kv_cache_config"]["kv_cache_groups"][0]
    spec = {**group["kv_cache_spec"], "kv_quant_mode": "OCTAVE_K3V3", "dtype": "uint8"}
    document = {**SPLIT, "platform": "rocm", "kv_cache_config": {"num_blocks": 4, "kv_cache_groups": [
        {**group, "backend": "ROCM_OCTAVE", "kv_cache_spec": spec}
    ]}}  # fmt: skip
    with pytest.raises(kvinspect.DocumentError, match="rotary dim"):
        kvinspect.align(document)
    spec["state_content_bytes"] = 96
    assert kvinspect.align(document).layers[0].page_size_bytes == 2 * 128 * 96


LATENT = {"kind": "mla_attention", "block_size": 64, "head_size": 576, "dtype": "bfloat16"}


def test_the_index_of_latent_layers_has_regions_of_its_own_in_0_30():
    inner = {"m.{0..1}": LATENT, "i.{0..1}": {**LATENT, "head_size": 128, "tokens_per_state": 4}}
    page = 64 * 576 * 2
    states = {"kind": "mamba", "block_size": 64, "shapes": [[page]], "dtypes": ["int8"]}
    document = {
        "engine": "0.30",
        "kv_cache_layout": "LBNHC",
        "kv_cache_config": {
            "num_blocks": 2,
            "kv_cache_groups": [
                {
                    "layer_names": ["m.{0..1}", "i.{0..1}"],
                    "backend": "TRITON_MLA",
                    "kv_cache_spec": {"kind": "uniform_type", "block_size": 64, "kv_cache_specs": inner},
                },
                {"layer_names": ["s.0"], "kv_cache_spec": states},
            ],
        },
    }
    answer = kvinspect.align(document).to_dict()
    offsets = {tensor["layers"][0]: tensor["offset"] for tensor in answer["tensors"]}
    index = 16 * 128 * 2
    assert offsets == {"m.0": 0, "s.0": 0, "m.1": 2 * page, "i.0": 4 * page, "i.1": 4 * page + 2 * index}
    assert answer["sound"]
    assert kvinspect.align(document, engine="0.33").to_dict()["stage"] == "placement"
