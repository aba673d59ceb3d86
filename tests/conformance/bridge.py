"""The real functions of a vLLM release, asked through the bridge that lies beside the checkout.

The bridge wants one process for each command, platform and compute capability, since vLLM decides some things while it
is imported; that takes seconds, so a process lives on until it is closed.
"""

import json
import os
import pathlib
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from conformance.facts import PLACES
from conftest import SHARED

JOBS = 2
"""Processes of an engine that work at the same time; each takes about a gigabyte."""


def lacking(release):
    """Why a release cannot be asked here, or None."""
    if not (SHARED / "oracle" / "worker.py").is_file():
        return "no ../shared/oracle beside this checkout"
    folder = os.environ.get("KV_ORACLE_ENGINES")
    if not folder:
        return "KV_ORACLE_ENGINES names no folder of engines"
    if not (pathlib.Path(folder) / f"v{release}" / "vllm").is_dir():
        return f"vLLM {release} is not in KV_ORACLE_ENGINES"
    return None


class Engine:
    """A release's own answers to documents, kept so that no document is asked twice."""

    def __init__(self, release, command):
        self.release, self.command = release, command
        self.processes = {}
        self.kept = {}

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for place in tuple(self.processes):
            self.close(place)

    def answers(self, documents):
        """The answers to documents, in their order, a few places at a time."""
        places = {}
        for document in documents:
            places.setdefault(self._place(document), []).append(document)

        def at(place):
            found = [self.answer(document) for document in places[place]]
            self.close(place)
            return found

        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(at, places))
        return [self.answer(document) for document in documents]

    def answer(self, document):
        """The answer to one document; `oracle_error` where the bridge itself has none."""
        text = json.dumps(document)
        if text not in self.kept:
            place = self._place(document)
            process = self.processes.get(place) or self._start(place)
            process.stdin.write(self.asked(document) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"the process of vLLM {self.release} ended at {text[:500]}")
            self.kept[text] = {k: v for k, v in json.loads(line).items() if k != "stubbed"}
        return self.kept[text]

    def asked(self, document):
        """What the process is sent."""
        return json.dumps(document)

    def close(self, place):
        """End the process of a place."""
        process = self.processes.pop(place, None)
        if process is None:
            return
        process.stdin.close()
        process.stdout.close()
        process.wait()

    def script(self, place):
        """The bridge's script and its arguments."""
        return ["worker.py", self.command, *place]

    def _place(self, document):
        platform = document.get("platform", "cuda")
        return platform, document.get("device_capability", PLACES[platform][0])

    def _start(self, place):
        name, *arguments = self.script(place)
        command = [os.environ["KV_ORACLE_PYTHON"], str(SHARED / "oracle" / name), *arguments]
        self.processes[place] = subprocess.Popen(
            command, env=self._environment(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return self.processes[place]

    def _environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("VLLM_", "PYTHON"))}
        return {
            **kept,
            "PYTHONPATH": str(pathlib.Path(os.environ["KV_ORACLE_ENGINES"]) / f"v{self.release}"),
            "VLLM_LOGGING_LEVEL": "ERROR",
            "VLLM_PLUGINS": "",
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_CACHE_ROOT": str(pathlib.Path(tempfile.gettempdir()) / "kvinspect-conformance"),
            "OMP_NUM_THREADS": "1",
        }


class Models(Engine):
    """A release's own specs of a model's `config.json`: its model classes, built without weights."""

    def __init__(self, release, command, folder):
        super().__init__(release, command)
        self.folder = folder

    def asked(self, document):
        """A case that names a folder, into which the model's configuration is written."""
        home = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (home / "config.json").write_text(json.dumps(document["config"]), encoding="utf-8")
        arguments = dict(document["engine_args"])
        ranks = arguments.pop("tensor_parallel_size", 1)
        major, minor = map(int, document["device_capability"].split("."))
        case = {"id": home.name, "config": str(home), "args": arguments, "tp": ranks, "capability": [major, minor]}
        return json.dumps({**case, "available_bytes": document["available_memory"]})

    def script(self, place):
        """The script, which reads cases and makes a process of its own for each."""
        return ["model_specs.py", "/dev/stdin"]

    def _place(self, document):
        """One for all capabilities."""
        return "cuda", ""
