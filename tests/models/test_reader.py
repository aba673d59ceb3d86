"""Every key of a config.json is read by one typed, bounded reader: no module reads in any other way, and no value of
any key that is read ends in anything but an answer or one clear message."""

import ast
import copy
import inspect
import itertools
import math
import re
import sys
import time
from collections import defaultdict

import pytest

import kvinspect
from conftest import ROOT, fuzz_module
from kvinspect.document.limits import MAX_LAYERS
from kvinspect.models.fields import Fields
from kvinspect.models.memory import Memory
from kvinspect.models.readers import Readers

MODELS = ROOT / "kvinspect" / "models"
HOME = ("fields.py", "readers.py")
PRIVATE = {"_raw", "_written", "_plain", "_kind", "_source", "_ruled", "_set", "_list"}
HOSTILE = [
    None, True, "x", -1, 0, 1.5, math.nan, math.inf, 2**31, 2**62, 10**30, [], [0], [None], [-1, "x"] * 3, ["x"] * 9, {},
    {"a": {}}, {"model_type": "umm"}, {"rope_type": 7, "factor": 0, "quant_method": []},
]  # fmt: skip
PLAUSIBLE = {
    "compress_ratios": [4, 128, 0, 4, 4, 4, 4, 4],
    "block_configs": [{"attention": {"n_heads_in_group": 1}}] * 8,
    "num_hidden_layers": 4,
    "architectures": ["LlamaForCausalLM"],
}
"""Values of fields that some models need, 8 for the others."""
ARGUMENTS = (
    {},
    {"kv_cache_dtype": "fp8", "speculative_config": {"method": "mtp", "num_speculative_tokens": 1}},
    {"disable_sliding_window": True, "tensor_parallel_size": 2},
)


@pytest.mark.parametrize("path", sorted(MODELS.rglob("*.py")), ids=lambda path: path.stem)
def test_no_module_reads_a_key_past_the_readers(path):
    if path.name in HOME:
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    assert not {node.attr for node in used} & PRIVATE
    assert path.name in ("config.py", "command.py") or not any(
        ast.unparse(node).endswith("source.value") for node in used
    )


def test_no_reader_hands_out_a_value_without_a_type():
    readers = [pair for pair in inspect.getmembers(Fields, callable) if not pair[0].startswith("_")]
    assert len(readers) > 10
    for name, member in readers:
        returned = str(inspect.signature(member).return_annotation)
        assert not {"Any", "Mapping", "object"} & set(re.findall(r"\w+", returned)), name


def outcome(config, arguments, engine="0.33"):
    """The problem of a configuration, or None where it is answered."""
    start = time.process_time()
    try:
        kvinspect.specs(config, engine=engine, engine_args=arguments).to_dict()
    except kvinspect.DocumentError as error:
        assert len(error.errors) == 1
        assert error.errors[0].text
        return error.errors[0]
    finally:
        assert time.process_time() - start < 5
    return None


def placed(config, path, value):
    """The configuration with a value at a path, what is missing on the way made."""
    changed = copy.deepcopy(config)
    part = changed
    for key, after in itertools.pairwise(path):
        if isinstance(part, dict) and not isinstance(part.get(key), (dict, list)):
            part[key] = [] if isinstance(after, int) else {}
        part = part[key]
    part[path[-1]] = value
    return changed


def completed(config, arguments):
    """The configuration with what it needs and leaves out."""
    for _ in range(30):
        problem = outcome(config, arguments)
        if problem is None or problem.kind != "missing":
            break
        config = placed(config, problem.path, copy.deepcopy(PLAUSIBLE.get(problem.path[-1], 8)))
    return config


def reader():
    """The function outside the readers that asks for a key."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename.endswith(HOME):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_code.co_name}"


@pytest.fixture
def reads(monkeypatch):
    """(function, key) → where in the configuration it was read, kept anew by each call of `clear`."""
    found, raw = {}, Fields._raw

    def recorded(self, name):
        found.setdefault((reader(), name), (*self.path, self._key(name)))
        return raw(self, name)

    monkeypatch.setattr(Fields, "_raw", recorded)
    return found


def test_every_key_that_is_read_survives_every_value(reads):
    asked = {}
    for config in fuzz_module("model_files").seeds(ROOT):
        for arguments in ARGUMENTS:
            reads.clear()
            whole = completed(config, arguments)
            for at, path in reads.items():
                asked.setdefault(at, (whole, path, arguments))
    assert len({name for _, name in asked}) > 120
    by_config = defaultdict(list)
    for (_, name), (config, path, arguments) in asked.items():
        by_config[name].append((config, path, arguments))
    for cases in by_config.values():
        for config, path, arguments in cases:
            for value in HOSTILE:
                outcome(placed(config, path, copy.deepcopy(value)), arguments)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model_type": "umm", "architectures": ["X"]}, "no architecture X"),
        ({"model_type": "pp_formulanet"}, "architectures: is missing"),
        ({"model_type": "qianfan_ocr", "text_config": {"model_type": "mamba"}}, "has no block size"),
        ({"model_type": "deepseek_v4", "decoder": {"model_type": "oneformer"}}, "compress_ratios: is missing"),
        ({"model_type": "olmo3", "hidden_size": 2}, "at most hidden_size (2) heads, found 32"),
        ({"model_type": "zamba2", "num_mem_blocks": 2**62}, f"from 1 on up to {MAX_LAYERS}, found {2**62}"),
        ({"model_type": "nemotron_h", "mamba_ssm_cache_dtype": "FLOAT32"}, "did you mean float32?"),
        (
            {"model_type": "deepseek_v32", "index_head_dim": 128, "index_topk": []},
            "index_topk: expected a whole number",
        ),
        (
            {"model_type": "llama", "num_hidden_layers": 3, "architectures": ["BeeForConditionalGeneration"]},
            "text_config: is missing",
        ),
        ({"model_type": "nemotron_h", "conv_kernel": 1}, "conv_kernel: expected a whole number from 2 on, found 1"),
        (
            {"model_type": "zamba2", "n_mamba_heads": 10**6},
            "n_mamba_heads: expected a whole number from 1 on up to 5120",
        ),
        ({"model_type": 3}, "model_type: expected a word, found 3"),
        ({"model_type": "dbrx", "attn_config": {"kv_n_heads": "8"}}, "attn_config.kv_n_heads: expected a whole number"),
        ({"model_type": "llama", "rope_scaling": {"rope_type": "linear", "factor": math.nan}}, "rope_scaling.factor"),
        ({"model_type": "llama", "torch_dtype": "bfloat"}, "did you mean bfloat16?"),
    ],
)
def test_what_is_said_of_each_kind(config, said):
    assert said in str(outcome(config, {"kv_cache_dtype": "fp8"}))


def test_draft_layers_have_an_end():
    config = {"model_type": "deepseek_v3", "num_nextn_predict_layers": 2**62}
    arguments = {"speculative_config": {"method": "mtp", "num_speculative_tokens": 1}}
    assert f"num_nextn_predict_layers: expected a whole number from 1 on up to {MAX_LAYERS}" in str(
        outcome(config, arguments)
    )
    several = {"model_type": "deepseek_v3", "num_nextn_predict_layers": MAX_LAYERS}
    assert f"more than {MAX_LAYERS} layers" in str(outcome(several, arguments))


def test_values_that_the_engine_takes_stay_accepted():
    plain = {"model_type": "qwen2", "num_hidden_layers": 2}
    same = [
        {**plain, "num_attention_heads": 32.0},
        {**plain, "sliding_window": None, "head_dim": None},
        {**plain, "use_sliding_window": 0},
    ]
    answers = [kvinspect.specs(config, engine="0.33").to_dict()["layers"] for config in (plain, *same)]
    assert all(answer == answers[0] for answer in answers)


def test_a_list_is_read_once_however_often_it_is_asked_for(monkeypatch):
    read, times = Readers._read_list, []
    monkeypatch.setattr(Readers, "_read_list", lambda *a: times.append(a[1]) or read(*a))
    config = {"model_type": "gemma3_text", "num_hidden_layers": 64, "layer_types": ["full_attention"] * 64}
    kvinspect.specs(config, engine="0.33")
    assert times.count("layer_types") < 8


def test_a_release_without_a_mode_for_turboquant_names_none():
    config = {"model_type": "llama", "num_hidden_layers": 8}
    memory = Memory(40 << 30, "given")
    found = kvinspect.plan_model(config, memory, engine="0.25", engine_args={"kv_cache_dtype": "turboquant_k8v4"})
    assert "kv_cache_specs" in found.stages[0].to_planning_document([memory.size])
