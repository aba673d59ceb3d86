"""The forms in which repositories keep engine arguments; `lint --places` names them."""

from __future__ import annotations

YAML_LIST = "YAML: argument list"
YAML_FLAGS = "YAML: flags in one string"
YAML_SHELL = "YAML: shell string"
YAML_MAPPING = "YAML: mapping of engine args"
JSON_LIST = "JSON: argument list"
JSON_SHELL = "JSON: shell string"
JSON_MAPPING = "JSON: mapping of engine args"
SHELL_COMMAND = "Shell script: command"
SHELL_VARIABLE = "Shell: flags kept in a variable/array"
HYDRA = "hydra key=value (RL rollout)"
DOCKERFILE = "Dockerfile"
SETTING = "conf/.env/text: flags in a variable"
UNIT = "systemd unit"
MARKDOWN_SHELL = "Markdown: shell fence"
MARKDOWN_PYTHON = "Markdown: Python fence"
MARKDOWN_YAML = "Markdown: YAML fence"
"""Followed by what the YAML form has behind its colon."""

PYTHON_CALL = "Python: LLM()/EngineArgs() call"
PYTHON_ARGV = "Python: argv list"
PYTHON_SHELL = "Python: shell string"
PYTHON_DICT = "Python: dict of engine kwargs"
NOTEBOOK = "Notebook"

FORMS = (
    YAML_LIST, YAML_FLAGS, YAML_SHELL, YAML_MAPPING, JSON_LIST, JSON_SHELL, JSON_MAPPING, SHELL_COMMAND, SHELL_VARIABLE,
    HYDRA, DOCKERFILE, SETTING, UNIT, MARKDOWN_SHELL, MARKDOWN_PYTHON, MARKDOWN_YAML, PYTHON_CALL, PYTHON_ARGV,
    PYTHON_SHELL, PYTHON_DICT, NOTEBOOK,
)  # fmt: skip
