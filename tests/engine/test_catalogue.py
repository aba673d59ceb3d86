"""The catalogue holds what the releases' backends answered."""

import json

import pytest

from conftest import SHARED
from kvinspect.engine import catalogue
from kvinspect.engine.backends import Backends

pytestmark = pytest.mark.shared


def facts_of(version):
    return json.loads((SHARED / "facts" / f"backends-{version}.json").read_text(encoding="utf-8"))


def value_at(fact, place):
    """A fact on one of the observed platforms."""
    if not (isinstance(fact, dict) and "varies" in fact):
        return fact
    return next(group["value"] for group in fact["varies"] if place in group["on"])


@pytest.mark.parametrize("version", catalogue.versions())
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
            assert list(backend.kernel_block_sizes) == sizes, row["name"]
            assert backend.required_layout == value_at(row["required_kv_cache_layout"], place), row["name"]
            for layout in ("NHD", "HND"):
                assert backend.stride_orders[layout] == row["stride_order"][layout], row["name"]
            for shape in value_at(row["kv_cache_shape"], place):
                if "shape" in shape:
                    check_shape(backend, shape)


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
