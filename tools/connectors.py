"""Write `kvinspect/data/<release>/connectors.json`: what a release's KV connectors ask of the cache.

    python tools/connectors.py OUT_DIR

Asked of the connector classes of the vLLM that this Python imports, as on a machine with a CUDA device; the libraries
that they transfer with are hollow where they are not there. Of a connector: whether it takes groups of blocks
(`SupportsHMA`), the layout that it requires for models with and without MLA, and the key of its extra configuration
under which CUDA graphs have to be in pieces. Of NIXL's handshake: the factors of its hash, and which checks it has.
"""

import ast
import importlib.abc
import importlib.machinery
import json
import pathlib
import sys
import types

import pretend

LIBRARIES = (
    "lmcache", "msgpack", "msgspec", "orjson", "nixl", "rixl", "mooncake", "mori", "flexkv", "hf3fs_fuse", "zmq",
    "aiohttp", "fastapi", "uvicorn", "httpx", "quart",
)  # fmt: skip


class Libraries(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Hollow modules for the libraries of connectors that are not installed."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in LIBRARIES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return pretend.HollowModule(spec.name)

    def exec_module(self, module):
        pass


def config(mla):
    """As much of a configuration as the connectors look at for their layout."""
    return types.SimpleNamespace(
        model_config=types.SimpleNamespace(use_mla=mla),
        kv_transfer_config=types.SimpleNamespace(
            kv_connector_extra_config={}, get_from_extra_config=lambda key, default: default
        ),
    )


def layout(cls, mla):
    try:
        found = cls.get_required_kvcache_layout(config(mla))
        return found if isinstance(found, str) else None
    except (AttributeError, KeyError, AssertionError):
        return None


def facts(name, cls, supports_hma):
    out = {"class": cls.__name__, "hybrid": supports_hma(cls) is True}
    layouts = {"plain": layout(cls, False), "mla": layout(cls, True)}
    if any(layouts.values()):
        out["layout"] = layouts
    # The one key that a connector looks at. MultiConnector's answers are those of the connectors within it.
    if name == "MultiConnector":
        out["children"] = "connectors"
    elif cls.requires_piecewise_for_cudagraph({"use_layerwise": True}) is True:
        out["piecewise"] = "use_layerwise"
    return out


def handshake(package):
    """What the handshake of a release's NIXL connector compares, read off its source."""
    folder = package / "distributed" / "kv_transfer" / "kv_connector" / "v1" / "nixl"
    functions = {
        node.name: node
        for name in ("metadata.py", "base_worker.py")
        for node in ast.walk(ast.parse((folder / name).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    check = functions["_validate_remote_agent_handshake"]
    factors = next(
        node.value
        for node in ast.walk(functions["compute_nixl_compatibility_hash"])
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict)
    )
    refuses = [ast.unparse(node) for node in ast.walk(check) if isinstance(node, ast.If)]
    return {
        "hashed": [key.value for key in factors.keys],
        "knows_contexts": any(argument.arg == "remote_dcp_size" for argument in check.args.args),
        "splits_groups": not any(
            text.startswith("if self._is_hma_required:") and "assert block_size_ratio == 1" in text for text in refuses
        ),
        "keeps_nvfp4_whole": any("is_nvfp4" in text for text in refuses),
    }


def main(out_dir):
    pretend.be("cuda", "9.0")
    sys.meta_path.append(Libraries())
    import vllm
    from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
    from vllm.distributed.kv_transfer.kv_connector.v1 import supports_hma

    release = pretend.version()
    found = {name: facts(name, load(), supports_hma) for name, load in KVConnectorFactory._registry.items()}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(found.items()))
    out = pathlib.Path(out_dir, release, "connectors.json")
    checks = json.dumps(handshake(pathlib.Path(vllm.__file__).parent))
    head = f'{{\n "release": {json.dumps(release)},\n "nixl": {checks},\n'
    out.write_text(f'{head} "connectors": {{\n{lines}\n }}\n}}\n', encoding="utf-8")
    print(out, len(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
