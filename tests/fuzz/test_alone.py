"""Hostile documents, models and flags reach no network and start no program: an audit hook of Python ends who tries."""

import subprocess
import sys

import pytest

from conftest import ROOT

WATCHED = """
import os, runpy, sys
FORBIDDEN = ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")
def watch(event, arguments):
    if event in FORBIDDEN:
        os.write(2, f"forbidden: {event}".encode())
        os._exit(9)
sys.addaudithook(watch)
"""
FUZZ = WATCHED + "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
TRIED = WATCHED + "import socket; socket.create_connection(('127.0.0.1', 9))"


@pytest.mark.parametrize("what", ["documents", "models", "flags"])
def test_hostile_input_reaches_no_network_and_starts_no_program(what, tmp_path):
    words = [str(ROOT / "tests/fuzz/harness.py"), "--what", what, "--count", "100", "--jobs", "1"]
    # An offline call: a name that is nowhere is asked of the hub where a person may be online.
    env = {"HF_HUB_OFFLINE": "1", "HOME": str(tmp_path), "PATH": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", FUZZ, *words], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100 calls ended" in done.stdout
    assert "forbidden" not in done.stdout + done.stderr


def test_whoever_tries_is_ended():
    done = subprocess.run([sys.executable, "-c", TRIED], capture_output=True, text=True)
    assert (done.returncode, done.stderr.startswith("forbidden: socket.")) == (9, True)
