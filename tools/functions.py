"""List the functions of vLLM releases, so that what rules declare can be checked without vLLM.

    python tools/functions.py FOLDER ENGINE…

An ENGINE is a folder with an unpacked vLLM wheel. For each one `FOLDER/functions-RELEASE.json.xz` is written: sorted
names, `function` or `Class.method`, of every module that has to do with the cache, backends, graphs and configuration.
"""

from __future__ import annotations

import ast
import json
import lzma
import pathlib
import sys
from collections.abc import Iterator

PARTS = (
    "config",
    "engine/arg_utils.py",
    "model_executor/layers",
    "model_executor/models/config.py",
    "model_executor/models/interfaces.py",
    "model_executor/models/registry.py",
    "platforms",
    "transformers_utils/config.py",
    "transformers_utils/model_arch_config_convertor.py",
    "utils/torch_utils.py",
    "utils/math_utils.py",
    "utils/argparse_utils.py",
    "v1/attention",
    "v1/core",
    "v1/cudagraph_dispatcher.py",
    "v1/engine/core.py",
    "v1/kv_cache_interface.py",
    "v1/kv_cache_spec_registry.py",
    "v1/spec_decode",
    "v1/utils.py",
    "v1/worker",
)


def functions_of(package: pathlib.Path) -> list[str]:
    """Return the names of a vLLM package's functions, sorted."""
    files = (file for part in PARTS for file in _files(package / part))
    return sorted({name for file in files for name in _names(ast.parse(file.read_text(encoding="utf-8")), "")})


def _files(path: pathlib.Path) -> Iterator[pathlib.Path]:
    return iter([path]) if path.is_file() else path.rglob("*.py")  # a release may lack a part: then there is none


def _names(tree: ast.AST, within: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield within + node.name
        elif isinstance(node, ast.ClassDef):
            yield from _names(node, f"{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            yield from _names(node, within)


def main(folder: str, *engines: str) -> None:
    """Write the lists."""
    for engine in map(pathlib.Path, engines):
        release = next(engine.glob("vllm-*.dist-info")).name.removesuffix(".dist-info").split("-")[1].split("+")[0]
        with lzma.open(pathlib.Path(folder) / f"functions-{release}.json.xz", "wt", encoding="utf-8") as file:
            json.dump(functions_of(engine / "vllm"), file)


if __name__ == "__main__":
    main(*sys.argv[1:])
