"""Put releases of vLLM into the cache, each by its published wheel, with an environment that can import them.

    python tools/bridge setup 0.27.1 0.33.0

Nothing is resolved: `requirements.txt` is a frozen list, and CUDA stays out. A wheel is 0.3 GB or more to download;
its Python files, some 50 MB, are kept, and a release that is there is not fetched again. Ends with 1 where one lacks.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from contextlib import contextmanager

from bridge import cache

TORCH = "torch==2.13.0"
TRIES = 2
"""Downloads of a thing before it counts as missing."""
COMPILED = (".so", ".cubin", ".a", ".h", ".hpp", ".cuh", ".cu")


def main(releases):
    """Fetch what is missing; the exit code."""
    missing = []
    with locked():
        for release in releases:
            try:
                environment()
                libraries(release)
                engine(release)
                print(f"{release}: {cache.engine(release)}", flush=True)
            except (OSError, ValueError, subprocess.CalledProcessError, zipfile.BadZipFile) as error:
                missing.append(release)
                print(f"vLLM {release} could not be fetched: {error}", file=sys.stderr, flush=True)
    return 1 if missing else 0


@contextmanager
def locked():
    """One setup at a time; a second one waits, and finds what the first has made."""
    cache.folder().mkdir(parents=True, exist_ok=True)
    with (cache.folder() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def environment():
    """Python with torch and vLLM's dependencies, without vLLM."""

    def fill(part):
        venv.create(part, with_pip=True)
        python = part / "bin" / "python"
        pip(python, "install", "--no-deps", TORCH)
        pip(python, "install", "--no-deps", "-r", str(cache.HERE / "requirements.txt"))

    made(cache.folder() / "venv", fill)


def libraries(release):
    """The libraries that a release wants older than the environment has them."""
    folder, wanted = cache.libraries(release)
    made(folder, lambda part: pip(cache.python(), "install", "--no-deps", "--target", str(part), *wanted))


def engine(release):
    """The Python files of a release's wheel."""

    def fill(part):
        with tempfile.TemporaryDirectory(dir=cache.folder()) as wheels:
            pip(cache.python(), "download", "--no-deps", "--only-binary=:all:", "-d", wheels, f"vllm=={release}")
            (wheel,) = os.listdir(wheels)
            with zipfile.ZipFile(os.path.join(wheels, wheel)) as archive:
                archive.extractall(part, [name for name in archive.namelist() if not name.endswith(COMPILED)])

    made(cache.engine(release), fill)


def made(folder, fill):
    """A folder, filled under another name and renamed when it is whole."""
    if folder.is_dir():
        return
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    fill(part)
    part.rename(folder)


def pip(python, command, *arguments):
    """Run pip, again where it fails."""
    call = [str(python), "-m", "pip", "--disable-pip-version-check", command, "-q", *arguments]
    for left in reversed(range(TRIES)):
        if subprocess.run(call).returncode == 0:
            return
        if not left:
            raise subprocess.CalledProcessError(1, call[2:])
