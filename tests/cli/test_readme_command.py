"""The README's first command, as a process to which every network is closed."""

import re
import shlex
import subprocess
import sys
import time

from conftest import ROOT

CLOSED = """
import os, runpy, socket, sys
def closed(*_, **__):
    os.write(2, b"a network was asked")
    os._exit(9)
socket.socket.connect = socket.create_connection = socket.getaddrinfo = closed
sys.argv[0] = "kvinspect"
runpy.run_module("kvinspect", run_name="__main__", alter_sys=True)
"""
SECONDS = 20
"""Far more than the half second that it takes on a quiet machine (`benchmarks/startup.py`), for a busy one."""


def test_the_first_command_of_the_readme_answers_in_its_first_line_without_a_network(tmp_path):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"```console\n(.*)\n", page)[1]
    assert first == "kvinspect plan Qwen/Qwen3-32B --gpu 2xH100 --max-model-len 32k --kv-cache-dtype fp8"
    env = {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": "", "PYTHONIOENCODING": "utf-8"}
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", CLOSED, *shlex.split(first)[1:]], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert time.monotonic() - began < SECONDS
    assert (done.returncode, done.stderr) == (0, "")
    answer = done.stdout.splitlines()[0]
    assert re.fullmatch(r"✓ Fits: \d+–\d+ concurrent requests of 32,000 tokens \(estimated\)", answer), answer
    asked = [sys.executable, "-c", CLOSED, "plan", "me/nowhere", "--gpu", "H100"]
    assert "a network was asked" in subprocess.run(asked, env=env, capture_output=True, text=True).stderr
