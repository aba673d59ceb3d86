"""KV001: the file does not parse or validate. The reader finds what is wrong."""

from kvinspect.linting.rule import ERROR, Rule

RULE = Rule("KV001", "invalid-document", ERROR, "the file does not parse or validate", kind="file")
