"""What the tests share: the repository, and a way to run the command."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]


def fuzz_module(name):
    """A module of the fuzzing harness."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tests" / "fuzz" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def document(name, backend="FLASH_ATTN"):
    """A document of one layer and one request, whose names a test chooses."""
    spec = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype": "bfloat16"}
    groups = [{"layer_names": [name], "backend": backend, "kv_cache_spec": spec}]
    model = {"num_attention_heads": 32, "max_model_len": 4096}
    request = {"req_id": name, "mm_features": [{"modality": name, "mm_position": {"offset": 4, "length": 9}}]}
    return {
        "engine": "0.28",
        "kv_cache_config": {"num_blocks": 64, "kv_cache_groups": groups},
        "model_config": model,
        "multimodal": {"requests": [request]},
    }


@pytest.fixture
def root():
    return ROOT


@pytest.fixture
def run(tmp_path):
    """Runs `kvinspect` as a process: run("align", "file", stdin=..., env=...) → completed process."""

    def runner(*arguments, stdin=None, env=None, cwd=ROOT, timeout=60):
        environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR", "NO_COLOR")}
        done = subprocess.run(
            [sys.executable, "-m", "kvinspect", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=not isinstance(stdin, bytes),
            env={**environment, "PYTHONIOENCODING": "utf-8", **(env or {})},
            cwd=cwd,
            timeout=timeout,
        )
        if importlib.util.find_spec("torch") is None and "torch, which is not installed" in str(done.stderr):
            pytest.skip("no torch")
        return done

    return runner


@pytest.fixture
def whisper():
    """A document with mixed layouts, small enough to change at will."""
    spec = {"block_size": 16, "num_kv_heads": 4, "head_size": 64, "dtype": "float16"}
    return {
        "engine": "0.25",
        "platform": "rocm",
        "kv_cache_config": {
            "num_blocks": 8,
            "kv_cache_groups": [
                {
                    "layer_names": ["s.{0..1}"],
                    "backend": "ROCM_ATTN",
                    "kv_cache_spec": {"kind": "full_attention", **spec},
                },
                {
                    "layer_names": ["x.{0..1}"],
                    "backend": "TRITON_ATTN",
                    "kv_cache_spec": {"kind": "cross_attention", **spec},
                },
            ],
        },
        "model_config": {"num_attention_heads": 4, "max_model_len": 448},
    }


@pytest.fixture
def script(tmp_path):
    """The folder of an executable `kvinspect`, as an installed one would be, and an environment that finds it."""
    folder = tmp_path / "runner" / "kvinspect" / "bin"
    folder.mkdir(parents=True)
    path = folder / "kvinspect"
    code = "import sys\nfrom kvinspect.__main__ import main\nsys.exit(main())\n"
    path.write_text(f"#!{sys.executable}\n{code}", encoding="utf-8")
    path.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "GIT_"))}
    return {
        **kept,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "RUNNER_TEMP": str(tmp_path / "runner"),
    }


@pytest.fixture(scope="session")
def printed():
    """(call, document) → what one process for all calls of a document prints; a process each would take minutes."""
    code = """
import contextlib, io, json, sys
from kvinspect.cli.main import run
calls = json.load(sys.stdin)
found = []
for call in calls:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    sys.argv = ["kvinspect", *call]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run()
    found.append([code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()])
json.dump(found, sys.stdout)
"""

    def printed(calls, cwd=ROOT):
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps(calls),
            capture_output=True,
            text=True,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=True,
        )
        return json.loads(done.stdout)

    return printed


def options_of(command):
    """(flags, the kind of value) of each option of a command, as the program declares them."""
    from importlib import import_module
    from typing import get_args, get_type_hints

    from typer.models import OptionInfo

    from kvinspect.cli.command_list import COMMANDS

    function = getattr(import_module(f"kvinspect.cli.{command.replace('-', '_')}"), COMMANDS[command][0])
    for name, hint in get_type_hints(function, include_extras=True).items():
        about = next(iter(getattr(hint, "__metadata__", ())), None)
        if isinstance(about, OptionInfo):
            kinds = [kind for kind in get_args(hint.__origin__) or [hint.__origin__] if kind is not type(None)]
            first = [about.default] if isinstance(about.default, str) else []
            yield [*first, *(about.param_decls or ())] or [f"--{name.replace('_', '-')}"], kinds[0]
