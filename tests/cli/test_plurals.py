"""One of a thing is never called by its plural, in any format of any command."""

import json
import re

import pytest

from conftest import ROOT, document

PLURAL = re.compile(r"(?<![\d.,_\-/×])1 (?:[a-z]+ )?([a-z]+s)\b")
SINGULAR = {"is", "has", "as", "this", "its", "was", "holds", "needs", "takes", "across", "less", "does", "bytes_"}
SINGULAR |= {"waits"}
OF_VLLM = re.compile(r"GPU KV cache size: .*|Maximum concurrency for .* tokens per request")
"""Lines of vLLM's log, which it writes so itself."""
FORMATS = ("table", "json", "yaml", "markdown")
CALLS = {
    "align": [*FORMATS, "--explain"],
    "cg-support": FORMATS,
    "mm-prefix": [*FORMATS, "svg", "html"],
    "map": ["text", "svg", "html"],
    "doctor": FORMATS,
    "lint": ["text", "json", "github", "sarif", "junit", "gitlab"],
    "plan": [*FORMATS, "document"],
    "plan --sweep max_model_len=1..2": [*FORMATS, "svg", "html"],
    "plan --sweep max_num_seqs=1": [*FORMATS, "svg", "html"],
}


def one_of_each(block_size=1):
    """One block of one token in one layer of one group, and one request of one token."""
    made = document("l")
    cache, features = made["kv_cache_config"], made["multimodal"]["requests"][0]["mm_features"][0]
    cache["num_blocks"] = 1
    cache["kv_cache_groups"][0]["kv_cache_spec"] |= {"block_size": block_size, "num_kv_heads": 1}
    features |= {"modality": "image", "mm_position": {"offset": 0, "length": 1}}
    made["model_config"] = {"num_attention_heads": 1, "max_model_len": 1}
    return made | {"scheduler_config": {"max_num_seqs": 1}}


def planned(**more):
    """What is planned of one layer with memory for one block."""
    spec = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 1, "head_size": 64, "dtype": "bfloat16"}
    return {
        "engine": "0.28",
        "kv_cache_specs": {"l": spec | more},
        "available_memory": [16 * 64 * 4],
        "model_config": {"num_attention_heads": 1, "max_model_len": 1},
    }


DOCUMENTS = {
    "inspected": one_of_each(16),
    "one token": one_of_each(),
    "0.33": one_of_each(16) | {"engine": "0.33"},
    "with a window": one_of_each(16) | {"model_config": {"num_attention_heads": 1, "max_model_len": 1}},
    "planned": planned(),
    "of one byte": planned(block_size=1, head_size=1, dtype="uint8"),
    "padded": planned(page_size_padded=4097) | {"available_memory": [4097]},
}


def calls(file):
    """Every command in every format."""
    for command, formats in CALLS.items():
        for how in formats:
            words = command.split() + ([how] if how.startswith("-") else ["-f", how])
            yield [*words[:1], str(file), *words[1:]]
    yield ["diff", str(file), str(file)]
    yield ["diff", str(file), str(ROOT / "configs/llama-3.1-8b.yaml")]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_one_of_a_thing_is_no_plural(printed, tmp_path, name):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(DOCUMENTS[name]))
    every = list(calls(file))
    answers = printed(every)
    assert sum(code != 2 for code, _, _ in answers) > 5
    for call, (code, out, err) in zip(every, answers, strict=True):
        assert code in (0, 1, 2), (call, err)
        said = OF_VLLM.sub("", re.sub(r"\x1b\[[0-9;]*m|<[^>]*>", "", out + err))
        wrong = [found[0] for found in PLURAL.finditer(said) if found[1] not in SINGULAR]
        assert not wrong, (call, wrong)
