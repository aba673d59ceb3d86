"""The plugin in a fake engine: what it writes, and that it never gets in the way."""

import importlib.util
import json
import logging
import os
import pathlib
import stat
import subprocess
import sys
import tomllib
from fractions import Fraction
from types import SimpleNamespace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import kvinspect
from conftest import ROOT
from kvinspect.capture import backends, plugin, quiet, spec_entries, tensors
from kvinspect.capture.write import Rank, file_for, write

torch = pytest.importorskip("torch")

_SPEC = importlib.util.spec_from_file_location("fake_engine", pathlib.Path(__file__).with_name("engine.py"))
fake = importlib.util.module_from_spec(_SPEC)
sys.modules["fake_engine"] = fake
_SPEC.loader.exec_module(fake)


@pytest.fixture
def start(monkeypatch, tmp_path):
    """start(model, file) → (what the worker's method returned, the folder that was written to)."""

    def started(model, file="captured.yaml", times=1, spoil=lambda worker, configs: None):
        for name, module in fake.modules(model).items():
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setenv(plugin.VARIABLE, str(tmp_path / file))
        for _ in range(times):
            plugin.register()
        worker, configs = model.worker()
        spoil(worker, configs)
        return worker.initialize_from_config(configs)

    return started


def documents(folder):
    return {path.name: yaml.safe_load(path.read_text()) for path in folder.iterdir()}


def test_without_the_variable_nothing_happens():
    code = "import sys, kvinspect.capture.plugin as p; p.register(); print([m for m in sys.modules if 'vllm' in m or m.startswith('kvinspect.')])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env={"PATH": "/bin"}, check=True
    )
    assert done.stdout.strip() == "['kvinspect.capture', 'kvinspect.capture.quiet', 'kvinspect.capture.plugin']"
    assert done.stderr == ""


def test_with_the_variable_and_without_vllm_there_is_a_warning(monkeypatch, caplog):
    monkeypatch.setenv(plugin.VARIABLE, "captured.yaml")
    monkeypatch.setitem(sys.modules, "vllm", None)
    plugin.register()
    assert "the KV cache was not captured: ModuleNotFoundError" in caplog.text


def test_the_entry_point_leads_to_the_plugin():
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["vllm.general_plugins"]
    assert points == {"kvinspect_capture": f"{plugin.__name__}:register"}


def test_what_it_writes_is_a_document_that_aligns_as_captured(start, tmp_path):
    assert start(fake.Model()) == "what the engine returns"
    answer = kvinspect.align(tmp_path / "captured.yaml")
    assert (answer.setting.engine, answer.setting.platform) == ("0.26", "cuda")
    assert answer.captured.to_dict() == {
        "vllm": "0.26.1",
        "compared": True,
        "why_not": None,
        "num_layers": 2,
        "differences": [],
    }
    assert answer.clean


def test_what_it_writes(start, tmp_path):
    start(fake.Model())
    document = documents(tmp_path)["captured.yaml"]
    assert document["attention_groups"] == [
        {
            "backend": "FLASH_ATTN",
            "kv_cache_group_id": 0,
            "num_heads_q": 4,
            "layer_names": ["model.layers.0.attn", "model.layers.1.attn"],
        }
    ]
    (group,) = document["kv_cache_config"]["kv_cache_groups"]
    assert group["kv_cache_spec"] == {
        "kind": "full_attention",
        "block_size": 16,
        "num_kv_heads": 2,
        "head_size": 8,
        "dtype": "bfloat16",
    }
    assert document["compilation_config"]["cudagraph_mode"] == "FULL_AND_PIECEWISE"
    captured = document["captured"]
    assert captured["cudagraph"] == {
        "requested_mode": "FULL_AND_PIECEWISE",
        "resolved_mode": "PIECEWISE",
        "groups": [{"kv_cache_group_id": 0, "backend": "FLASH_ATTN", "support": "UNIFORM_BATCH"}],
    }
    assert captured["storages"] == [8192, 8192]
    assert captured["layers"]["model.layers.1.attn"] == [
        {
            "dtype": "bfloat16",
            "item_size": 2,
            "shape": [8, 2, 16, 16],
            "stride": [512, 16, 32, 1],
            "storage_offset": 0,
            "storage": 1,
            "byte": 0,
        }
    ]


@pytest.mark.parametrize(
    ("runner", "word"), [(fake.GPUModelRunnerV1, "v1"), (fake.GPUModelRunnerV2, "v2"), (object, None)]
)
def test_the_runner_is_known_by_its_module(start, tmp_path, runner, word):
    start(fake.Model(runner_class=type("Mine", (runner,), {})))
    assert documents(tmp_path)["captured.yaml"].get("model_runner") == word


def test_no_path_and_no_contents_are_written(start, tmp_path):
    start(fake.Model())
    text = (tmp_path / "captured.yaml").read_text()
    assert "someone" not in text
    assert "77" not in text
    assert str(tmp_path) not in text


def test_a_file_a_rank(start, tmp_path):
    for rank in range(3):
        start(fake.Model(world_size=3, rank=rank))
    found = documents(tmp_path)
    assert sorted(found) == ["captured.rank-0.yaml", "captured.rank-1.yaml", "captured.rank-2.yaml"]
    assert found["captured.rank-2.yaml"]["captured"]["rank"]["rank"] == 2


@pytest.mark.parametrize(
    ("path", "rank", "file"),
    [
        ("a/b.json", Rank(0), "a/b.json"),
        ("a/b.json", Rank(1, 2, 3, 4), "a/b.dp-3-rank-1.json"),
        ("a/b.json", Rank(0, 1, 1, 2), "a/b.dp-1-rank-0.json"),
        ("a/", Rank(0), "a/captured.yaml"),
        ("out", Rank(1, 2), "out.rank-1"),
    ],
)
def test_names_of_files(path, rank, file):
    assert file_for(path, rank) == pathlib.Path(file)


def test_json_where_the_name_says_so_and_the_folder_is_made(start, tmp_path):
    start(fake.Model(), "new/folder/captured.json")
    assert json.loads((tmp_path / "new/folder/captured.json").read_text())["engine"] == "0.26"
    assert [path.name for path in (tmp_path / "new/folder").iterdir()] == ["captured.json"]


def test_loading_it_twice_wraps_once(start, tmp_path):
    model = fake.Model()
    start(model, times=3)
    assert len(model.calls) == 1
    assert not hasattr(
        sys.modules["vllm.v1.worker.worker_base"].WorkerWrapperBase.initialize_from_config.__wrapped__, "__wrapped__"
    )


def no_groups(worker, configs):
    del configs[0].kv_cache_groups


def unknown_spec(worker, configs):
    configs[0].kv_cache_groups[0].kv_cache_spec = SimpleNamespace()


def no_mode(worker, configs):
    del worker.vllm_config.compilation_config.cudagraph_mode


@pytest.mark.parametrize("spoil", [no_groups, unknown_spec, no_mode])
def test_a_failure_of_ours_is_a_warning_and_the_engine_goes_on(start, tmp_path, caplog, spoil):
    with caplog.at_level(logging.WARNING):
        assert start(fake.Model(), spoil=spoil) == "what the engine returns"
    assert "kvinspect: the KV cache was not captured" in caplog.text
    assert documents(tmp_path) == {}


def test_a_file_that_cannot_be_written_is_a_warning_without_its_path(start, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    assert start(fake.Model(), "file/captured.yaml") == "what the engine returns"
    assert "FileExistsError: File exists\n" in caplog.text


class Unspeakable(Exception):
    def __str__(self):
        raise SystemExit("no words")


class Raising(logging.Handler):
    def emit(self, record):
        raise SystemExit("the handler")


ENDS = [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), Unspeakable(), RecursionError(), MemoryError()]


@pytest.mark.parametrize("error", ENDS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("handler", [None, Raising()], ids=["plain log", "raising handler"])
def test_nothing_whatever_leaves_it(start, tmp_path, error, handler):
    def spoil(worker, configs):
        class Hostile:
            @property
            def kv_cache_groups(self):
                raise error

        configs[0] = Hostile()

    if handler:
        quiet.logger.addHandler(handler)
    try:
        assert start(fake.Model(), spoil=spoil) == "what the engine returns"
    finally:
        quiet.logger.removeHandler(handler)
    assert documents(tmp_path) == {}


def test_nothing_leaves_an_import_that_fails(monkeypatch, caplog):
    monkeypatch.setenv(plugin.VARIABLE, "captured.yaml")
    monkeypatch.setitem(sys.modules, "kvinspect.capture.hook", None)
    plugin.register()
    assert "the KV cache was not captured" in caplog.text


def test_an_errors_words_reach_the_log_on_one_line(caplog):
    def fail():
        raise ValueError("x\n::error::\x1b[31m")

    quiet.quietly(fail)
    assert caplog.messages == ["kvinspect: the KV cache was not captured: ValueError: x\\n::error::\\x1b[31m"]


def test_a_device_is_written_to_and_a_pipe_that_nobody_reads_is_not_waited_for(start, tmp_path, caplog):
    assert file_for("/dev/null", Rank(1, world_size=2)) == pathlib.Path("/dev/null")
    os.mkfifo(tmp_path / "pipe")
    assert start(fake.Model(), "pipe") == "what the engine returns"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert "was not captured: OSError" in caplog.text


def test_a_link_is_followed_and_a_planted_one_beside_it_is_not(start, tmp_path):
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "captured.yaml").symlink_to("real.yaml")
    for number in range(os.getpid(), os.getpid() + 3):
        (tmp_path / f".captured.yaml.{number}").symlink_to("victim")
    start(fake.Model())
    assert (tmp_path / "victim").read_text() == "mine"
    assert (tmp_path / "captured.yaml").is_symlink()
    assert "kv_cache_config" in yaml.safe_load((tmp_path / "real.yaml").read_text())


def test_two_containers_with_one_process_number_do_not_meet(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "getpid", lambda: 7)
    seen = set()
    replace = os.replace

    def note(new, target):
        seen.add(new)
        replace(new, target)

    monkeypatch.setattr(os, "replace", note)
    for _ in range(2):
        write(tmp_path / "captured.yaml", {"engine": "0.26"})
    assert len(seen) == 2


def test_the_engines_own_error_is_the_engines(start, tmp_path):
    def refuse(worker, configs):
        worker.model = None

    with pytest.raises(AttributeError):
        start(fake.Model(), spoil=refuse)
    assert documents(tmp_path) == {}


def test_a_backend_that_is_not_vllms_is_described(start, tmp_path):
    start(fake.Model(backend=fake.NPUBackend))
    document = documents(tmp_path)["captured.yaml"]
    assert document["backends"] == {
        "NPUBackend": {
            "kv_cache_shape": ["num_blocks", "num_kv_heads", "block_size", "2*head_size"],
            "cudagraph_support": "UNIFORM_BATCH",
            "kv_cache_stride_order": [0, 2, 1, 3],
            "supported_kernel_block_sizes": [64, "16n"],
        }
    }
    answer = kvinspect.align(document)
    assert [(one.what, one.captured) for one in answer.captured.differences] == [("stride", "[512, 256, 16, 1]")]


def test_a_class_made_at_run_time_is_the_one_that_it_is_made_of(monkeypatch):
    for name, module in fake.modules(fake.Model()).items():
        monkeypatch.setitem(sys.modules, name, module)
    made = type("ChunkedLocalAttention_16", (fake.FlashAttentionBackend,), {"__module__": "vllm.model_executor.layers"})
    assert backends.name_of(made) == "FLASH_ATTN"
    assert backends.name_of(fake.NPUBackend) == "NPUBackend"


def test_later_releases_place_many_layers_on_one_tensor(start, tmp_path):
    names = ["model.layers.0.attn", "model.layers.1.attn"]
    tensor = SimpleNamespace(size=16384, layers=names, offset=0, layer_stride=8192, block_stride=1024)

    def spoil(worker, configs):
        configs[0].kv_cache_tensors = [tensor]

    start(fake.Model(version="0.33.0"), spoil=spoil)
    document = documents(tmp_path)["captured.yaml"]
    assert document["engine"] == "0.33"
    assert document["kv_cache_config"]["kv_cache_tensors"] == [
        {"size": 16384, "layers": names, "layer_stride": 8192, "block_stride": 1024}
    ]
    kvinspect.load(document)


def test_states_are_read_from_the_runners_whole_where_there_is_one():
    pages = torch.zeros(4 * 64, dtype=torch.int8).view(4, 1, 1, 64)
    states = (pages.view(4, 64)[:, :16].view(torch.float32), pages.view(4, 64)[:, 16:])
    attention = pages.view(-1).view(torch.bfloat16).view(4, 2, 16)
    layer = SimpleNamespace(kv_cache=states)
    assert [tuple(t.shape) for t in tensors.tensors_of(layer, [attention, pages])] == [(4, 1, 1, 64)]
    assert [tuple(t.shape) for t in tensors.tensors_of(layer, [attention])] == [(4, 4), (4, 48)]
    assert tensors.tensors_of(SimpleNamespace(kv_cache=torch.tensor([])), []) == []
    assert tensors.tensors_of(SimpleNamespace(), []) == []
    storages = tensors.Storages()
    found = tensors.captured_layers({"a": layer, "b": SimpleNamespace(kv_cache=attention)}, [[states[0]]], storages)
    assert [view["byte"] for view in found["a"]] == [0, 16]
    assert {view["storage"] for views in found.values() for view in views} == {0}
    assert storages.sizes == [256]


def test_specs_by_kind():
    word = fake.CUDAGraphMode.NONE
    mamba = fake.MambaSpec(
        256, ((3, 8), (4, 4)), (torch.bfloat16, torch.float32), page_size_padded=512, mamba_type=word
    )
    assert spec_entries.spec_entry(mamba) == {
        "kind": "mamba", "block_size": 256, "shapes": [[3, 8], [4, 4]], "dtypes": ["bfloat16", "float32"],
        "page_size_padded": 512, "mamba_type": "NONE",
    }  # fmt: skip
    full = fake.FullAttentionSpec(16, 2, 8, torch.float16, head_size_v=4, sliding_window=32)
    mine = type("MySpec", (fake.FullAttentionSpec,), {})(16, 1, 8, torch.uint8)
    assert spec_entries.plain([type("MultipleOf", (), {"base": 64})(), Fraction(1, 2)]) == ["64n", "1/2"]
    with pytest.raises(TypeError):
        spec_entries.plain(SimpleNamespace(path="/home/someone"))
    uniform = spec_entries.spec_entry(fake.UniformTypeKVCacheSpecs(16, {"a": full, "b": mine}))
    assert uniform["kind"] == "uniform_type"
    assert uniform["kv_cache_specs"]["a"]["head_size_v"] == 4
    assert uniform["kv_cache_specs"]["b"] == {
        "kind": "full_attention",
        "block_size": 16,
        "num_kv_heads": 1,
        "head_size": 8,
        "dtype": "uint8",
    }
    with pytest.raises(LookupError, match="CircularBuffer"):
        spec_entries.spec_entry(type("CircularBuffer", (), {})())


@given(st.sets(st.sampled_from(list(backends.ASKED))), st.integers(1, 6))
def test_an_entry_of_a_shape_says_what_it_is_a_product_of(sizes, times):
    dim = times
    for size in sizes:
        dim *= backends.ASKED[size]
    entry = backends.entry_of(dim)
    factors = str(entry).split("*")
    assert set(factors) - {str(times)} == sizes
    assert (str(times) in factors) == (times != 1 or not sizes)
