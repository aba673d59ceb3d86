"""Where the document of a rank goes, and writing it whole or not at all."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, NamedTuple

from kvinspect.output.files import is_stream, write_files


class Rank(NamedTuple):
    """Which worker this is: its rank among those of its engine, and which engine of the data-parallel ones."""

    rank: int
    world_size: int = 1
    data_parallel_rank: int = 0
    data_parallel_size: int = 1

    @classmethod
    def of(cls, wrapper: Any) -> Rank:
        """The rank of a worker by its `WorkerWrapperBase`."""
        parallel = wrapper.vllm_config.parallel_config
        engine = getattr(parallel, "data_parallel_rank", 0), getattr(parallel, "data_parallel_size", 1)
        return cls(wrapper.global_rank, parallel.world_size, *engine)

    @property
    def label(self) -> str:
        """`rank-1`, `dp-0-rank-1` with several engines, nothing for a rank that is alone."""
        if self.data_parallel_size > 1:
            return f"dp-{self.data_parallel_rank}-rank-{self.rank}"
        return f"rank-{self.rank}" if self.world_size > 1 else ""


def file_for(path: str, rank: Rank) -> pathlib.Path:
    """The file of a rank: the path as it stands for one that is alone, else with its label before the ending.

    In a folder, or where the path ends with a slash, `captured.yaml` is taken for a name. A device or a pipe is one
    for all ranks.

    >>> print(file_for("captured.yaml", Rank(1, world_size=4)))
    captured.rank-1.yaml
    """
    file = pathlib.Path(path)
    if is_stream(path):
        return file
    if path.endswith(("/", os.sep)) or file.is_dir():
        file = file / "captured.yaml"
    return file.with_name(f"{file.stem}.{rank.label}{file.suffix}") if rank.label else file


def write(file: pathlib.Path, document: dict[str, Any]) -> None:
    """Write a document as JSON where the name ends so, else as YAML, as `-o` writes a file.

    A reader sees the old file or the new one. An engine does not wait for the reader of a pipe.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    write_files({str(file): _text(document, file.suffix.lower() == ".json")}, wait=False)


def _text(document: dict[str, Any], as_json: bool) -> str:
    if as_json:
        return json.dumps(document, indent=1) + "\n"
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(document, Dumper=dumper, sort_keys=False, default_flow_style=None, width=120))
