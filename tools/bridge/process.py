"""A release's own answers, from processes that live on between documents.

vLLM decides some things while it is imported, so each platform and compute capability has a process of its own. A
process that dies, hangs or cannot be started is a failure of the bridge for the document in hand, and no answer.
"""

import json
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

from bridge import cache

CAPABILITIES = {"cuda": "9.0", "rocm": "9.4", "xpu": "", "cpu": ""}
"""Platform → the compute capability of documents that name none."""
SECONDS = 240
"""How long one document may take, the imports of a fresh process included."""
JOBS = 2
"""Processes that work at the same time; each takes about a gigabyte."""


class Engine:
    """A release's answers for one command, kept so that no document is asked twice."""

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
            places.setdefault(self.place(document), []).append(document)

        def at(place):
            for document in places[place]:
                self.answer(document)
            self.close(place)

        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(at, places))
        return [self.answer(document) for document in documents]

    def answer(self, document):
        """The answer to one document; `bridge_failure` says why there is none."""
        text = json.dumps(document)
        if text not in self.kept:
            self.kept[text] = self._asked(self.place(document), text)
        return self.kept[text]

    def close(self, place):
        """End the process of a place."""
        process = self.processes.pop(place, None)
        if process is not None:
            process.kill()
            process.communicate()

    def place(self, document):
        """(platform, capability) of a document; what does not hang on them has one for all."""
        if self.command == "mm-prefix":
            return "cuda", CAPABILITIES["cuda"]
        platform = document.get("platform") or "cuda"
        return platform, str(document.get("device_capability") or CAPABILITIES[platform])

    def _asked(self, place, text):
        process = self.processes.get(place) or self._start(place)
        timer = threading.Timer(SECONDS, process.kill)
        timer.start()
        try:
            process.stdin.write(text + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        finally:
            timer.cancel()
        if line:
            return json.loads(line)
        self.close(place)
        return {"bridge_failure": f"the process ended with {process.returncode}"}

    def _start(self, place):
        command = [str(cache.python()), "-m", "bridge.worker", self.command, *place]
        self.processes[place] = subprocess.Popen(
            command, env=cache.environment(self.release), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return self.processes[place]
