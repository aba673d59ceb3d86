"""Hostile settings, baselines and .gitignore files around good documents: what `lint` must survive."""

import json

import mutations

SETTINGS = """[tool.kvinspect]
select = ["KV1", "KV3", "mixed-layouts-skipped"]
ignore = ["KV305"]
engine = "0.25,0.28"
platform = "cuda"
device-capability = "9.0"
fail-on = "warning"
baseline = "baseline.json"

[tool.kvinspect.per-file-ignores]
"configs/*.yaml" = ["KV1"]
"old*" = ["KV101", "KV303"]

[tool.kvinspect.severity]
KV303 = "note"
"""
ROW = {"source": "configs/x.yaml", "code": "KV303", "fingerprint": "0123456789abcdef", "message": "x"}
BASELINE = json.dumps({"schema_version": 1, "findings": [ROW, {**ROW, "code": "KV101"}]}, indent=1)
IGNORED = "# build\n/build/\n*.tmp\n!keep.tmp\nconfigs/**/old*.yaml\n**/x?.json\n[a-c]*\n/log7*\n\\#x\nx\\ \n"
VALUES = [
    "[]", "{}", "''", "'KV'", "['KV999']", "[1]", "[[]]", "1", "-1", "1e999", "nan", "true", "'\\u202e'", "9" * 400, "9" * 6_000, "0x" + "f" * 500,
    "1979-05-27T07:32:00Z", "'''\n'''", "[" * 200, "[" * 90_000, "{a=" * 9_000, '"' + "x" * 90_000 + '"', "['KV1'," + "'KV1'," * 9_000 + "]",
    "'/dev/zero'", "'/dev/stdin'", "'.'", "'../' ", "'\\x00'", "['*' , '**', '[', '[!', '[]a', '\\\\']", "'0.25,0.99,,'", "'cuda,rocm'",
]  # fmt: skip
PATTERNS = [
    "*" * 30 + "x", "**/" * 40 + "x", "a*" * 40 + "b", "[" * 300, "[]", "[!]", "[a-", "[z-a]*", "\\", "\\\\", "!", "!!x", "/", "//", "x" * 60_000, "?" * 500,
    "*/" * 400, "[[:alpha:]]*", "[[:nope:]]", "\x00", "\ufeff*.yaml", "{a,b}", "*.yaml\r", "  ", "#", "\\#", "(a+)+$", "[^a]*", "***", "**a**", "/**/", "a/**",
]  # fmt: skip
BASELINES = [
    "[" * 100_000, "{}", "[]", "3", '{"findings": 3}', '{"findings": [3]}', '{"findings": [{"fingerprint": []}]}', "\x00",
    json.dumps({"findings": [{**ROW, "fingerprint": str(i)} for i in range(20_000)]}), '{"findings": [' + "[]," * 1_300_000 + "[]]}",
    '{"findings": [{"fingerprint": ' + "9" * 9_000 + "}]}", "[" + "1," * 2_000_000 + "1]",
]  # fmt: skip
TEXTUAL = [
    mutations.truncated, mutations.bytes_flipped, mutations.lines_shuffled, mutations.number_replaced, mutations.deeply_nested,
    mutations.encoding_changed, mutations.repeated, mutations.syntax_added,
]  # fmt: skip
CALLS = [
    ("lint", "."),
    ("lint", "configs"),
    ("lint", "configs/x.yaml"),
    ("lint", ".", "-f", "sarif"),
    ("lint", ".", "-f", "json"),
]
CALLS += [
    ("lint", ".", "--baseline", "baseline.json"),
    ("lint", ".", "--config", "settings.toml", "-v"),
    ("align", "."),
]


def around(number, good, chance):
    """(files, the words of a call): a folder of good documents with one hostile file, or several, among them."""
    name = chance.choice(("pyproject.toml", "kvinspect.toml", "settings.toml"))
    settings = (
        SETTINGS
        if name == "pyproject.toml"
        else SETTINGS.replace("tool.kvinspect.", "").replace("[tool.kvinspect]\n", "")
    )
    files = {
        "configs/x.yaml": chance.choice(good).encode(),
        "old.yaml": chance.choice(good).encode(),
        name: settings.encode(),
        "settings.toml": settings.encode(),
        "baseline.json": BASELINE.encode(),
        ".gitignore": IGNORED.encode(),
    }
    hostile = ((name, _settings), ("baseline.json", _baseline), (".gitignore", _patterns))
    for which, mutate in chance.choices(hostile, (3, 2, 2), k=1) if chance.random() < 0.7 else hostile:
        files[which] = mutate(files[which].decode("utf-8", "replace"), chance)
    return files, chance.choice(CALLS)


def _settings(text, chance):
    if chance.random() < 0.4:
        return chance.choice(TEXTUAL)(text or "x", chance)
    lines = text.splitlines()
    at = chance.randrange(len(lines) or 1)
    key = (
        lines[at].partition("=")[0].strip()
        if lines and "=" in lines[at]
        else chance.choice(("engine", "select", "zzz", '"\\u0000"', "a." * 200 + "b"))
    )
    line = f"{key} = {chance.choice(VALUES)}"
    lines[at : at + chance.randrange(2)] = [line] * (chance.choice((1, 1, 1, 2_000)) if len(line) < 100 else 1)
    return "\n".join(lines).encode("utf-8", "replace")


def _baseline(text, chance):
    if chance.random() < 0.4:
        return mutations.mutated(text, chance) if text.startswith("{") else b"{}"
    return chance.choice(BASELINES).encode()


def _patterns(text, chance):
    if chance.random() < 0.3:
        return chance.choice(TEXTUAL)(text or "x\n", chance)
    lines = text.splitlines() + chance.sample(PATTERNS, chance.choice((1, 3, 8)))
    return "\n".join(lines * chance.choice((1, 1, 40))).encode("utf-8", "replace")
