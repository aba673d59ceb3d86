"""torch, imported without its warning that NumPy is not installed: kvinspect hands no tensor to NumPy."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="Failed to initialize NumPy")
    import torch

__all__ = ["torch"]
