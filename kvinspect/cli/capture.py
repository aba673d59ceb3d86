"""`kvinspect capture`."""

from __future__ import annotations

import typer

from kvinspect.cli.options import Debug

EXAMPLES = """\b
Install kvinspect into vLLM's environment, from a clone or a wheel, and set the variable in front of the command:
  pip install ./kvinspect
  KVINSPECT_CAPTURE=captured.yaml vllm serve MODEL

\b
In a container, with "RUN pip install ./kvinspect" in the image's Dockerfile:
  docker run -e KVINSPECT_CAPTURE=/out/captured.yaml -v "$PWD/out:/out" IMAGE ...

\b
Then:
  kvinspect align captured.yaml
  kvinspect doctor captured.yaml
"""


def capture(context: typer.Context, debug: Debug = False) -> None:
    """How to write the KV cache of a running vLLM as a document: set an environment variable.

    kvinspect is a vLLM plugin (0.25 and later, both model runners). If KVINSPECT_CAPTURE names a file, every rank
    writes a document after it has allocated its KV cache: captured.yaml, or with several ranks captured.rank-0.yaml,
    captured.rank-1.yaml, ... It holds groups, specs, tensors, backends, the layout, the CUDA graph mode, and the shape
    and strides of every layer's tensor; no contents, prompts or paths. Without the variable the plugin does nothing.
    If VLLM_PLUGINS is set, it must include kvinspect_capture.
    """
    typer.echo(context.get_help())
