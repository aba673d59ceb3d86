"""Python: which calls, lists and texts hold engine arguments, and which do not."""

import pytest

from kvinspect.document.problem import Mark
from kvinspect.places import python_file


def found(text):
    return list(python_file.find(text, "serve.py"))


def keys(text):
    return [[entry.key.text for entry in one.entries] for one in found(text)]


@pytest.mark.parametrize(
    "text",
    [
        "from vllm import LLM\nLLM(model='m', seed=1)",
        "from vllm import LLM\nLLM('m', seed=1)",
        "from vllm import LLM as Engine\nEngine('m', seed=1)",
        "import vllm\nvllm.LLM('m', seed=1)",
        "import vllm as v\nv.EngineArgs('m', seed=1)",
        "from vllm.engine.arg_utils import AsyncEngineArgs\nAsyncEngineArgs(model='m', seed=1)",
        "from vllm import LLM\nLLM(**{'model': 'm', 'seed': 1})",
        "from vllm import LLM\nK = {'model': 'm', 'seed': 1}\nLLM(**K)",
        "from vllm import LLM\nK = dict(model='m', seed=1)\nLLM(**K)",
        "from ray.serve.llm import LLMConfig  # vllm\nLLMConfig(engine_kwargs=dict(model='m', seed=1))",
    ],
)
def test_calls_that_take_engine_arguments(text):
    assert keys(text) == [["model", "seed"]]


@pytest.mark.parametrize(
    "text",
    [
        "from tensorrt_llm import LLM  # not vllm\nLLM(model='m')",
        "from vllm import LLM\nLLM()",
        "from vllm import LLM\nK = {'model': 'm'}\nf(**K)",
        "'''vllm serve m --seed 1'''",
        "print('vllm serve m --seed 1')",
        "parser.add_argument('--seed', help='vllm serve m --seed 1')",
        "X = 'Run vllm serve m --seed 1'",
        "# vllm serve m --seed 1",
        "X = ['--model', 'vllm serve']",
        "from vllm import (",
    ],
)
def test_what_holds_none(text):
    assert found(text) == []


def test_values_are_what_the_text_says_or_opaque():
    (one,) = found(
        "import os, vllm\nM = 'a/b'\n"
        "vllm.LLM(M, dtype=os.environ.get('D', 'auto'), seed=-1, enforce_eager=True, x=f(), hf_overrides={'a': [1]})"
    )
    values = {entry.key.text: entry.value for entry in one.entries}
    assert [(values[key].text, values[key].opaque) for key in ("model", "seed", "enforce_eager", "x")] == [
        ("a/b", False),
        ("-1", False),
        ("True", False),
        ("f()", True),
    ]
    assert (values["dtype"].opaque, values["dtype"].default) == (True, "auto")
    assert values["model"].begins == Mark(2, 6)
    assert one.entries[-1].nested == {"a": [1]}


def test_a_name_that_is_set_twice_is_not_known():
    (one,) = found("import vllm\nM = 'a'\nM = 'b'\nvllm.LLM(M)")
    assert one.entries[0].value.opaque


def test_columns_count_characters():
    (one,) = found("import vllm\nx = 'é'; vllm.LLM('ü', seed=1)")
    assert (one.command, one.entries[1].key.mark) == (Mark(2, 10), Mark(2, 24))


def test_words_of_a_list_and_what_is_added_to_it():
    text = "def f(x):\n    cmd = ['vllm', 'serve', x] + ['--seed', '1']\n    cmd += ['--port', '2']\n    cmd.extend(['-q', 'fp8'])"
    assert [[word.text for word in one.words] for one in found(text)] == [
        ["x", "--seed", "1"],
        ["--port", "2"],
        ["-q", "fp8"],
    ]


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.system('vllm serve m --seed 1')",
        "import subprocess as s\ns.run(f'vllm serve {m} --seed 1', shell=True)",
        "C = ('vllm serve m '\n     '--seed 1')",
        "C = '''\nvllm serve m \\\\\n  --seed 1\n'''",
        "C = r'vllm serve m --seed 1'",
    ],
)
def test_texts_that_are_run(text):
    (one,) = found(text)
    assert [word.text for word in one.words[1:]] == ["--seed", "1"]
    line, column = one.words[1].mark
    assert text.split("\n")[line - 1][column - 1 :].startswith("--seed")


def test_a_shell_in_a_list_is_one_place():
    (one,) = found("import subprocess as s\ns.run(['bash', '-c', 'vllm serve m --seed 1'])")
    assert one.words[1].mark == Mark(2, 36)


def test_a_key_that_is_added_to_a_dictionary_of_arguments():
    first, second = found("from vllm import LLM\nK = {}\nK['seed'] = 1\nLLM('m', **K)")
    assert ([entry.key.text for entry in first.entries], first.entries[0].key.begins) == (["seed"], Mark(3, 4))
    assert [entry.key.text for entry in second.entries] == ["model"]
