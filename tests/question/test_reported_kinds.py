"""Kinds of wrong answers from public reports, each with variants: what vLLM itself makes of them (`tests/cases/reports`)."""

import json
import shutil

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.planning.inspection import inspection_document

CASES = ROOT / "tests" / "cases" / "reports"
GIB, MIB = 1 << 30, 1 << 20
LMCACHE = {"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}
OFFLOADED = {"kv_offloading_size": 8, "kv_offloading_backend": "native"}


def planned(name, memory, engine, platform="cuda", capability=None, **given):
    given = {"max_model_len": 32768, **given}
    place = {"platform": platform, "device_capability": capability}
    return kvinspect.plan_model(CASES / name, memory, engine=engine, engine_args=given, **place).plan


def sizes(answer):
    """(blocks, tokens, concurrent requests to two digits)."""
    assert answer.refusal is None, answer.refusal
    return answer.num_blocks, answer.capacity.num_tokens, round(answer.capacity.max_concurrency, 2)


@pytest.mark.parametrize("engine", ["0.25", "0.27", "0.28"])
@pytest.mark.parametrize(
    ("name", "platform", "right"),
    [
        ("windows", "xpu", (4096, 146366, 4.47)),
        ("windows", "cpu", (2048, 145572, 4.44)),
        ("hybrid", "xpu", (157, 111838, 3.41)),
        ("hybrid", "cpu", (146, 111258, 3.4)),
    ],
)
def test_the_hybrid_manager_is_on_for_xpu_and_cpu(name, platform, right, engine):
    if engine == "0.28":
        assert sizes(planned(name, GIB, engine, platform)) == right
    answer = planned(name, GIB, engine, platform)
    assert answer.refusal is None
    assert len(answer.groups) > 1, "one group would mean that the manager is off"


@pytest.mark.parametrize("platform", ["xpu", "cpu"])
def test_without_the_hybrid_manager_a_window_is_kept_whole_and_a_hybrid_is_refused(platform):
    off = {"disable_hybrid_kv_cache_manager": True}
    assert len(planned("windows", GIB, "0.28", platform, **off).groups) == 1
    assert "hybrid KV cache manager is off" in planned("hybrid", GIB, "0.28", platform, **off).refusal.text


@pytest.mark.parametrize(
    ("more", "layers", "right"),
    [({}, 8, (4096, 65536, 2.0)), ({"model": "dense-draft", "num_speculative_tokens": 4}, 12, (2730, 43680, 1.33))],
)
def test_a_draft_model_without_a_method_has_layers(more, layers, right):
    if more:
        more = {"speculative_config": {**more, "model": str(CASES / more["model"])}}
    answer = planned("dense", 2 * GIB, "0.28", **more)
    assert sizes(answer) == right
    assert sum(len(group.layer_names) for group in answer.groups) == layers


@pytest.mark.parametrize(
    ("name", "method"), [("some-eagle3-draft", "eagle3"), ("eagle-of-dense", "eagle"), ("my-dflash", "dflash")]
)
def test_a_draft_without_a_method_is_known_by_its_name(name, method, tmp_path):
    folder = tmp_path / name
    shutil.copytree(CASES / "dense-draft", folder)
    config = json.loads((folder / "config.json").read_text())
    kinds = {"eagle3": "Eagle3LlamaForCausalLM", "eagle": "EagleLlamaForCausalLM", "dflash": "DFlashDraftModel"}
    (folder / "config.json").write_text(json.dumps({**config, "architectures": [kinds[method]]}))
    given = {"speculative_config": {"model": str(folder), "num_speculative_tokens": 3}, "max_num_seqs": 16}
    answer = planned("dense", 2 * GIB, "0.28", **given)
    assert answer.planning["speculative_config"]["method"] == method


@pytest.mark.parametrize("engine", ["0.27", "0.28"])
def test_a_connector_that_knows_no_groups_turns_the_hybrid_manager_off(engine):
    place = {"capability": "9.0", "max_num_seqs": 64}
    with_it = planned("windows-and-full", 4 * GIB, engine, kv_transfer_config=LMCACHE, **place)
    assert sizes(with_it) == (5461, 87376, 2.67)
    assert sizes(planned("windows-and-full", 4 * GIB, engine, **place)) == (10922, 116161, 3.54)
    refused = planned("hybrid", 4 * GIB, engine, kv_transfer_config=LMCACHE, **place).refusal
    assert (refused.type, refused.stage) == ("ValueError", "plan")


@pytest.mark.parametrize("engine", ["0.27", "0.28"])
def test_offloading_needs_blocks_that_hashes_divide(engine):
    place = {"capability": "9.0", "max_num_seqs": 256, **OFFLOADED}
    refused = planned("hybrid", 4 * GIB, engine, **place, enable_prefix_caching=False).refusal
    assert refused.type == "AssertionError"
    assert "1605632" in refused.text
    assert planned("hybrid", 4 * GIB, engine, **place, enable_prefix_caching=True).refusal is None
    assert planned("dense", 4 * GIB, engine, **place, enable_prefix_caching=False).refusal is None


MTP = {"method": "mtp", "num_speculative_tokens": 3}


@pytest.mark.parametrize(
    ("engine", "drafts", "backend", "mode"),
    [
        ("0.28", {}, "FLASHINFER", "PIECEWISE"),
        ("0.28", {"attention_backend": "TRITON_ATTN"}, "TRITON_ATTN", "FULL_AND_PIECEWISE"),
        ("0.28", {"kv_cache_dtype": "auto"}, "FLASH_ATTN", "FULL_AND_PIECEWISE"),
        ("0.30", {}, "TRITON_ATTN", "FULL_AND_PIECEWISE"),
        ("0.30", {"attention_backend": "FLASHINFER"}, "FLASHINFER", "PIECEWISE"),
    ],
)
def test_which_backend_a_draft_gets_depends_on_the_runner(engine, drafts, backend, mode):
    given = {"attention_backend": "TRITON_ATTN", "kv_cache_dtype": "fp8", "speculative_config": {**MTP, **drafts}}
    answer = planned("hybrid", 4 * GIB, engine, capability="8.9", max_num_seqs=16, **given)
    assert answer.inputs.backends["mtp.layers.0.self_attn.attn"].name == backend
    assert answer.inputs.backends["language_model.model.layers.3.self_attn.attn"].name == "TRITON_ATTN"
    graphs = kvinspect.cg_support(inspection_document(answer))
    assert graphs.running.mode.name == mode


def test_a_draft_of_a_document_counts_as_it_is_written():
    graphs = kvinspect.cg_support(CASES / "draft-backend.yaml")
    assert graphs.running.mode.name == "FULL_AND_PIECEWISE"


@pytest.mark.parametrize("engine", ["0.25", "0.26", "0.27", "0.28"])
def test_up_to_0_28_a_pool_of_one_request_never_runs_it(engine, run):
    blocks = {"block_size": 128, "max_model_len": 1024}
    answer = planned("dense", 32 * MIB, engine, **blocks)
    assert (answer.num_blocks, answer.longest_request) == (8, 896)
    assert planned("dense", 36 * MIB, engine, **blocks).longest_request is None
    fitted = planned("dense", 32 * MIB, engine, **{**blocks, "max_model_len": -1})
    assert (fitted.deployment.max_model_len, fitted.longest_request) == (1024, 896)
    words = ("--engine", engine, "--block-size", "128", "--max-model-len", "1024", "--kv-cache-memory-bytes", "32M")
    done = run("plan", CASES / "dense", *words)
    assert done.returncode == 1
    assert "requests of at most 896 tokens run" in " ".join(done.stdout.split())


@pytest.mark.parametrize("engine", ["0.29", "0.33"])
def test_from_0_29_on_the_null_block_is_counted_beforehand(engine):
    blocks = {"block_size": 128, "max_model_len": 1024}
    assert planned("dense", 32 * MIB, engine, **blocks).refusal is not None
    assert planned("dense", 36 * MIB, engine, **blocks).longest_request is None


@pytest.mark.parametrize(("sequences", "code"), [("1024", 1), ("335", 1), ("334", 0)])
def test_each_sequence_needs_a_block_of_states_in_every_command(sequences, code, run, tmp_path):
    words = ("--engine", "0.27", "--device-capability", "9.0", "--max-model-len", "8192")
    done = run("plan", CASES / "hybrid", *words, "--kv-cache-memory-bytes", "2G", "--max-num-seqs", sequences)
    assert done.returncode == code
    document = tmp_path / "d.yaml"
    text = (CASES / "state-blocks.yaml").read_text()
    document.write_text(text.replace("max_num_seqs: 1024", f"max_num_seqs: {sequences}"))
    assert run("cg-support", document).returncode == code
    assert ("KV304" in run("lint", document).stdout) == bool(code)


@pytest.mark.parametrize("wanted", ["text_config", "llm_config"])
def test_a_wrapper_without_its_language_model_is_one_line(wanted, run, tmp_path):
    """A wrapper that names itself as its language model would be read for ever."""
    config = json.loads((CASES / "no-text-config" / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config))
    done = run("plan", tmp_path, "--kv-cache-memory-bytes", "4G")
    assert done.returncode == 2
    assert done.stderr.startswith(f"{tmp_path / 'config.json'}:1:1: text_config: is missing")
    dense = json.loads((CASES / "dense" / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, wanted: dense}))
    assert run("plan", tmp_path, "--kv-cache-memory-bytes", "4G").returncode == 0
