"""Where releases and the Python that runs them are kept: outside the checkout, between runs."""

import os
import pathlib

HERE = pathlib.Path(__file__).resolve().parent

LIBRARIES = (
    ((0, 33), ("transformers==5.20.2",)),
    ((0, 32), ("transformers==5.19.0",)),
    ((0, 0), ("transformers==5.14.1", "tokenizers==0.22.2", "huggingface-hub==1.5.0")),
)
"""First release → the libraries that know the models of its time; the environment's own are too new for some."""


def folder():
    """The cache: $KVINSPECT_CACHE, by default ~/.cache/kvinspect."""
    named = os.environ.get("KVINSPECT_CACHE")
    if named:
        return pathlib.Path(named)
    caches = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(caches) / "kvinspect"


def python():
    """The interpreter with torch and vLLM's dependencies, without vLLM."""
    return folder() / "venv" / "bin" / "python"


def engine(release):
    """The folder that stands first on the path of a release's processes."""
    return folder() / "engines" / f"v{release}"


def libraries(release):
    """(folder, requirements) of what a release wants older than the environment has it."""
    version = tuple(int(part) for part in release.split(".")[:2])
    wanted = next(several for first, several in LIBRARIES if version >= first)
    return folder() / "libraries" / wanted[0].replace("==", "-"), wanted


def lacking(release):
    """Why a release cannot be asked, None where it can."""
    missing = [path for path in (python(), engine(release) / "vllm", libraries(release)[0]) if not path.exists()]
    if not missing:
        return None
    return f"no vLLM {release}: {missing[0]} is missing (python tools/bridge setup {release} makes it)"


def environment(release):
    """The environment of a release's processes: nothing of the caller's that vLLM or Python would read."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VLLM_", "PYTHON"))}
    path = (engine(release), libraries(release)[0], HERE.parent)
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_CACHE_ROOT": str(folder() / "scratch"),
        "VLLM_DO_NOT_TRACK": "1",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_PLUGINS": "",
    }
