"""The catalogue holds what the releases' backends answered."""

import pytest

import golden
from kvinspect.backends.backend import Backends
from kvinspect.data import catalogue
from kvinspect.document.refusal import Refused, Unknown
from kvinspect.engine.customize_spec import customized
from kvinspect.specs.full_attention import FullAttentionSpec
from kvinspect.specs.mla_attention import MLAAttentionSpec

OBSERVED = [version for version in catalogue.versions() if golden.has_facts(f"backends-{version}")]


def facts_of(version):
    return golden.facts(f"backends-{version}")


def value_at(fact, place):
    """A fact on one of the observed platforms."""
    if not (isinstance(fact, dict) and "varies" in fact):
        return fact
    return next(group["value"] for group in fact["varies"] if place in group["on"])


@pytest.mark.parametrize("version", OBSERVED)
def test_every_backend_of_a_release_is_there_and_answers_as_it_did(version):
    facts = facts_of(version)
    for place in facts["observed_on"]:
        capability = place["capability"]
        situation = {"platform": place["platform"], "capability": capability, "q_heads_divisible": True}
        situation |= {
            "capability_family": int(capability.split(".")[0]) if capability else None,
            "q_heads_grouped": True,
        }
        backends = Backends(catalogue.read(version), {}, situation)
        for row in facts["backends"]:
            if "unavailable" in row or row["enum"].startswith("Mamba"):
                assert row["name"] in catalogue.read(version)["backends"]
                continue
            backend = backends.named(row["name"], ())
            sizes = value_at(row["supported_kernel_block_sizes"], place)
            assert sizes is None or list(backend.kernel_block_sizes) == sizes, row["name"]
            if "supported_kv_cache_layouts" in row:
                layouts = value_at(row["supported_kv_cache_layouts"], place)
                assert (layouts if layouts is None else tuple(layouts)) == backend.layouts, row["name"]
                continue
            assert backend.required_layout == value_at(row["required_kv_cache_layout"], place), row["name"]
            for layout in ("NHD", "HND"):
                assert backend.stride_orders[layout] == row["stride_order"][layout], row["name"]
            for shape in value_at(row["kv_cache_shape"], place):
                if "shape" in shape:
                    check_shape(backend, shape)


QUANTISED = {"nvfp4_4over6": "NVFP4", "nvfp4_ds_mla": "NVFP4_DS_MLA"}


def quant_mode(cache_dtype, modes):
    """vLLM's `get_kv_quant_mode`."""
    if cache_dtype in ("auto", "float16", "bfloat16"):
        return "NONE"
    word = QUANTISED.get(cache_dtype, cache_dtype.upper())
    return word if word in modes else "FP8_PER_TENSOR"


def observed_spec(row, cache_dtype, modes):
    """The spec that the facts were observed with."""
    dtype = "bfloat16" if cache_dtype in ("auto", "float16", "bfloat16") else "uint8"
    mode = quant_mode(cache_dtype, modes)
    if row["is_mla"]:
        more = {"cache_dtype_str": cache_dtype}
        return MLAAttentionSpec("mla_attention", 64, 1, 576, 0, dtype, mode, **more)
    return FullAttentionSpec("full_attention", 16, 4, 128, 128, dtype, mode)


@pytest.mark.parametrize("version", [version for version in OBSERVED if version >= "0.28"])
def test_every_backend_packs_a_spec_as_it_did(version):
    facts, modes = facts_of(version), catalogue.read(version)["kv_quant_modes"]
    rows = [row for row in facts["backends"] if "customize_spec" in row]
    assert rows
    for place in facts["observed_on"]:
        family = int(place["capability"].split(".")[0]) if place["capability"] else None
        backends = Backends(catalogue.read(version), {}, {**place, "capability_family": family})
        for row in rows:
            backend, seen = backends.named(row["name"], ()), value_at(row["customize_spec"], place)
            for cache_dtype in facts["cache_dtypes"]:
                spec, expected = observed_spec(row, cache_dtype, modes), seen.get(cache_dtype, {})
                try:
                    packed = customized(spec, backend)
                except (Refused, Unknown):
                    assert "error" in expected, (row["name"], cache_dtype)
                    continue
                told = {key: getattr(packed, key) for key in PACKED if getattr(packed, key) != getattr(spec, key)}
                assert told == {key: value for key, value in expected.items() if key in PACKED}, (
                    row["name"],
                    cache_dtype,
                )


PACKED = ("num_head_slots", "state_content_bytes", "block_stride_alignment")


def check_shape(backend, fact):
    """The observed symbols, evaluated at one point, against the catalogue's."""
    sizes = {"num_blocks": 5, "block_size": 64, "num_kv_heads": 1, "head_size": 128, "head_size_v": 64}
    expected = [symbol if isinstance(symbol, int) else linear(symbol, sizes) for symbol in fact["shape"]]
    for dtype in fact["cache_dtypes"]:
        shape = backend.shape(5, 64, 1, 128, cache_dtype=dtype, head_size_v=64)
        assert list(shape) == expected, (backend.name, dtype)


def linear(symbol, sizes):
    from fractions import Fraction

    total = Fraction(0)
    for term in symbol.split("+"):
        value = Fraction(1)
        for factor in term.split("*"):
            value *= sizes[factor] if factor in sizes else Fraction(factor)
        total += value
    return int(total)
