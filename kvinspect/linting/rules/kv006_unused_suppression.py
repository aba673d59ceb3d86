"""KV006: a comment that silences nothing. Found when all other findings are known."""

from kvinspect.linting.rule import WARNING, Rule

RULE = Rule(
    "KV006", "unused-suppression", WARNING, "a kvinspect: ignore comment that suppresses no finding", kind="file"
)
