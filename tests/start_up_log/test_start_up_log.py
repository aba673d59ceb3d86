"""A start-up log: the numbers of real people's logs in the forms that the releases print, to the digit."""

from decimal import Decimal

import pytest
import yaml

from conftest import ROOT
from kvinspect.report import terminal
from kvinspect.report.start_up_log import page
from kvinspect.start_up_log.plan_comparison import Compared, memory_range
from kvinspect.start_up_log.reader import read_start_up_log

CASES = ROOT / "tests/cases/logs.yaml"
PREFIXES = ("", "(EngineCore pid=7476) INFO 07-25 13:42:38 [kv_cache_utils.py:2146] ", "vllm-1  | \x1b[32mINFO\x1b[0m ")


def cases(*kinds):
    known = yaml.safe_load(CASES.read_text())
    found = [case for case in known if case["kind"] in kinds]
    return pytest.mark.parametrize("case", found, ids=lambda case: case["id"])


def size_lines(tokens, length=None, times=None, one_line=False):
    """As 0.19 to 0.28 print them on two lines, and later releases on one."""
    size, most = (
        f"GPU KV cache size: {tokens:,} tokens",
        f"Maximum concurrency for {length:,} tokens per request: {times:.2f}x",
    )
    return f"{size}, {most}\n" if one_line else f"{size}\n{most}\n"


@cases("alignment_only", "hybrid")
@pytest.mark.parametrize("prefix", PREFIXES)
def test_block_sizes_and_padding(case, prefix):
    expected = {**case, **case["expected"]}
    text = (
        f"{prefix}Setting attention block size to {expected['attention_block']} tokens to ensure that attention page size "
        f"is >= mamba page size.\n{prefix}Padding mamba page size by {expected['mamba_padding_pct']:.2f}% to ensure that mamba "
        f"page size and attention page size are exactly equal.\n"
    )
    log = read_start_up_log(text)
    assert log.attention_block_size == expected["attention_block"]
    assert log.mamba_padding_percent == Decimal(f"{expected['mamba_padding_pct']:.2f}")
    assert [line.number for line in log.lines] == [1, 2]


@cases("hybrid", "sliding_plus_full")
@pytest.mark.parametrize("one_line", [False, True])
def test_both_meanings_of_the_size(case, one_line):
    tokens, times, length = case["expected"]["kv_tokens"], case["expected"]["max_concurrency"], case["max_model_len"]
    block = f"Setting attention block size to {case.get('attention_block', 16)} tokens to ensure\n"
    log = read_start_up_log(block + size_lines(tokens, length, times, one_line))
    assert (log.num_tokens, log.max_model_len, str(log.max_concurrency)) == (tokens, length, f"{times:.2f}")
    by_blocks = case.get("token_line", "").startswith("num_blocks")
    assert log.size_meaning == ("blocks" if by_blocks else "concurrency")
    if by_blocks:
        assert log.blocks_per_group == case["num_blocks"] // (case["state_groups"] + 1)


@cases("hybrid", "dense")
def test_memory_and_padding_layers(case):
    gib, layers = case.get("available_kv_gib_logged") or 1.5, case.get("padding_layers") or 3
    text = (
        f"(Worker_TP1 pid=448) INFO 08-14 14:07:22 [gpu_worker.py:563] Available KV cache memory: {gib:.2f} GiB\n"
        f"(Worker_TP0 pid=447) INFO 08-14 14:07:22 [gpu_worker.py:563] Available KV cache memory: {gib:.2f} GiB\n"
        f"WARNING 07-06 10:46:19 [kv_cache_utils.py:1208] Add {layers} padding layers, may waste at most 6.25% KV cache memory\n"
        f"INFO GPU KV cache size: {case['expected']['kv_tokens']:,} tokens\n"
    )
    log = read_start_up_log(text)
    assert log.available_gib == dict.fromkeys(("Worker_TP1", "Worker_TP0"), Decimal(f"{gib:.2f}"))
    assert (log.padding_layers, log.num_tokens) == (layers, case["expected"]["kv_tokens"])
    assert log.size_meaning is None


@cases("needed_memory")
def test_an_engine_that_does_not_start(case):
    gib, length = case["expected"]["needed_gib"], case["max_model_len"]
    text = (
        f"ValueError: To serve at least one request with the model's max seq len ({length}), ({gib} GiB KV cache is needed, "
        f"which is larger than the available KV cache memory (9.5 GiB). Based on the available memory, the estimated maximum "
        f"model length is 207000. Try increasing `gpu_memory_utilization`"
    )
    (line,) = read_start_up_log(text).lines
    assert line.values == {"length": length, "gib": Decimal(str(gib)), "available": Decimal("9.5"), "estimate": 207000}


GRAPHS = """\
WARNING [compilation.py:1389] CUDAGraphMode.FULL_AND_PIECEWISE is not supported with GDNAttentionBackend backend (support: AttentionCGSupport.UNIFORM_BATCH); setting cudagraph_mode=PIECEWISE because attention is compiled piecewise
INFO [gpu_model_runner.py:6681] Profiling CUDA graph memory: PIECEWISE=16 (largest=16), FULL=3 (largest=4)
INFO [gpu_model_runner.py:6806] Estimated CUDA graph memory: 0.36 GiB total
INFO [gpu_worker.py:578] CUDA graph memory profiling is enabled (default since v0.21.0). The current --gpu-memory-utilization=0.8200 is equivalent to --gpu-memory-utilization=0.8048 without CUDA graph memory profiling.
INFO [gpu_model_runner.py:6708] Graph capturing finished in 7 secs, took 0.41 GiB
"""


def test_cuda_graphs():
    log = read_start_up_log(GRAPHS)
    assert [line.kind.removeprefix("graphs_") for line in log.lines] == [
        "narrowed",
        "profiled",
        "estimated",
        "counted",
        "captured",
    ]
    assert log.cudagraph_mode == "PIECEWISE"
    assert log.value("graphs_narrowed", "backend") == "GDNAttentionBackend"
    assert log.value("graphs_counted", "equivalent") == Decimal("0.8048")
    assert read_start_up_log("WARNING Enforce eager set, disabling torch.compile").cudagraph_mode == "NONE"


@pytest.mark.parametrize(
    ("line", "kind", "values"),
    [
        ("Initializing a V1 LLM engine (v0.19.1rc2) with config: model='x'", "release", {"release": "0.19.1rc2"}),
        ("vLLM API server version 0.20.0", "release", {"release": "0.20.0"}),
        ("Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN']", "backend", {"backend": "FLASH_ATTN"}),
        ("Using AttentionBackendEnum.TRITON_ATTN backend.", "backend", {"backend": "TRITON_ATTN"}),
        ("Using HND KV cache layout for FLASHINFER backend.", "layout", {"layout": "HND", "backend": "FLASHINFER"}),
        ("Using fp8 data type to store kv cache. It reduces", "cache_dtype", {"dtype": "fp8"}),
        ("Initial free memory 78.1 GiB, reserved 20.0 GiB memory for KV Cache as specified by kv_cache_memory_bytes config", "reserved", {"gib": Decimal("20.0")}),
        ("Explicitly set (1.0/23.54) GiB for KV cache on node 0.", "reserved", {"gib": Decimal("1.0"), "of_gib": Decimal("23.54")}),
        ("Auto-fit max_model_len: reduced from 131072 to 90112 to fit in", "auto_fit", {"from": 131072, "to": 90112}),
        ("Overriding num_gpu_blocks=300 with num_gpu_blocks_override=200", "override", {"from": 300, "to": 200}),
        ("vllm cache_config_info with initialization after num_gpu_blocks is: 4321", "blocks", {"blocks": 4321}),
        ("No available memory for the cache blocks. Try increasing", "no_memory", {}),
        ("XPU KV cache size: 1,024 tokens", "size", {"tokens": 1024}),
        ("Overriding cudagraph_mode from FULL to PIECEWISE.", "graphs_overridden", {"asked": "FULL", "mode": "PIECEWISE"}),
        ("Pooling models do not support full cudagraphs. Overriding cudagraph_mode to PIECEWISE.", "graphs_overridden", {"mode": "PIECEWISE"}),
    ],
)  # fmt: skip
def test_each_form(line, kind, values):
    (found,) = read_start_up_log(f"noise\nINFO {line}\n").lines
    assert (found.number, found.kind, dict(found.values)) == (2, kind, values)
    assert found.meaning
    assert "{" not in found.meaning


def test_the_last_start_counts():
    log = read_start_up_log(size_lines(1600, 100, 16) + size_lines(3200, 100, 32))
    assert (log.num_tokens, log.max_concurrency) == (3200, Decimal("32.00"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing of the kind\n" * 3,
        "KV cache size: , tokens",
        "GPU KV cache size: ,,, tokens",
        "GPU KV cache size: 1,1,1 tokens",
        "after num_gpu_blocks is: 4,32",
        "\x00\x1b[",
        "A_" * 50_000 + " is not supported graph",
    ],
)
def test_other_text_tells_nothing(text):
    log = read_start_up_log(text)
    assert (log.num_tokens, log.num_blocks) == (None, None)
    assert log.to_dict()["release"] is None


def test_a_long_log_says_of_each_size_what_it_means():
    log = read_start_up_log(size_lines(87376, 40960, 2.13) * 1_000)
    assert len(log.lines) == 2_000
    assert [line.number for line in log.of("size")] == list(range(1, 2_000, 2))
    assert len({line.meaning for line in log.of("size")}) == 1


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (("12.00",), (12879533178, 12890270597)),
        (("0.00",), (0, 5368709)),
        (("-0.68", "3.00"), (0, 0)),
        ((), None),
    ],
)
def test_the_memory_that_a_rounded_size_can_mean(sizes, expected):
    lines = (f"(Worker_TP{i} pid=1) Available KV cache memory: {size} GiB" for i, size in enumerate(sizes))
    assert memory_range(read_start_up_log(lines)) == expected


@pytest.mark.parametrize(
    ("least", "most", "agrees"),
    [(1, 3, True), (None, 3, True), (None, 1, False), (None, None, False), (3, 4, False)],
)
def test_a_number_beside_a_plan_that_less_memory_refuses(least, most, agrees):
    assert Compared("tokens", 2, least, most).agrees is agrees


def test_the_page_explains_each_line_and_escapes_it():
    text = GRAPHS + size_lines(619479, 262144, 2.36) + "Using \x1b]0;x\x07FLASH_ATTN backend\n"
    log = read_start_up_log(text, "a/b.log")
    shown = terminal.render(page(log), width=80, colour=False)
    assert "line 6: GPU KV cache size: 619,479 tokens" in shown
    assert "floor(concurrency × 262,144)" in " ".join(shown.split())
    assert "\x1b" not in shown
    assert "No line of this log" in terminal.render(page(read_start_up_log("")), width=80, colour=False)


@pytest.mark.parametrize(
    ("text", "requested"),
    [
        ("Using AttentionBackendEnum.TRITON_ATTN backend.", True),  # CUDA, 0.25 to 0.33
        ("Using TRITON_ATTN backend (selected via --attention-backend).", True),  # ROCm
        ("Using TRITON_ATTN attention backend out of potential backends: ['TRITON_ATTN'].", False),
        ("Using TRITON_ATTN backend out of potential backends: ['TRITON_ATTN'].", False),
        ("Using TRITON_ATTN backend.", None),  # of a CPU, requested or not
    ],
)
def test_a_requested_backend_is_not_called_that_of_the_highest_priority(text, requested):
    (line,) = read_start_up_log(text).of("backend")
    assert line.values["backend"] == "TRITON_ATTN"
    assert ("highest-priority" in line.meaning) is (requested is not True)
    assert ("the requested backend" in line.meaning) is (requested is not False)
