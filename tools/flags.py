"""Write `kvinspect/data/<release>/flags.json`: the flags of `vllm serve` that a release has.

    python tools/flags.py OUT_DIR

Asked of the parser of the vLLM that this Python imports, as on a machine with a CUDA device. Of a flag: whether it
takes a value, a list or JSON, its choices, the numbers between which the engine's configuration takes it, and whether
`--no-…` switches it off.
"""

import argparse
import ast
import importlib.util
import inspect
import json
import pathlib
import sys
import typing

import pretend

HOMES = ("openai", "launchers", "common")
"""The folders of `vllm/entrypoints` in which releases keep the flags of `vllm serve`, the oldest first."""

BOUNDS = ("gt", "ge", "lt", "le")


def parser():
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    names = (f"vllm.entrypoints.{home}.cli_args" for home in HOMES)
    name = next(name for name in names if importlib.util.find_spec(name))
    return importlib.import_module(name).make_arg_parser(FlexibleArgumentParser())


def facts(action):
    out = {"takes": takes(action)}
    if action.choices:
        out["choices"] = sorted(map(str, action.choices))
    names = [name for name in action.option_strings if name.startswith("--")]
    # 0.33 pairs --enable-x with --disable-x and takes --no-enable-x all the same.
    if isinstance(action, argparse.BooleanOptionalAction):
        out["negates"] = True
    if names and action.nargs == "?":
        out["optional"] = True
    if converter(action.type).endswith("_or_auto"):
        out["auto"] = True
    short = [name for name in action.option_strings if name not in names]
    if short:
        out["short"] = short
    aliases = [name for name in names[1:] if not name.startswith("--no-")]
    if aliases:
        out["aliases"] = aliases
    return out


def checked():
    """What the configuration classes check after the parser: by argument, the bounds and the words that they take."""
    import vllm.config
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    found, owners = {}, homes()
    for cls in {id(cls): cls for cls in vars(vllm.config).values()}.values():
        for name, field in getattr(cls, "__pydantic_fields__", {}).items():
            if owners.get(name, cls.__name__) == cls.__name__:
                limits = {key: getattr(rule, key) for rule in field.metadata for key in BOUNDS if hasattr(rule, key)}
                found[name] = looser(found[name], limits) if name in found else limits
    found.setdefault("attention_backend", {})["names"] = sorted(["auto", *AttentionBackendEnum.__members__])
    words = typing.get_args(getattr(vllm.config.cache, "CacheDType", None))
    found.setdefault("kv_cache_dtype", {}).update({"words": sorted(words)} if words else {})
    return {name: facts for name, facts in found.items() if facts}


def homes():
    """The configuration class from which an argument of the engine has its default, where it says so."""
    from vllm.engine import arg_utils

    (cls,) = ast.parse(inspect.getsource(arg_utils.EngineArgs)).body
    found = {}
    for line in cls.body:
        match getattr(line, "value", None):
            case ast.Attribute(ast.Name(owner), field) | ast.Call(args=[ast.Name(owner), ast.Constant(field)]):
                if isinstance(line, ast.AnnAssign) and line.target.id == field:
                    found[field] = owner
    return found


def looser(a, b):
    """The bounds of two fields of one name: which of them the flag's value reaches is not said."""
    ends = {"gt": min, "ge": min, "lt": max, "le": max}
    return {key: ends[key](a[key], b[key]) for key in a.keys() & b.keys()}


def converter(function):
    """The name of what turns a flag's word into a value, within the engine's wrappers for errors and for None."""
    while getattr(function, "__name__", "") in ("_parse_type", "_optional_type"):
        (function,) = (cell.cell_contents for cell in function.__closure__)
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__name__', '')}"


def takes(action):
    module, _, kind = converter(action.type).rpartition(".")
    if isinstance(action, argparse.BooleanOptionalAction) or action.nargs == 0:
        return "nothing"
    if "json" in module or "json" in kind or "dataclass" in kind:
        return "json"
    if action.nargs in ("+", "*"):
        return "list"
    if kind in ("int", "float") or kind.startswith(("human_readable_int", "parse_int")):
        return {"int": "int", "float": "float"}.get(kind, "size")
    return "value"


def drops_false():
    """Whether a config file's `key: false` is dropped, or read as `--no-key`."""
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    return "--no-" not in inspect.getsource(FlexibleArgumentParser.load_config_file)


def main(out_dir):
    pretend.be("cuda", "9.0")
    rows, later = {}, checked()
    for action in parser()._actions:
        names = [name for name in action.option_strings if name.startswith("--")]
        if names:
            row = rows[names[0]] = facts(action)
            row.update(fact for fact in later.get(action.dest, {}).items() if "choices" not in row)
    release = pretend.version()
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(rows.items()))
    head = f'{{\n "release": {json.dumps(release)},\n "false": "{"dropped" if drops_false() else "negates"}",\n'
    out = pathlib.Path(out_dir, release, "flags.json")
    out.parent.mkdir(exist_ok=True)
    out.write_text(f'{head} "flags": {{\n{lines}\n }}\n}}\n', encoding="utf-8")
    print(out, len(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
