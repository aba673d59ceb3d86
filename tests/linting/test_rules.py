"""Every rule has a page, and its page's documents show what it says; what else rules find and leave alone."""

import re

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.data.catalogue import versions
from kvinspect.document.finding import Severity
from kvinspect.linting.registry import UnknownRule, all_rules, rule_named, selected
from kvinspect.linting.rule_page import page
from kvinspect.linting.settings import Settings

PAGES = ROOT / "docs" / "rules"
CODES = [rule.code for rule in all_rules()]


def linted(text, tmp_path, name="x.yaml", **more):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return kvinspect.lint(path, settings=more.pop("settings", Settings()), **more)


def documents(code):
    return re.findall(r"^```yaml\n(.*?)^```", (PAGES / f"{code}.md").read_text(encoding="utf-8"), flags=re.M | re.S)


def test_every_rule_has_a_page_and_every_page_a_rule():
    assert sorted(path.stem for path in PAGES.glob("KV*.md")) == CODES


def test_codes_and_names_are_each_given_once():
    names = [rule.name for rule in all_rules()]
    assert len(set(CODES)) == len(CODES)
    assert len(set(names)) == len(names)
    modules = [path.stem for path in (ROOT / "kvinspect" / "linting" / "rules").glob("kv*.py")]
    assert sorted(modules) == [f"{rule.code.lower()}_{rule.name.replace('-', '_')}" for rule in all_rules()]


@pytest.mark.parametrize("code", CODES)
def test_a_page_begins_with_its_rule_and_has_all_parts(code):
    text = page(code)
    assert text.startswith(f"# {code} {rule_named(code).name}\n")
    assert re.findall(r"^## (.*)$", text, flags=re.M) == ["Bad", "Good", "What vLLM does", "What to do"]


@pytest.mark.parametrize("code", CODES)
def test_the_bad_document_of_a_page_has_the_finding_on_a_line(code, tmp_path):
    bad, _ = documents(code)
    found = [finding for finding in linted(bad, tmp_path).findings if finding.code == code]
    assert found
    assert all(finding.mark and finding.line_text for finding in found)


@pytest.mark.parametrize("code", CODES)
def test_the_good_document_of_a_page_is_clean(code, tmp_path):
    _, good = documents(code)
    assert [f for f in linted(good, tmp_path).findings if f.severity > Severity.NOTE or f.code == code] == []


@pytest.mark.parametrize("code", [code for code in CODES if rule_named(code).kind == "document"])
@pytest.mark.parametrize("release", versions())
def test_every_rule_works_in_every_release(code, release, tmp_path):
    for text in documents(code):
        assert linted(text, tmp_path, engine=release).fault == ""


def test_two_heads_are_ambiguous_only_since_views_are_fused(tmp_path):
    bad, _ = documents("KV108")
    found = {v: {f.code for f in linted(bad, tmp_path, engine=v).findings} for v in versions()}
    assert {version for version, codes in found.items() if "KV108" in codes} == {"0.26.0", "0.27.1", "0.28.0"}


def test_a_fault_names_the_releases_that_are_free_of_it(tmp_path):
    found = linted((ROOT / "examples" / "rocm-hybrid.yaml").read_text(encoding="utf-8"), tmp_path).findings
    fault = next(finding for finding in found if finding.code == "KV111")
    assert fault.message.endswith("unaffected releases: 0.25.1, 0.26.0, 0.28.0, 0.29.0, 0.30.0, 0.33.0")


FAULTS = {
    "align-07-padded-page-split-blocks.json": ("0.27.1", "KV111"),
    "align-08-int4-sliding-window.json": ("0.27.1", "KV111"),
    "align-10-sharing-into-uniform.json": ("0.28.0", "KV111"),
    "align-11-encoder-only-first.json": ("0.27.1", "KV111"),
    "align-13-alias-other-backend.json": ("0.27.1", "KV111"),
    "align-05-mamba-kv-first-unsound.json": ("0.27.1", "KV104"),
    "align-02-two-heads-nhd-unsound.json": ("0.27.1", "KV103"),
    "align-12-block-dim-2.json": ("0.27.1", "KV104"),
}


def test_the_engines_faults_are_found():
    folder = ROOT / "tests/cases/findings"
    import json

    seen = set()
    for name in sorted(path.name for path in folder.glob("align-*.json")):
        number = name[:8]
        expected = next((row for key, row in FAULTS.items() if key.startswith(number)), None)
        if expected is None or "v1" in name:
            continue
        document = {**json.loads((folder / name).read_text(encoding="utf-8")), "model_runner": "v2"}
        found = {f.code for f in kvinspect.lint(document, engine=expected[0], settings=Settings()).findings}
        assert expected[1] in found, (name, found)
        seen.add(number)
    assert seen == {key[:8] for key in FAULTS}


def test_rules_are_selected_by_code_name_and_beginning():
    assert selected(("KV103",), ()) == {"KV103"}
    assert selected(("mixed-layouts-skipped",), ()) == {"KV103"}
    assert selected(("KV1",), ("KV101",)) == {code for code in CODES if code.startswith("KV1")} - {"KV101"}
    assert selected((), ()) == set(CODES)
    with pytest.raises(UnknownRule, match="did you mean KV103"):
        selected(("KV1O3",), ())


def test_findings_name_their_layers_folded(tmp_path):
    bad, _ = documents("KV102")
    found = linted(bad, tmp_path).findings[0]
    assert found.layers == ("model.layers.{4..7}.self_attn.attn",)


def test_a_fingerprint_outlives_a_moved_line(tmp_path):
    bad, _ = documents("KV304")
    before = linted(bad, tmp_path).findings[0]
    after = linted("# moved\n\n" + bad, tmp_path).findings[0]
    assert before.mark != after.mark
    assert before.fingerprint == after.fingerprint


def test_an_unknown_backend_is_not_judged(tmp_path):
    result = linted(documents("KV001")[1].replace("FLASH_ATTN", "FLASH_ATN"), tmp_path)
    assert [(f.code, f.unjudged) for f in result.findings] == [("KV001", True)]
    assert "did you mean FLASH_ATTN?" in result.findings[0].message
    assert not result.judged


@pytest.mark.parametrize(
    ("backend", "size", "codes"),
    [
        ("FLASH_ATTN", 129, ["KV203"]),
        ("FLASH_ATTN", 7, ["KV203"]),
        ("FLASH_ATTN", 520, ["KV203"]),
        ("FLASH_ATTN", 120, []),
        ("FLASH_ATTN", 264, []),
        ("TRITON_ATTN", 31, ["KV203"]),
        ("TRITON_ATTN", 129, []),
        ("FLEX_ATTENTION", 129, []),
    ],
)
@pytest.mark.parametrize("release", versions())
def test_head_sizes_that_nobody_asked_about_are_judged_by_the_backends_rule(backend, size, codes, release, tmp_path):
    good = documents("KV203")[1].replace("FLASH_ATTN", backend).replace("head_size: 80", f"head_size: {size}")
    found = linted(good, tmp_path, engine=release).findings
    assert [finding.code for finding in found if finding.code == "KV203"] == codes


def test_on_a_cpu_nobody_asks_the_backend_before_it_starts(tmp_path):
    text = documents("KV203")[1].replace("FLASH_ATTN", "CPU_ATTN").replace("head_size: 80", "head_size: 16")
    (found,) = (f for f in linted("platform: cpu\n" + text, tmp_path).findings if f.code == "KV203")
    assert found.severity is Severity.WARNING
    assert "on a CPU vLLM does not check this" in found.message


def test_what_is_of_another_kind_is_never_clean(tmp_path):
    for text in ("null", "[1]", '"x"', "{}"):
        result = linted(text, tmp_path, "x.json")
        assert [(f.code, f.mark, result.judged) for f in result.findings] == [("KV001", (1, 1), False)]
    assert not linted("", tmp_path).judged


@pytest.mark.parametrize(
    ("name", "text", "judged"),
    [
        ("a.yaml", "[" * 3000, False),
        ("a.json", "[" * 3000 + "]" * 3000, False),
        ("a.json", "9" * 10000, False),
        ("a.yaml", "9" * 10000, False),
        ("a.yaml", "a: &a [*a]", True),
        ("a.yaml", "a: &a {<<: *a}", True),
        ("a.yaml", "[", True),
        ("a.json", "", True),
        ("a.json", "{", True),
    ],
)
def test_what_parses_badly_is_a_finding_and_what_is_too_large_is_not_judged(name, text, judged, tmp_path):
    result = linted(text, tmp_path, name)
    assert ([f.code for f in result.findings], result.judged) == (["KV001"], judged)


def test_a_mapping_is_linted_without_a_file():
    result = kvinspect.lint({"engine": "0.7", "kv_cache_config": {"num_blocks": 1, "kv_cache_groups": []}})
    assert [finding.code for finding in result.findings] == ["KV002"]


def test_a_release_without_a_backend_of_the_document_is_not_free_of_a_fault():
    spec = {"kind": "full_attention", "block_size": 128, "num_kv_heads": 8, "head_size": 32, "dtype": "float16"}
    groups = [
        {"layer_names": [layer], "backend": backend, "kv_cache_spec": {**spec, "page_size_padded": 131328}}
        for layer, backend in (("a", "ROCM_AITER_FA"), ("b", "TRITON_MSA"))
    ]
    document = {"engine": "0.28", "kv_cache_config": {"num_blocks": 6, "kv_cache_groups": groups}}
    found = {finding.code: finding.message for finding in kvinspect.lint(document).findings}
    assert "KV001" not in found
    assert found["KV111"].endswith("every supported release is affected")
