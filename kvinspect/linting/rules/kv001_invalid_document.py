"""KV001: the file does not parse or validate. What is wrong is found by whoever reads it."""

from kvinspect.linting.rule import ERROR, Rule

RULE = Rule("KV001", "invalid-document", ERROR, "the file does not parse or validate", kind="file")
