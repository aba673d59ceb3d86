"""Each kind of bad document, and the one message that it ends in."""

import copy

import pytest

import kvinspect
from kvinspect.document.load import from_source
from kvinspect.document.source import parse

GOOD = """\
engine: "0.27"
platform: cuda
kv_cache_config:
  num_blocks: 8
  kv_cache_groups:
    - layer_names: ["l.{0..1}"]
      backend: FLASH_ATTN
      kv_cache_spec: {kind: full_attention, block_size: 16, num_kv_heads: 2, head_size: 64, dtype: float16}
  kv_cache_tensors:
    - {size: 65536, shared_by: [l.0]}
    - {size: 65536, shared_by: [l.1]}
shared_kv_cache_layers: {k.0: l.1}
backends:
  MINE: {kv_cache_shape: [num_blocks, 2, block_size, num_kv_heads, head_size]}
"""

CASES = {
    "unknown key": ("platform: cuda", "platfrom: cuda", "2:1: platfrom: unknown key; did you mean platform?"),
    "unknown nested key": ("backend: FLASH", "backnd: FLASH", "backnd: unknown key; did you mean backend?"),
    "wrong word": ("platform: cuda", "platform: cudda", '2:11: platform: expected one of cuda, rocm, xpu, cpu, found "cudda"; did you mean cuda?'),
    "wrong type": ("head_size: 64", "head_size: 64x", '8:89: kv_cache_config.kv_cache_groups[0].kv_cache_spec.head_size: expected an integer > 0, found "64x"'),
    "a bool is no number": ("num_blocks: 8", "num_blocks: true", "4:15: kv_cache_config.num_blocks: expected an integer > 0, found true"),
    "a float is no number": ("num_blocks: 8", "num_blocks: 8.5", "expected an integer > 0, found 8.5"),
    "zero": ("num_blocks: 8", "num_blocks: 0", "expected an integer > 0, found 0"),
    "negative": ("size: 65536, shared_by: [l.0]", "size: -1, shared_by: [l.0]", "expected an integer > 0, found -1"),
    "beyond 64 bits": ("num_blocks: 8", f"num_blocks: {2**63}", "expected at most 9223372036854775807"),
    "missing key": ("  num_blocks: 8\n", "", "4:3: kv_cache_config.num_blocks: is missing; expected an integer > 0"),
    "missing field": (", dtype: float16", "", "kv_cache_spec.dtype: is missing from this full_attention spec"),
    "unknown kind": ("kind: full_attention", "kind: full_atention", "did you mean full_attention?"),
    "no kind": ("kind: full_attention, ", "", "kv_cache_spec.kind: is missing; expected one of full_attention"),
    "field of another kind": ("dtype: float16", "dtype: float16, shapes: [[1]]", "shapes: no field of a full_attention spec"),
    "unknown dtype": ("dtype: float16", "dtype: float17", "did you mean float16?"),
    "not a list": ('layer_names: ["l.{0..1}"]', "layer_names: l.0", 'expected a list of words, found "l.0"'),
    "layer in two groups": ('["l.{0..1}"]', '["l.{0..1}", l.0]', "the layer l.0 is in a group already"),
    "tensor of an unknown layer": ("shared_by: [l.0]", "shared_by: [l.0, l.7]", "no KV cache group has a layer l.7; did you mean l.1?"),
    "layer on two tensors": ("shared_by: [l.1]", "shared_by: [l.1, l.0]", "the layer l.0 is on a tensor already"),
    "layer on no tensor": ("    - {size: 65536, shared_by: [l.1]}\n", "", "6:21: kv_cache_config.kv_cache_groups[0].layer_names[0]: no tensor holds the layer l.1"),
    "no backend": ("      backend: FLASH_ATTN\n", "", "6:7: kv_cache_config.kv_cache_groups[0]: the layer l.0 has no backend"),
    "shared with nobody": ("{k.0: l.1}", "{k.0: l.9}", "shared_kv_cache_layers.k.0: no KV cache group has a layer l.9"),
    "shared with a sharing layer": ("{k.0: l.1}", "{k.0: l.1, k.1: k.0}", "k.1 shares the cache of k.0, which has none of its own"),
    "shape of other names": ("num_blocks, 2,", "num_block, 2,", "expected an integer > 0 or a word (num_blocks, block_size"),
    "names without end": ("l.{0..1}", "l.{0..99999999}", "layer_names[0]: \"l.{0..99999999}\" expands to too many layers; a document has at most 20000"),
    "no mapping": (GOOD, "- a\n- b\n", "expected a mapping, found"),
    "nothing": (GOOD, "# nothing\n", "expected a mapping, found nothing"),
    "capability": ("platform: cuda", "platform: cuda\ndevice_capability: sm90", "expected a word (for instance 9.0"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bad_document(name):
    old, new, message = CASES[name]
    assert old in GOOD
    with pytest.raises(kvinspect.DocumentError) as caught:
        from_source(parse(GOOD.replace(old, new, 1), "bad.yaml"))
    assert message in str(caught.value)
    assert str(caught.value).startswith("bad.yaml:")


def test_the_good_document_is_good():
    assert from_source(parse(GOOD, "good.yaml")).shared == {"k.0": "l.1"}


def test_all_errors_of_a_file_come_in_one_go_and_in_order():
    text = (
        GOOD.replace("platform: cuda", "platform: x").replace("head_size: 64", "head_size: 0").replace("[l.1]", "[l.9]")
    )
    with pytest.raises(kvinspect.DocumentError) as caught:
        from_source(parse(text, "bad.yaml"))
    lines = [error.mark.line for error in caught.value.errors]
    assert lines == sorted(lines)
    assert {2, 8, 11} <= set(lines)


UNKNOWN = {
    "release": ({"engine": "0.24"}, "engine: expected a vLLM release: one of 0.25 (0.25.1), 0.26"),
    "patch": ({"engine": "0.27.9"}, "did you mean 0.27?"),
    "release as a number": ({"engine": 0.3}, "engine: expected a vLLM release"),
    "cache dtype": ({"cache_dtype": "fp9"}, "cache_dtype: expected a --kv-cache-dtype of vLLM 0.25.1"),
    "runner": ({"model_runner": "v3"}, 'model_runner: expected one of v2, v1, auto, found "v3"'),
    "layout": ({"kv_cache_layout": "LBHNC"}, "kv_cache_layout: expected NHD or HND in vLLM 0.25.1"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_nobody_knows_is_said_and_never_guessed(name, whisper):
    change, message = UNKNOWN[name]
    with pytest.raises(kvinspect.DocumentError) as caught:
        kvinspect.align({**whisper, **change})
    assert message in str(caught.value)


def test_an_unknown_backend_is_said_with_the_nearest(whisper):
    whisper["kv_cache_config"]["kv_cache_groups"][1]["backend"] = "TRITON_ATN"
    with pytest.raises(kvinspect.DocumentError, match="did you mean TRITON_ATTN"):
        kvinspect.align(whisper)


def test_an_empty_backend_is_unknown_and_not_absent(whisper):
    whisper["kv_cache_config"]["kv_cache_groups"][1]["backend"] = ""
    with pytest.raises(kvinspect.DocumentError, match=r"kv_cache_groups\[1\].backend"):
        kvinspect.align(whisper)


def test_an_unknown_release_of_the_caller_does_not_blame_the_document(whisper):
    with pytest.raises(kvinspect.DocumentError) as caught:
        kvinspect.align(whisper, engine="0.99")
    assert caught.value.errors[0].path == ()


def test_a_document_without_a_cache_is_no_document_for_align():
    with pytest.raises(kvinspect.DocumentError, match="kv_cache_config: is missing; align needs it"):
        kvinspect.align({"engine": "0.27"})


def test_a_mapping_is_not_changed(whisper):
    before = copy.deepcopy(whisper)
    kvinspect.align(whisper)
    assert whisper == before


BYTES = {
    "binary": (bytes(range(256)), "expected text in UTF-8"),
    "latin-1": ("engine: é".encode("latin-1"), "1:9: expected text in UTF-8, found the byte 0xe9"),
    "utf-16": ("engine: x".encode("utf-16"), "expected text in UTF-8, found the byte 0xff"),
    "too large": (b"# \n" * 1_000_000, "at most 2097152 bytes"),
}


@pytest.mark.parametrize("name", BYTES)
def test_bytes_that_are_no_text(name, tmp_path):
    data, message = BYTES[name]
    file = tmp_path / "bad.yaml"
    file.write_bytes(data)
    with pytest.raises(kvinspect.DocumentError) as caught:
        kvinspect.load(file)
    assert message in str(caught.value)


def test_a_folder_or_a_missing_file(tmp_path):
    for path in (tmp_path, tmp_path / "nothing.yaml"):
        with pytest.raises(kvinspect.DocumentError, match="cannot be read"):
            kvinspect.load(path)
