"""KV107: a layer on no tensor, on two, or in a group of another spec. Found by whoever reads the document."""

from kvinspect.linting.rule import ERROR, Rule

RULE = Rule("KV107", "misplaced-layer", ERROR, "a layer on no tensor, on two, or in two groups", kind="file")
