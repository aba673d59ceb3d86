"""`kvinspect capture`."""

from __future__ import annotations

import typer

from kvinspect.cli.options import Debug

EXAMPLES = """\b
Install kvinspect beside vLLM, from a clone or a wheel of it, and set the variable in front of the command:
  pip install ./kvinspect
  KVINSPECT_CAPTURE=captured.yaml vllm serve MODEL

\b
In a container, whose image has it by a line "RUN pip install ./kvinspect":
  docker run -e KVINSPECT_CAPTURE=/out/captured.yaml -v "$PWD/out:/out" IMAGE ...

\b
Then:
  kvinspect align captured.yaml
  kvinspect doctor captured.yaml
"""


def capture(context: typer.Context, debug: Debug = False) -> None:
    """How to have a running vLLM write its KV cache as a document: nothing to run, a variable to set.

    kvinspect is a plugin of vLLM (0.25 and later, both model runners). Where KVINSPECT_CAPTURE names a file, every rank
    writes one when its KV cache is there: captured.yaml, or captured.rank-0.yaml, captured.rank-1.yaml, ... of
    several. Groups, specs, tensors, backends, layout, CUDA graph mode, and of every layer what its tensor is; no
    contents, no prompts, no paths. Without the variable the plugin does nothing. VLLM_PLUGINS, where it is set, has to
    name kvinspect_capture.
    """
    typer.echo(context.get_help())
