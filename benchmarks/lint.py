"""`kvinspect lint` against what it cannot do without: parsing, and importing what a command line imports.

| | aim | found |
|---|---|---|
| 1,000 documents of 60 lines / PyYAML's C loader parsing them, in one process | 2 | 3.6 to 4.0 |
| one file in a process of its own / importing typer, rich and pydantic and parsing it | 1.5 | 1.55 to 1.6 |
| peak memory of linting the 1,000 | 80 MB | 34 MB |
| a tree of 30,000 files without a word of vLLM / `git grep -l vllm` in it | 5 | 13 to 15 |

Why the first two are over: composing nodes with positions is 0.9 of the parse and validating 0.3, so that 0.8 of it
would be left for the engine's whole start-up of 48 layers, from specs to the proof, in Python; it takes 2.4. It is
spread over two hundred functions, none of which has more than a twentieth. A cold run pays 30 ms for the modules of
the engine and of forty rules. A walk opens each file whose name a detector takes, in one process; git greps in several.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import yaml

from kvinspect.api.lint import Options, lint_many
from measure import ENVIRONMENT, finish, ratio, report, wall

COUNT = 1000
BACKENDS = ("FLASH_ATTN", "FLASHINFER", "TRITON_ATTN")


def group(first, last, backend, spec):
    lines = [f'    - layer_names: ["model.layers.{{{first}..{last}}}.self_attn.attn"]', f"      backend: {backend}"]
    lines += ["      kv_cache_spec:"]
    return [*lines, *(f"        {key}: {value}" for key, value in spec.items())]


def document(number):
    """A model with four groups, each spec written out; heads, blocks and backends differ from one to the next."""
    spec = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 1 + number % 16, "head_size": 128}
    spec |= {"dtype": "bfloat16"}
    window = {**spec, "kind": "sliding_window", "sliding_window": 1024 + number % 7}
    backend = BACKENDS[number % 3]
    head = [f"# Model {number} on one worker.", "# Three layers of four attend to a window.", "kv_cache_layout: NHD"]
    head += ['engine: "0.27"', "platform: cuda", 'device_capability: "9.0"']
    groups = [group(12 * i, 12 * i + 11, backend, spec if i == 3 else window) for i in range(4)]
    tail = ["model_config:", f"  num_attention_heads: {8 * (1 + number % 16)}", "  max_model_len: 131072"]
    tail += ["scheduler_config:", "  max_num_seqs: 256", "  max_num_batched_tokens: 8192"]
    tail += ["compilation_config:", "  mode: VLLM_COMPILE", "  cudagraph_mode: FULL_AND_PIECEWISE"]
    tail += ["parallel_config:", "  tensor_parallel_size: 1", "speculative_config:", "  num_speculative_tokens: 0"]
    tail += ["attention_config:", "  use_non_causal: false", "kv_transfer_config: {}"]
    cache = ["kv_cache_config:", f"  num_blocks: {1024 + number}", "  kv_cache_groups:"]
    lines = [*head, *cache, *(line for lines in groups for line in lines), *tail]
    return "\n".join(lines) + "\n"


def files(folder):
    paths = [pathlib.Path(folder) / f"{number}.yaml" for number in range(COUNT)]
    for number, path in enumerate(paths):
        path.write_text(document(number), encoding="utf-8")
    return [str(path) for path in paths]


def lint(names):
    start = time.process_time()
    results = lint_many(names, Options())
    taken = time.process_time() - start
    assert all(result.judged and result.kind == "document" for result in results)
    return taken


def parse(names):
    start = time.process_time()
    for name in names:
        with open(name, encoding="utf-8") as file:
            yaml.load(file, yaml.CSafeLoader)
    return time.process_time() - start


def peak_megabytes(folder):
    """Of a process of its own that lints the folder."""
    code = f"import sys; sys.argv = ['kvinspect', 'lint', '-q', {folder!r}]; from kvinspect.cli.main import run; run();"
    code += "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return int(done.stdout.split()[-1])


FOREIGN = {
    ".yaml": "apiVersion: v1\nkind: ConfigMap\ndata: {key: value}\n",
    ".py": "import os\n\n\ndef f(x):\n    return os.path.join(x, 'a')\n",
    ".md": "# Title\n\nWords about nothing.\n\n```bash\nls -l\n```\n",
    ".sh": "#!/bin/sh\nset -e\nmake all\n",
    ".json": '{"name": "a", "list": [1, 2, 3]}\n',
    ".txt": "words words words\n",
    ".go": "package main\n\nfunc main() {}\n",
}


def foreign(folder):
    """A repository of 30,000 files that hold nothing of vLLM's."""
    for number in range(30_000):
        suffix = list(FOREIGN)[number % len(FOREIGN)]
        path = pathlib.Path(folder) / f"d{number % 300}" / f"f{number}{suffix}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(FOREIGN[suffix] * (1 + number % 39), encoding="utf-8")
    subprocess.run(["git", "init", "-q", folder], check=True)
    subprocess.run(["git", "-C", folder, "add", "-A"], check=True)


def walked(folder):
    """Over the search of the same files by git, which ends with 1 where it finds nothing."""
    search = ["git", "-C", folder, "grep", "-l", "vllm"]
    lint_it = [sys.executable, "-m", "kvinspect", "lint", "-q", folder]
    return ratio(lambda: timed(lint_it), lambda: timed(search), 3)


def timed(command):
    start = time.perf_counter()
    subprocess.run(command, check=False, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


with tempfile.TemporaryDirectory() as folder:
    foreign(folder)
    tree = report("30,000 foreign files / git grep", walked(folder), 5.0)

with tempfile.TemporaryDirectory() as folder:
    names = files(folder)
    print(len(document(0).splitlines()), "lines a document")
    IMPORTS = f"import typer, rich, pydantic, yaml; yaml.load(open({names[0]!r}), yaml.CSafeLoader)"
    one = [sys.executable, "-m", "kvinspect", "lint", names[0]]
    lint(names[:50])
    results = [
        report(f"{COUNT} documents / parsing them", ratio(lambda: lint(names), lambda: parse(names), 3), 2.0),
        report(
            "one file / imports and parsing it",
            ratio(lambda: wall(one), lambda: wall([sys.executable, "-c", IMPORTS])),
            1.5,
        ),
    ]
    memory = peak_megabytes(folder)
    print(f"peak memory: {memory} MB (at most 80) {'ok' if memory <= 80 else 'OVER'}")
finish([tree, *results, memory <= 80])
