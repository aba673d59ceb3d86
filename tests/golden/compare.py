"""What "equal to the engine's answer" means.

Every field of the golden answer has to be in kvinspect's with the same value; kvinspect may say more. Of a refusal the
stage and the type of the error count, not the words; of a conflict only that there is one. Where the engine refuses
before the alignment, a DocumentError of kvinspect's is as good.
"""

from collections.abc import Iterator, Mapping
from typing import Any

WORDS = {"text", "in", "why", "messages", "warnings", "schema_version"}
"""Fields in the engine's words, which are not ours."""

LOOSE = {"conflict", "conflict_before"}
"""Fields of which only the presence counts: any true counterexample will do."""

EARLY = {"spec", "customize_spec", "layout", "placement", "init_attn_backend", "allocate", "reshape"}
"""The stages before the alignment."""

Difference = tuple[str, Any, Any]
"""(path of a leaf, the golden value, kvinspect's)."""


def difference(golden: Any, answer: Any, path: str = "") -> Iterator[Difference]:
    """Each leaf in which the answer is not the golden one."""
    key = path.rsplit(".", 1)[-1].split("[")[0]
    if key in WORDS:
        return
    if not _alike(key, golden, answer):
        yield path, golden, answer
    elif isinstance(golden, Mapping) and not _is_error(key, golden) and key not in LOOSE:
        for name, value in golden.items():
            yield from difference(value, answer.get(name), f"{path}.{name}" if path else name)
    elif isinstance(golden, list):
        for i, (one, other) in enumerate(zip(golden, answer, strict=True)):
            yield from difference(one, other, f"{path}[{i}]")


def _alike(key: str, golden: Any, answer: Any) -> bool:
    """Whether two values agree, their members aside."""
    if key in LOOSE:
        return (golden is None) == (answer is None)
    if _is_error(key, golden):
        return (answer.get("type") if isinstance(answer, Mapping) else answer) == golden.get("type")
    if isinstance(golden, Mapping):
        return isinstance(answer, Mapping)
    if isinstance(golden, list):
        return isinstance(answer, list) and len(answer) == len(golden)
    if isinstance(golden, float) and isinstance(answer, (int, float)):
        return abs(golden - answer) <= 1e-9 * max(1.0, abs(golden))
    return bool(golden == answer)


def _is_error(key: str, golden: Any) -> bool:
    return key in ("reason", "error") and isinstance(golden, Mapping)


def by_name(answer: Any) -> Any:
    """The answer with layers and tensors sorted, so that their content alone counts."""
    if not isinstance(answer, Mapping):
        return answer
    sorted_rows = {}
    for key, name in (("layers", "layer_name"), ("tensors", "index")):
        rows = answer.get(key)
        if isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows):
            sorted_rows[key] = sorted(rows, key=lambda row, name=name: (str(type(row.get(name))), row.get(name)))
    return {**answer, **sorted_rows}


def flat(specs: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Layer name → backend and spec, from an answer's rows of alike layers."""
    return {
        name: {"backend": row.get("backend"), **row["kv_cache_spec"]}
        for row in specs["layers"]
        for name in row["layer_names"]
    }
