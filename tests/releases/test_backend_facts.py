"""What rules want to know of a backend stands in the catalogue's rows, and no rule names a backend."""

import ast
import re

import pytest

from conftest import ROOT
from kvinspect.backends.conditions import choose
from kvinspect.data import catalogue

PACKAGE = ROOT / "kvinspect"
NAMES = {name for version in catalogue.versions() for name in catalogue.read(version)["backends"]}
EXCEPTED = {
    "cli/cg_support.py": "an example of its help",
    "releases/": "what a release's data and module name is their business",
}
"""Beginnings of paths below kvinspect/ that may name backends, each with its reason."""


def literals(tree):
    """(line, text) of every string but docstrings and the texts below constants."""
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value


def named_in(text):
    """The backends that a string names, whole or by how a name begins or ends."""
    for word in re.findall(r"[A-Z0-9_]{3,}", text):
        part = "_" in (word[0], word[-1]) and any(f"_{word.strip('_')}_" in f"_{name}_" for name in NAMES)
        if word in NAMES or part:
            yield word


def test_no_rule_names_a_backend():
    found = [
        f"{path.relative_to(PACKAGE)}:{line}: {word}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not path.relative_to(PACKAGE).as_posix().startswith(tuple(EXCEPTED))
        for line, text in literals(ast.parse(path.read_text(encoding="utf-8")))
        for word in named_in(text)
    ]
    assert not found, "\n".join(["facts of backends belong into catalogue.json (tools/backend_facts.py):", *found])


@pytest.mark.parametrize("text", ["FLASH_ATTN", "take TRITON_ATTN", "ROCM_", "_DIFFKV", "LINEAR"])
def test_the_test_above_can_fail(text):
    assert list(named_in(text))


@pytest.mark.parametrize("text", ["FULL_AND_PIECEWISE", "NVFP4", "CUDA", "HND", "FP8_PER_TENSOR"])
def test_other_words_are_no_backends(text):
    assert not list(named_in(text))


@pytest.fixture(params=catalogue.versions())
def known(request):
    return catalogue.read(request.param)


def having(known, fact):
    return {name: entry[fact] for name, entry in known["backends"].items() if fact in entry}


def test_words_for_states_are_those_of_the_rows(known):
    rows = having(known, "mamba_type")
    assert {*known["state_layers"].values()} <= {*rows.values()}
    assert known["spec_classes"]["MambaSpec"]["defaults"]["mamba_type"] == "MAMBA2"
    assert rows["CUSTOM_MAMBA"] == "CUSTOM"
    assert all("name" in known["backends"][name] for name in having(known, "is_ssm"))


def test_head_sizes_that_follow_a_rule(known):
    rules = having(known, "head_size_rule")
    assert rules["TRITON_ATTN"] == {"least": 32}
    place = {"platform": "cuda", "capability": "8.0", "capability_family": 8}
    assert choose(rules["FLASH_ATTN"], place) == {"multiple_of": 8, "most": 256}
    assert choose(rules["FLASH_ATTN"], {**place, "capability": "9.0", "capability_family": 9})["most"] == 512
    for name in rules:
        for capability in ("8.0", "9.0", "10.0", "12.0"):
            there = {"platform": "cuda", "capability": capability, "capability_family": int(capability.split(".")[0])}
            accepted = choose(known["backends"][name]["head_sizes_accepted"], there)
            assert choose(rules[name], there).get("most", 1024) // 512 == max(accepted) // 512


def test_blocks_that_a_backend_prefers(known):
    preferred = having(known, "preferred_block_size")
    assert preferred["ROCM_AITER_UNIFIED_ATTN"] == 64
    here = {"platform": "xpu", "capability": None, "capability_family": None}
    sizes = choose(known["backends"]["FLASH_ATTN"]["supported_kernel_block_sizes"], here)
    assert choose(preferred.get("FLASH_ATTN"), here) == 64 or sizes == ["64n"]
    cuda = {"platform": "cuda", "capability": "9.0", "capability_family": 9}
    assert choose(preferred.get("FLASH_ATTN"), cuda) is None


def test_what_backends_do_not_take_together(known):
    assert having(known, "qk_nope_head_dims")["FLASHINFER_MLA"] == [64, 128, 192]
    assert having(known, "qk_nope_head_dims")["FLASHINFER_MLA_SPARSE"] == [128, 192]
    assert having(known, "refused_cache_dtypes")["FLASHINFER_MLA_SPARSE"] == ["fp8_ds_mla"]
    assert having(known, "takes_decode_context_parallelism") == {"FLASH_ATTN_MLA_SPARSE": False}
    mla = {} if known["release"] == "0.25.1" else {"TRITON_MLA": "8.9"}  # 0.25 makes its implementation unasked
    assert having(known, "fp8_from_capability") == {"TRITON_ATTN": "8.9", **mla}
    assert {*having(known, "packs_cache_dtypes")} == {"FLASHMLA_SPARSE", "FLASHINFER_MLA_SPARSE_SM120"}


def test_who_binds_whole_rows_alone(known):
    binding, packed = having(known, "binds_whole_rows"), {"fp8_ds_mla", "nvfp4_ds_mla"}
    if known["release"] < "0.30":
        assert not binding
    elif known["release"] < "0.33":
        assert {*binding} == {"FLASHMLA_SPARSE", "FLASHINFER_MLA_SPARSE", "FLASHINFER_MLA_SPARSE_SM120"}
        assert packed < {*binding["FLASHMLA_SPARSE"]}
    else:
        assert {*binding} == {"FLASHMLA_SPARSE", "FLASHINFER_MLA_SPARSE", "FLASH_ATTN_MLA_SPARSE_FA4"}
        assert packed.isdisjoint(binding["FLASHMLA_SPARSE"])


def test_who_orders_blocks_in_a_way_of_its_own(known):
    assert [*having(known, "block_order")] == ["CPU_ATTN"]
    assert [*having(known, "splits_by_paged_attention")] == ["ROCM_ATTN"]


def test_who_says_that_it_attends_both_ways_and_does_not(known):
    claims = having(known, "reads_mm_prefix")
    assert claims == dict.fromkeys(claims, False)
    assert all(known["backends"][name]["supports_mm_prefix"] for name in claims)
    assert {*claims} == ({"ROCM_ATTN", "ROCM_AITER_UNIFIED_ATTN"} if known["release"] < "0.33" else set())


def test_models_choose_among_backends_of_the_release(known):
    for rules in known["model_selection"].values():
        several = [rule["value"] for rule in rules["rules"]] if isinstance(rules, dict) else [rules]
        found = {name for names in several for name in names}
        assert found
        assert found <= {*known["backends"]}
