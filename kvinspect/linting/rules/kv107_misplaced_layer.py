"""KV107: a layer on no tensor, on two, or in a group of another spec. The reader of the document finds it."""

from kvinspect.linting.rule import ERROR, Rule

RULE = Rule(
    "KV107", "misplaced-layer", ERROR, "a layer in no allocation, in two allocations, or in two groups", kind="file"
)
