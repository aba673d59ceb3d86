"""What a KV connector, offloading and the platform make of the cache of models whose layers differ."""

import pathlib

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.connectors.catalogue import read
from kvinspect.connectors.configured import transfer_of
from kvinspect.connectors.offloading import PAGE
from kvinspect.data.catalogue import versions
from kvinspect.document.problem import DocumentError

CASES = pathlib.Path(ROOT, "tests", "cases", "connectors")
HYBRID, WINDOWS, LOCAL = (CASES / f"{name}.json" for name in ("hybrid", "windows", "local"))
GIB = 1 << 30


def plan(model, gib, engine="0.28", env=None, platform="cuda", **arguments):
    given = {"max_model_len": 32768, **arguments}
    return kvinspect.plan_model(model, gib * GIB, engine=engine, platform=platform, engine_args=given, env=env)


def connector(name, **more):
    return {"kv_connector": name, "kv_role": "kv_both", **more}


def multi(*names):
    return connector("MultiConnector", kv_connector_extra_config={"connectors": [connector(one) for one in names]})


@pytest.mark.parametrize(
    ("model", "platform", "blocks", "tokens"),
    [(LOCAL, "xpu", 4096, 146366), (LOCAL, "cpu", 2048, 145572), (HYBRID, "xpu", 157, 111838), (HYBRID, "cpu", 146, 111258)],
)  # fmt: skip
def test_the_hybrid_manager_is_on_on_every_platform(model, platform, blocks, tokens):
    answer = plan(model, 1, platform=platform).plan
    assert (answer.refusal, answer.num_blocks, answer.capacity.num_tokens) == (None, blocks, tokens)


@pytest.mark.parametrize(
    ("engine", "env", "starts"),
    [("0.30", {}, True), ("0.30", {"VLLM_XPU_ENABLE_XPU_GRAPH": "1"}, False), ("0.33", {}, False)],
)
def test_an_xpu_captures_graphs_from_0_31_on_and_before_where_a_variable_says_so(engine, env, starts):
    refusal = plan(HYBRID, 1, engine, env, platform="xpu").plan.refusal
    assert (refusal is None) == starts, refusal


@pytest.mark.parametrize("transfer", [connector("LMCacheConnectorV1"), multi("NixlConnector", "LMCacheConnectorV1")])
def test_a_connector_without_groups_switches_the_hybrid_manager_off(transfer):
    answer = plan(WINDOWS, 4, kv_transfer_config=transfer).plan
    assert (answer.num_blocks, answer.capacity.num_tokens) == (5461, 87376)
    assert not answer.not_modelled
    refusal = plan(HYBRID, 4, kv_transfer_config=transfer).plan.refusal
    assert (refusal.type, "hybrid KV cache manager is off" in refusal.text) == ("ValueError", True)


@pytest.mark.parametrize("transfer", [connector("NixlConnector"), multi("NixlConnector", "OffloadingConnector")])
def test_a_connector_with_groups_leaves_it_on(transfer):
    extra = {"cpu_bytes_to_use": GIB}
    for one in transfer.get("kv_connector_extra_config", {}).get("connectors", []):
        one["kv_connector_extra_config"] = extra
    assert plan(WINDOWS, 4, kv_transfer_config=transfer).plan.num_blocks == 10922


def test_a_connector_that_holds_none_takes_no_groups():
    assert not transfer_of({"kv_transfer_config": multi()}, {}, "0.28.0").takes_groups


def test_the_hybrid_manager_that_is_asked_for_stops_a_connector_without_groups():
    with pytest.raises(DocumentError, match="does not support the hybrid manager"):
        plan(WINDOWS, 4, kv_transfer_config=connector("FlexKVConnectorV1"), disable_hybrid_kv_cache_manager=False)


@pytest.mark.parametrize("gib", [4, 8])
def test_offloading_needs_blocks_that_hashes_divide(gib):
    """Whether states suffice for graphs is counted later: with 4 GiB they do not."""
    refusal = plan(HYBRID, gib, "0.27", kv_offloading_size=8, kv_offloading_backend="native").plan.refusal
    assert refusal.type == "AssertionError"
    assert "hashes of 1605632, the least common multiple of 784 and 32768; --enable-prefix-caching" in refusal.text
    assert plan(HYBRID, 8, "0.27", kv_offloading_size=8, enable_prefix_caching=True).clean


@pytest.mark.parametrize(("engine", "rounds"), [("0.25", False), ("0.27", True), ("0.33", True)])
@pytest.mark.parametrize("ranks", [1, 2])
def test_offloading_holds_what_its_bytes_make(engine, rounds, ranks):
    answer = plan(WINDOWS, 4, engine, kv_offloading_size=8, tensor_parallel_size=ranks)
    block = answer.plan.workers[0].bytes_per_block * ranks
    assert answer.offloaded.blocks == 8 * GIB // (-(-block // PAGE) * PAGE if rounds else block)
    assert answer.to_dict()["offloading"]["connector"] == "OffloadingConnector"


def test_the_simple_offload_is_asked_for_by_a_variable():
    answer = plan(WINDOWS, 4, env={"VLLM_USE_SIMPLE_KV_OFFLOAD": "1"}, kv_offloading_size=1)
    assert answer.offloaded.connector == "SimpleCPUOffloadConnector"
    assert plan(HYBRID, 8, "0.27", env={"VLLM_USE_SIMPLE_KV_OFFLOAD": "1"}, kv_offloading_size=8).clean


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (connector("NixlConector"), 'has no connector "NixlConector"; did you mean NixlConnector?'),
        ({"kv_connector": "NixlConnector"}, "kv_role is one of kv_both, kv_consumer, kv_producer"),
        ({"kv_role": "kv_both"}, "names no connector"),
        (multi("NixlConector"), "has no connector"),
        (connector("OffloadingConnector"), "needs cpu_bytes_to_use"),
        (multi("ExampleHiddenStatesConnector", "NixlConnector"), "different layouts: NHD and HND"),
    ],
)
def test_what_the_engine_does_not_take_is_said(given, said):
    with pytest.raises(DocumentError, match=said.replace("?", r"\?")):
        plan(WINDOWS, 4, kv_transfer_config=given)


def test_a_cpu_takes_its_backend_without_asking():
    for arguments in ({}, {"attention_backend": "TRITON_ATTN"}):
        stage = plan(WINDOWS, 4, platform="cpu", **arguments).stages[0]
        assert {layer.backend.backend for layer in stage.layers} == {"CPU_ATTN"}


@pytest.mark.parametrize("value", [{"connectors": 5}, {"connectors": [5]}, None])
def test_an_extra_configuration_of_any_shape_is_read(value):
    given = connector("NixlConnector", kv_connector_extra_config=value)
    assert transfer_of({"kv_transfer_config": given}, {}, "0.28.0").takes_groups


def test_layers_in_pieces_make_graphs_in_pieces():
    given = connector("LMCacheConnectorV1", kv_connector_extra_config={"use_layerwise": True})
    assert plan(WINDOWS, 4, kv_transfer_config=given).plan.planning["compilation_config"] == {
        "cudagraph_mode": "PIECEWISE"
    }
    assert (
        "compilation_config" not in plan(WINDOWS, 4, kv_transfer_config=connector("LMCacheConnectorV1")).plan.planning
    )


def test_the_layout_is_the_connectors_where_the_backends_read_it():
    older = plan(WINDOWS, 4, kv_transfer_config=connector("NixlConnector")).plan
    assert older.planning["kv_cache_layout"] == "HND"
    newer = plan(WINDOWS, 4, "0.33", kv_transfer_config=connector("NixlConnector")).plan
    assert newer.layout.name == "LBHNC" or "LBHNC" not in [one.name for one in newer.layout.candidates]


def test_rocm_attention_is_not_taken_beside_a_connector():
    backends = [
        {layer.backend.backend for layer in plan(WINDOWS, 4, platform="rocm", **given).stages[0].layers}
        for given in ({}, {"kv_transfer_config": connector("NixlConnector")})
    ]
    assert "ROCM_ATTN" not in backends[1]


@pytest.mark.parametrize("version", versions())
def test_every_release_has_its_connectors(version):
    found = read(version)
    assert found["NixlConnector"].hybrid
    assert not found["LMCacheConnectorV1"].hybrid
    assert found["LMCacheConnectorV1"].piecewise == "use_layerwise"


def test_a_hybrid_says_in_which_steps_it_finds_prefixes():
    answer = plan(HYBRID, 8, "0.27", enable_prefix_caching=True)
    assert answer.to_dict()["prefix_caching"] == {"scheduler_block": 784, "hash_block": 784, "never_hits_up_to": 784}
    assert plan(HYBRID, 8, "0.27").to_dict()["prefix_caching"] is None


def test_more_sequences_than_blocks_of_states_stop_the_engine():
    refusal = plan(HYBRID, 2, "0.27", max_model_len=8192, max_num_seqs=1024).plan.refusal
    assert (refusal.type, refusal.stage) == ("ValueError", "graphs")
    assert "--max-num-seqs 334" in refusal.text
    assert plan(HYBRID, 2, "0.27", max_model_len=8192, max_num_seqs=334).clean
    assert plan(HYBRID, 2, "0.27", max_model_len=8192, max_num_seqs=1024, enforce_eager=True).clean


def test_what_stops_the_engine_is_a_finding_and_what_nobody_knows_is_not(run):
    given = ("plan", WINDOWS, "--kv-cache-memory-bytes", "4G", "--engine", "0.28")
    stops = '{"kv_connector": "Nobody", "kv_role": "kv_both"}'
    assert run(*given, "--kv-transfer-config", stops).returncode == 1
    assert run(*given, "--block-size", "7").returncode == 1
    assert run(*given, "--attention-backend", "FLASHINFER", "--device-capability", "7.0").returncode == 1
    assert run(*given, "--attention-backend", "FLASHINFR").returncode == 2


@pytest.mark.parametrize("engine", ["0.25", "0.28", "0.33"])
def test_nixl_moves_states_in_one_layout_of_convolutions_only(engine):
    nixl = {"kv_transfer_config": {"kv_connector": "NixlConnector", "kv_role": "kv_both"}, "max_model_len": 8192}

    def refusal(**env):
        return kvinspect.plan_model(HYBRID, 8 << 30, engine=engine, engine_args=nixl, env=env).plan.refusal

    assert "VLLM_SSM_CONV_STATE_LAYOUT=DS" in refusal().text
    assert refusal(VLLM_SSM_CONV_STATE_LAYOUT="DS") is None
