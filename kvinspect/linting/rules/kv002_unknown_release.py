"""KV002: `engine` is a release that the catalogue does not know. The choice of the release finds it."""

from kvinspect.linting.rule import ERROR, Rule

RULE = Rule("KV002", "unknown-release", ERROR, "engine names an unsupported release", kind="file")
