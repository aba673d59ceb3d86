"""`vllm serve --config` files: recognised, read as the engine's loader reads them, and only truly faulted."""

import pytest

import golden
import kvinspect
from conftest import ROOT
from kvinspect.data.catalogue import versions
from kvinspect.linting.settings import Settings


def codes(text, tmp_path, engine="0.27"):
    path = tmp_path / "serve.yaml"
    path.write_text(text, encoding="utf-8")
    result = kvinspect.lint(path, engine=engine, settings=Settings())
    assert result.kind == "serve"
    return [(finding.code, finding.mark.line) for finding in result.findings]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max-model-len: 4096", []),
        ("max_model_len: 4096\ntensor-parallel-size: 2", []),
        ("compilation-config.cudagraph_mode: FULL\nblock-size: 16", []),
        ("no-enable-prefix-caching: true\nblock-size: 16", []),
        ("speculative-config: {model: x, num_speculative_tokens: 3}", []),
        ("max-model-len: 32k", []),
        ("max-model-len: auto", []),
        ("dtype: no\nblock-size: 16", [("KV004", 1)]),
        ("max-num-seqs: 12\nmax-num-seqs: 13", [("KV004", 2)]),
        ("max-num-batched-tokens: 1e4", [("KV004", 1)]),
        ("seed: 22:22\nblock-size: 16", [("KV004", 1)]),
        ("block-size: 020", [("KV004", 1)]),
        ("enforce-eager: false\nblock-size: 16", [("KV004", 1)]),
        ("api-key: []\nblock-size: 16", [("KV004", 1)]),
        ("tokenizer: ~\nblock-size: 16", [("KV004", 1)]),
        ("max-model-len: true", [("KV004", 1)]),
        ("max-model-length: 4096\nblock-size: 16", [("KV005", 1)]),
        ("kv-cache-dtype: fp9", [("KV007", 1)]),
        ("max-model-len: -1", []),
        ("max-model-len: -2", [("KV007", 1)]),
        ("gpu-memory-utilization: 1", []),
        ("gpu-memory-utilization: 1.5", [("KV007", 1)]),
        ("gpu-memory-utilization: nan", [("KV007", 1)]),
        ("max-num-seqs: 0", [("KV007", 1)]),
        ("tensor-parallel-size: -1", [("KV007", 1)]),
        ("attention-backend: flash_attn", []),
        ("attention-backend: auto", []),
        ("attention-backend: FLASHATTN", [("KV001", 1)]),
        ("tensor-parallel-size: two\nblock-size: 16", [("KV007", 1)]),
        ("compilation-config: '{\"mode\": 3'\nblock-size: 16", [("KV007", 1)]),
        ("limit-mm-per-prompt: image=4\nblock-size: 16", [("KV007", 1)]),
        ("limit-mm-per-prompt: {image: 4}\nblock-size: 16", []),
        ("allowed-origins: ['*']\nblock-size: 16", [("KV007", 1)]),
        ("allowed-origins: '[\"*\"]'\nblock-size: 16", []),
        ("max-model-len: [1024, 2048]", [("KV007", 1)]),
        ("api-key: [a, b]\nblock-size: 16", []),
        ("max-num-seqs: 1k", [("KV007", 1)]),
        ("seed: 1.0\nblock-size: 16", [("KV007", 1)]),
        ("max-num-batched-tokens: 8k", []),
        ("max-num-batched-tokens: 1.5K", [("KV007", 1)]),
        ("max-num-batched-tokens: auto", [("KV007", 1)]),
        ("max-model-len: long", [("KV007", 1)]),
        ("kv-cache-memory-bytes: 1.5g", []),
        ("mamba-block-size: None\nblock-size: 16", []),
        ("hf-token: true\nblock-size: 16", []),
        ("compilation-config: true\nblock-size: 16", [("KV004", 1)]),
        ("hf-overrides: word\nblock-size: 16", []),
        ("hf-overrides: '{word}'\nblock-size: 16", [("KV007", 1)]),
        ('kv-transfer-config: \'{"kv_connector": "X", "kv_buffer_size": 80m}\'\nblock-size: 16', []),
    ],
)
def test_what_becomes_of_a_key(text, expected, tmp_path):
    assert codes(text, tmp_path) == expected


def test_false_is_dropped_until_it_negates(tmp_path):
    text = "enable-prefix-caching: false\nblock-size: 16"
    assert codes(text, tmp_path, "0.27") == [("KV004", 1)]
    assert codes(text, tmp_path, "0.28") == []


def test_a_renamed_flag_names_the_releases_that_have_it(tmp_path):
    from kvinspect.data import flags

    old, new = flags.read("0.25.1").by_name, flags.read("0.28.0").by_name
    gone = next(name for name in old if name not in new)
    path = tmp_path / "serve.yaml"
    path.write_text(f"{gone}: 1\nblock-size: 16\n", encoding="utf-8")
    found = kvinspect.lint(path, engine="0.28", settings=Settings()).findings
    assert [f.code for f in found if f.code == "KV005"] == ["KV005"]
    last = next(version for version in reversed(versions()) if gone in flags.read(version).by_name)
    assert f"the last release with it is {last}" in found[0].message


REFUSED = {
    # Taken out before 0.25, where not to log requests became the default, and back since 0.33.
    "gpu-recipes__a4-deepseek-r1-671b.yaml": ["KV005"],
    # Since it takes JSON, --limit-mm-per-prompt refuses the older image=4.
    "gpu-recipes__gemma-4-26b-it-4gpus-bf16-isl1024-osl500-mm4.yaml": ["KV007"],
    "gpu-recipes__gemma-4-31b-4gpus-bf16-isl1024-osl500-mm4.yaml": ["KV007"],
}
"""What the argument parsers of the releases refuse of these files when they are asked, and nothing else."""

# Passes of the compiler, in a value that is JSON text.
NOT_MODELLED = {"vllm-recipes__Llama3.3_Blackwell.yaml": ["KV901"]}


@pytest.mark.parametrize("release", versions())
def test_real_peoples_files_are_recognised_and_their_findings_true(release):
    paths = sorted((ROOT / "tests/cases/serve_configs").glob("*.yaml"))
    results = [kvinspect.lint(path, engine=release, settings=Settings()) for path in paths]
    assert {result.kind for result in results} == {"serve"}
    found = {path.name: [f.code for f in result.findings] for path, result in zip(paths, results, strict=True)}
    refused = {name: codes for name, codes in REFUSED.items() if (release, codes) != ("0.33.0", ["KV005"])}
    assert {name: codes for name, codes in found.items() if codes} == refused | NOT_MODELLED


@pytest.mark.parametrize("name", ["pod.yaml", "package.json", "list.yaml"])
def test_files_of_other_kinds_are_told_apart(name, tmp_path):
    texts = {
        "pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {}\n",
        "package.json": '{"name": "x", "port": 1}',
        "list.yaml": "- a\n",
    }
    path = tmp_path / name
    path.write_text(texts[name], encoding="utf-8")
    assert kvinspect.lint(path, settings=Settings()).kind == "other"


def test_config_json_files_are_recognised():
    kinds = {kvinspect.lint(path, settings=Settings()).kind for path in sorted(golden.models().glob("*.json"))}
    assert kinds == {"model"}


def test_words_that_a_later_check_of_the_engine_refuses(tmp_path):
    assert codes("kv-cache-dtype: fp9", tmp_path, engine="0.33") == [("KV007", 1)]
    assert codes("kv-cache-dtype: fp8", tmp_path, engine="0.33") == []
