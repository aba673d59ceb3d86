"""Every view says what its axes are, in every release, and only where something tells."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvinspect
from conftest import ROOT
from kvinspect.backends.backend import PROBE, from_catalogue
from kvinspect.data.catalogue import read, versions
from kvinspect.engine.axes import axes_of, sizes

RELEASES = tuple(version.rsplit(".", 1)[0] for version in versions())
FULL = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype": "bfloat16"}
LATENT = {"kind": "mla_attention", "block_size": 64, "num_kv_heads": 1, "head_size": 576, "dtype": "bfloat16"}
STATES = {"kind": "mamba", "block_size": 16, "shapes": [[2, 4], [8]], "dtypes": ["bfloat16", "float32"]}


def layer(spec, backend=None, **more):
    group = {"layer_names": ["l"], "kv_cache_spec": spec, **({"backend": backend} if backend else {})}
    document = {"kv_cache_config": {"num_blocks": 8, "kv_cache_groups": [group]}, **more}
    return kvinspect.align(document).to_dict()["layers"][0]


@pytest.mark.parametrize("engine", RELEASES)
@pytest.mark.parametrize("path", ["llama-3.1-8b", "whisper-large-v3-rocm-0.27", "deepseek-v3", "qwen3-next-80b-a3b"])
def test_every_view_has_a_name_or_none_for_each_of_its_axes(path, engine):
    answer = kvinspect.align(ROOT / f"configs/{path}.yaml", engine=engine)
    rows = answer.to_dict()["layers"]
    assert rows or answer.refusal is not None
    for row in rows:
        for view in row.get("states") or [row]:
            if view["shape"] is None:
                assert view["axes"] is None
                continue
            assert len(view["axes"]) == len(view["shape"])
            if row["block_dim"] is not None:
                assert view["axes"].index("block") == row["block_dim"]


def test_the_axes_of_a_shape_follow_its_backend_and_release():
    old, new = ({"engine": engine, "platform": "rocm"} for engine in ("0.25", "0.33"))
    assert layer(FULL, "ROCM_ATTN", **old)["axes"] == ["kv", "block", "token", "head", "dim"]
    assert layer(FULL, "TRITON_ATTN", **old)["axes"] == ["block", "kv", "token", "head", "dim"]
    assert layer(FULL, "TRITON_ATTN", engine="0.28", platform="rocm")["axes"] == ["block", "head", "token", "kv_dim"]
    assert layer(FULL, "TRITON_ATTN", **new)["axes"] == ["block", "head", "token", "kv_dim"]
    assert layer(LATENT, "TRITON_MLA", engine="0.33")["axes"] == ["block", "head", "token", "dim"]
    assert layer(LATENT, "TRITON_MLA", engine="0.28")["axes"] == ["block", "token", "dim"]


def test_stored_states_are_no_tokens():
    compressed = {**LATENT, "block_size": 256, "compress_ratio": 4}
    assert layer(compressed, "FLASHMLA_SPARSE", engine="0.28")["axes"] == ["block", "state", "dim"]
    assert layer({**LATENT, "block_size": 256, "tokens_per_state": 4}, "FLASHMLA_SPARSE", engine="0.33")["axes"] == [
        "block", "head", "state", "dim",
    ]  # fmt: skip


def test_of_a_states_own_dims_nothing_tells_what_they_are():
    old, new = layer(STATES, engine="0.25"), layer(STATES, engine="0.28")
    assert [state["axes"] for state in old["states"]] == [["block", None, None], ["block", None]]
    assert new["axes"] == ["block", None, None, "byte"]
    assert layer(STATES, engine="0.33")["axes"] == ["block", "head", "state", "byte"]


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((2, "num_blocks", 2, "block_size"), (None, "block", None, "token")),
        (("num_blocks", "num_blocks", "head_size"), (None, None, "dim")),
        (("num_blocks", "block_size", 656), ("block", "token", None)),
        (("num_blocks", "num_kv_heads*2", "block_size", "head_size//2"), ("block", "kv_head", "token", "content")),
        (("num_blocks*block_size", "num_kv_heads*head_size"), (None, None)),
        (("num_blocks", "head_size_v+head_size", "block_size-0"), ("block", "kv_dim", "token")),
    ],
)
def test_an_axis_is_named_by_what_its_size_is_made_of_and_never_by_its_place(shape, axes):
    assert axes_of(shape) == axes


@given(st.permutations(["num_blocks", 2, "block_size", "num_kv_heads", "head_size"]))
def test_names_go_with_their_sizes(shape):
    names = {"num_blocks": "block", 2: "kv", "block_size": "token", "num_kv_heads": "head", "head_size": "dim"}
    assert axes_of(shape) == tuple(names[entry] for entry in shape)


SHAPED = [v for v in versions() if any("kv_cache_shape" in entry for entry in read(v)["backends"].values())]


def test_backends_have_shapes_of_their_own_until_one_buffer_holds_the_cache():
    assert [version for version in versions() if version < "0.29"] == SHAPED


@pytest.mark.parametrize("version", SHAPED)
def test_the_axis_of_blocks_is_the_one_at_which_the_engine_finds_its_probe(version):
    known = read(version)["backends"]
    for name, entry in known.items():
        for dtype, rule in product(("auto", "fp8", "fp8_ds_mla"), entry.get("kv_cache_shape", [])):
            backend = from_catalogue(name, {**entry, "kv_cache_shape": [{**rule, "if": {}}]}, {})
            if "shape" not in rule:
                continue
            axes = axes_of(backend.written_shape(dtype))
            plain = tuple(entry for entry in rule["shape"])
            assert axes.index("block") == plain.index("num_blocks"), (name, PROBE)
            assert ("kv" in axes) == (2 in plain)


def test_sizes_are_shown_with_their_names():
    axes = ("block", "kv", "token", "head", "dim")
    assert sizes(axes, (512, 2, 16, 20, 64)) == "blocks 512 · kv 2 · tokens 16 · heads 20 · dim 64"
    assert sizes(("block", None), (4, 3)) == "blocks 4 · ? 3"


def test_people_see_the_names(run):
    shown = run("align", "configs/whisper-large-v3-rocm-0.27.yaml", "--format", "markdown").stdout
    assert "| kv 2 · blocks 512 · tokens 16 · heads 20 · dim 64 |" in shown


def test_two_heads_are_told_from_keys_and_values_by_their_name():
    """A dim 1 of two heads is taken for K and V by mistake; one of the heads of K and those of V, one each, is not."""
    apart = {"MINE": {"kv_cache_shape": ["num_blocks", "2*num_kv_heads", "block_size", "head_size"]}}

    def codes(backend, heads):
        spec = {**FULL, "num_kv_heads": heads}
        groups = [
            {"layer_names": ["a"], "kv_cache_spec": spec, "backend": "ROCM_ATTN"},
            {"layer_names": ["b"], "kv_cache_spec": {**spec, "kind": "cross_attention"}, "backend": backend},
        ]
        document = {"engine": "0.27", "platform": "rocm", "kv_cache_layout": "HND", "backends": apart}
        found = kvinspect.lint({**document, "kv_cache_config": {"num_blocks": 64, "kv_cache_groups": groups}})
        return {finding.code for finding in found.findings}

    assert "KV108" in codes("TRITON_ATTN", 2)
    assert "KV108" not in codes("MINE", 1)
