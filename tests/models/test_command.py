"""A `vllm serve` command and its config file as engine arguments."""

import pytest

import kvinspect
from kvinspect.data import flags
from kvinspect.document.source import parse
from kvinspect.models.command import read_file, read_words
from kvinspect.models.dotted import joined

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
        ("m -O.level=3", "-O.level=3 is not a flag of vLLM 0.27.1"),
        ("m -O", "-O is not a flag of vLLM 0.27.1"),
        ("m -cx.mode=3", "-cx.mode is not a flag of vLLM 0.27.1"),
        ("m --max-model-len", "--max-model-len lacks its value"),
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


@pytest.mark.parametrize(
    ("words", "name", "value", "warning"),
    [
        ("--hf-overrides.a.b 1 --hf-overrides.a.b 2", "hf_overrides", {"a": {"b": 2}}, "--hf-overrides.a.b is given twice"),
        ("--hf-overrides.a=1 --hf_overrides.a.b=2", "hf_overrides", {"a": {"b": 2}}, "--hf-overrides.a is given twice"),
        ("--hf-overrides.a.b=2 --hf-overrides.a=1", "hf_overrides", {"a": 1}, "--hf-overrides.a is given twice"),
        ("--hf-overrides [1] --hf-overrides.a=1", "hf_overrides", {"a": 1}, "the keys alone count"),
        ("--hf-overrides.a=1 --hf-overrides {}", "hf_overrides", {"a": 1}, "the keys alone count"),
        ("--compilation-config 3 -cc.mode 0", "compilation_config", {"mode": 0}, "the keys alone count"),
        ('--hf-overrides {"a":1,"a":2}', "hf_overrides", {"a": 2}, "--hf-overrides.a is given twice"),
        ('--hf-overrides {"a":{"b":1,"b":3}}', "hf_overrides", {"a": {"b": 3}}, "--hf-overrides.a.b is given twice"),
        ('--hf-overrides {"a":1,"b":2,"a":3,"b":4}', "hf_overrides", {"a": 3, "b": 4}, r"overrides.a is given twice \(and 1 more\)"),
        ('--hf-overrides.a {"b":1,"b":2}', "hf_overrides", {"a": {"b": 2}}, "--hf-overrides.a.b is given twice"),
    ],
)  # fmt: skip
def test_of_a_key_that_is_given_twice_the_last_counts(words, name, value, warning):
    with pytest.warns(UserWarning, match=warning):
        assert read_words(words.split(), FLAGS).arguments == {name: value}


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("--hf-overrides.a [1] --hf-overrides.a [2,3]", {"a": [1, 2, 3]}),
        ("--hf-overrides.a+ x --hf-overrides.a+=y,z", {"a": ["x", "y", "z"]}),
        ('--hf-overrides.a {"b":1} --hf-overrides.a {"c":2}', {"a": {"b": 1, "c": 2}}),
    ],
)
def test_lists_grow_and_objects_are_joined(words, value, recwarn):
    assert read_words(words.split(), FLAGS).arguments == {"hf_overrides": value}
    assert [*recwarn] == []


@pytest.mark.parametrize(
    ("text", "words", "value"),
    [
        ("hf-overrides.a: 1\nhf-overrides.b: 2\n", "--hf-overrides.b 3", {"a": 1, "b": 3}),
        ("hf-overrides.a: 1\n", '--hf-overrides {"c":1}', {"a": 1}),
        ("hf-overrides: {a: 1}\n", "--hf-overrides.b 3", {"b": 3}),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_dotted_keys_of_a_file_and_of_the_command_are_one_object(text, words, value):
    assert joined(file(text), read_words(words.split(), FLAGS).arguments) == {"hf_overrides": value}


@pytest.mark.parametrize("flag", ["hf-overrides", "speculative-config", "compilation-config", "additional-config"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{bad", "not valid JSON"),
        ("[1,", "not valid JSON"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "at most 50 levels"),
        ("[" * 60 + "]" * 60, "at most 50 levels"),
        (f'{{"a": {"9" * 5000}}}', "a number of 5000 characters"),
        (f"[{'1,' * 60_000}1]", "at most 50000 values"),
    ],
)
def test_broken_json_is_one_clear_message(flag, value, message):
    with pytest.raises(kvinspect.DocumentError, match=message) as caught:
        read_words([f"--{flag}", value], FLAGS)
    assert caught.value.errors[0].path[0] == flag.replace("-", "_")


def test_text_in_braces_is_text_where_the_flag_takes_text():
    template = "{% for message in messages %}"
    assert read_words(["--chat-template", template], FLAGS).arguments == {"chat_template": template}


def test_numbers_of_json_may_have_a_unit():
    words = ["--compilation-config", '{"max_cudagraph_capture_size": 1k}']
    assert read_words(words, FLAGS).arguments == {"compilation_config": {"max_cudagraph_capture_size": 1000}}


def test_a_dotted_flag_has_a_bounded_number_of_keys():
    with pytest.raises(kvinspect.DocumentError, match="at most 50 keys"):
        read_words(["--hf-overrides" + ".a" * 60, "1"], FLAGS)


def test_broken_json_of_a_file_is_placed():
    with pytest.raises(kvinspect.DocumentError, match=r"serve.yaml:2:15: hf-overrides: not valid JSON"):
        file("block-size: 16\nhf-overrides: '{bad'\n")


@pytest.mark.parametrize("value", ["{a: 1}", "{" + "x" * 300 + ": 1}", "[[a]]", "true"])
def test_a_model_of_a_file_is_a_name(value):
    with pytest.raises(kvinspect.DocumentError, match=r"serve.yaml:2:\d+: model: expected the path or the hub id"):
        file(f"block-size: 16\nmodel: {value}\n")


def test_a_model_that_looks_like_json_is_a_name():
    assert read_words(["--model", "{}"], FLAGS).arguments == {"model": "{}"}


@pytest.mark.parametrize(
    ("text", "found"), [("", "nothing"), ("# only\n", "nothing"), ("[]", "[]"), ("x", '"x"'), ("3", "3")]
)
def test_a_file_without_flags_is_told(text, found):
    with pytest.raises(kvinspect.DocumentError) as told:
        file(text)
    assert str(told.value.errors[0]).endswith(f"expected the flags of a `vllm serve`, a mapping, found {found}")
