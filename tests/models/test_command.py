"""A `vllm serve` command and its config file as engine arguments."""

import pytest

import kvinspect
from kvinspect.document.source import parse
from kvinspect.engine.catalogue import flags
from kvinspect.models.command import read_file, read_words

FLAGS = flags.read("0.27.1")


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("m --tensor-parallel-size 4", {"tensor_parallel_size": "4"}),
        ("m -tp 4 --max_model_len=8k", {"tensor_parallel_size": "4", "max_model_len": "8k"}),
        ("m --max-model-len -1", {"max_model_len": "-1"}),
        ("--enforce-eager m", {"enforce_eager": True}),
        ("m --no-enable-prefix-caching", {"enable_prefix_caching": False}),
        ("m --compilation-config.cudagraph_mode FULL", {"compilation_config": {"cudagraph_mode": "FULL"}}),
        ('m --speculative-config {"method":"mtp"}', {"speculative_config": {"method": "mtp"}}),
        ("m --num-speculative-tokens 3", {"num_speculative_tokens": "3"}),
        ("m --kv-cache-dtype-skip-layers 0 1", {"kv_cache_dtype_skip_layers": ["0", "1"]}),
        ("m -cc.cudagraph_mode=FULL", {"compilation_config": {"cudagraph_mode": "FULL"}}),
        ("m -cc.mode 3 -cc.use_inductor=true", {"compilation_config": {"mode": 3, "use_inductor": True}}),
        ("-O3 m", {"optimization_level": "3"}),
        ("-O 2 m", {"optimization_level": "2"}),
        ("-O=1 m", {"optimization_level": "1"}),
        ("--trust-remote-code -- m", {"trust_remote_code": True}),
    ],
)
def test_words(words, arguments):
    command = read_words(words.split(), FLAGS)
    assert command.positional == ("m",)
    assert command.arguments == arguments


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("m --tensor-paralel-size 4", "did you mean --tensor-parallel-size?"),
        ("m -O.level=3", "-O.level=3 is no flag of vLLM 0.27.1"),
        ("m -O", "-O is no flag of vLLM 0.27.1"),
        ("m -cx.mode=3", "-cx.mode is no flag of vLLM 0.27.1"),
        ("m --max-model-len", "--max-model-len lacks its value"),
        ("m --compilation-config 3 --compilation-config.mode 0", "sets a key of what is no JSON object"),
    ],
)
def test_words_that_no_release_has(words, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        read_words(words.split(), FLAGS)


def file(text, release="0.27.1"):
    return read_file(parse(text, "serve.yaml"), flags.read(release))


def test_a_file_is_read_as_the_loader_reads_it():
    text = (
        "max-model-len: 32k\nenforce_eager: true\nenable-prefix-caching: false\nblock-size: 32\nhf-overrides: {a: 1}\n"
    )
    expected = {"max_model_len": "32k", "enforce_eager": True, "block_size": "32", "hf_overrides": {"a": 1}}
    assert file(text) == expected
    assert file(text, "0.28.0") == {**expected, "enable_prefix_caching": False}


def test_a_key_of_a_file_that_is_no_flag_is_placed():
    with pytest.raises(kvinspect.DocumentError, match=r"serve.yaml:2:1: max-model-length.*did you mean max-model-len"):
        file("block-size: 16\nmax-model-length: 3\n")


@pytest.mark.parametrize(
    ("word", "name", "value"),
    [
        ("--disable-prefix-caching", "enable_prefix_caching", False),
        ("--enable-hybrid-kv-cache-manager", "disable_hybrid_kv_cache_manager", False),
        ("--no-enable-prefix-caching", "enable_prefix_caching", False),
        ("--disable_sliding_window", "disable_sliding_window", True),
        ("--device-memory-utilization=0.8", "gpu_memory_utilization", "0.8"),
    ],
)
def test_an_alias_is_the_flag_that_it_stands_for(word, name, value):
    assert read_words([word], flags.read("0.33.0")).arguments == {name: value}
