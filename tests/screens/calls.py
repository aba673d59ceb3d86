"""The calls whose screens are kept, and how they are written anew: `python tests/screens/calls.py`."""

import contextlib
import io
import os
import pathlib
import sys
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from kvinspect.cli.main import run

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WIDTHS = (80, 100, 120, 200)
MODELS = "examples/models"
CALLS = {
    "plan-fits": ("plan", "Qwen/Qwen3-32B", "--gpu", "2xH100", "--max-model-len", "32k", "--kv-cache-dtype", "fp8"),
    "plan-exact": ("plan", f"{MODELS}/qwen3-8b", "--available-kv-cache-memory", "12.57GiB"),
    "plan-tight": ("plan", f"{MODELS}/gemma-3-27b", "--gpu", "H100"),
    "plan-too-large": ("plan", "deepseek-ai/DeepSeek-V3", "--gpu", "8xH100"),
    "plan-explain": ("plan", f"{MODELS}/gemma-3-27b", "--gpu", "2xH100", "--explain"),
    "plan-requests": (
        *("plan", f"{MODELS}/qwen3-8b", "--gpu", "H100"),
        *("--requests", "32", "--prompt", "8k", "--output", "1k"),
    ),
    "plan-sweep": ("plan", f"{MODELS}/qwen3-8b", "--gpu", "H100", "--sweep", "max_model_len=8k..128k"),
    "align": ("align", "configs/whisper-large-v3-rocm.yaml", "--device", "none"),
    "align-hybrid": ("align", "configs/gemma-3-27b.yaml", "--device", "none"),
    "align-unsound": ("align", "examples/rocm-hybrid.yaml", "--device", "none"),
    "cg-support": ("cg-support",),
    "cg-support-downgraded": ("cg-support", "configs/llama-3.1-8b-eagle3.yaml"),
    "cg-support-explain": ("cg-support", "configs/llama-3.1-8b-eagle3.yaml", "--explain"),
    "cg-support-model": ("cg-support", f"{MODELS}/gemma-3-27b"),
    "cg-support-refused": ("cg-support", "configs/qwen3-next-80b-a3b-256-seqs.yaml"),
    "cg-support-matrix": ("cg-support", "--matrix"),
    "mm-prefix": ("mm-prefix", "configs/gemma-3-27b-two-images.yaml"),
    "diff": ("diff", "examples/prefill-tp2.yaml", "examples/decode-tp4.yaml"),
    "lint": ("lint", "examples/rocm-hybrid.yaml"),
    "lint-clean": ("lint", "configs"),
    "rule": ("rule",),
    "map": ("map", "configs/whisper-large-v3-rocm.yaml"),
    "map-unsound": ("map", "examples/rocm-hybrid.yaml"),
    "explain": ("explain", "tests/cases/failed_starts/state-blocks.log"),
    "explain-too-small": ("explain", "tests/cases/failed_starts/too-small.log"),
    "explain-unknown-model": ("explain", "tests/cases/start_up_errors/all-of-them.log"),
    "doctor": ("doctor", "configs/gemma-3-27b.yaml", "-f", "table"),
    "gpus": ("gpus", "h100"),
    "models": ("models", "gemma"),
    "first": (),
    "help": ("--help",),
    "help-plan": ("plan", "--help"),
    "help-cg-support": ("cg-support", "--help"),
    "error-flag": ("plan", f"{MODELS}/qwen3-8b", "--tensor-paralel-size", "2"),
    "error-no-memory": ("plan", f"{MODELS}/qwen3-8b"),
}
"""Name of a screen → the words of its call."""


def screen(words: tuple[str, ...], width: int) -> str:
    """What a call prints in a terminal of a width, without color, and how it ends; in this process, as there are many."""
    shown = io.StringIO()
    outside = {
        key: os.environ.pop(key, None) for key in ("NO_COLOR", "FORCE_COLOR", "GITHUB_ACTIONS", "TERMINAL_WIDTH")
    }
    argv, folder, hook = sys.argv, os.getcwd(), warnings.showwarning
    os.environ["COLUMNS"] = str(width)
    os.chdir(ROOT)
    try:
        sys.argv = ["kvinspect", *words]
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            code = run()
    finally:
        sys.argv, warnings.showwarning = argv, hook
        os.chdir(folder)
        del os.environ["COLUMNS"]
        os.environ.update({key: value for key, value in outside.items() if value is not None})
    lines = [line.rstrip() for line in shown.getvalue().splitlines() if not _differs_by_machine(line)]
    return "\n".join([f"$ kvinspect {' '.join(words)}".rstrip(), "", *lines, f"[ends with {code}]", ""])


def _differs_by_machine(line: str) -> bool:
    """Whether a line of `doctor` tells versions of what is installed."""
    return any(line.startswith(f"│ {name} ") for name in ("kvinspect", "python", "system"))


def file_of(name: str, width: int) -> pathlib.Path:
    """Where a screen is kept."""
    return HERE / str(width) / f"{name}.txt"


def main() -> None:
    """Write every screen, or those that are named."""
    for width in WIDTHS:
        (HERE / str(width)).mkdir(exist_ok=True)
        for name in sys.argv[1:] or CALLS:
            file_of(name, width).write_text(screen(CALLS[name], width), encoding="utf-8")


if __name__ == "__main__":
    main()
