"""How vLLM lays out, shares and sizes its KV cache, told before a GPU is touched."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvinspect.api.align import align
    from kvinspect.api.cg_support import cg_support, cg_support_matrix, cg_support_table
    from kvinspect.api.diff import diff
    from kvinspect.api.doctor import doctor
    from kvinspect.api.fit import fit
    from kvinspect.api.lint import lint
    from kvinspect.api.mm_prefix import mm_prefix
    from kvinspect.api.on_device import InternalError
    from kvinspect.api.plan import plan
    from kvinspect.api.plan_model import plan_model
    from kvinspect.api.specs import specs
    from kvinspect.compare.diff_answer import DiffAnswer
    from kvinspect.compare.doctor_answer import DoctorAnswer
    from kvinspect.cudagraph.cg_support_answer import CGSupportAnswer
    from kvinspect.cudagraph.mode import CUDAGraphMode
    from kvinspect.cudagraph.support import AttentionCGSupport, AttentionCGSupportInfo
    from kvinspect.device.choose import DeviceError
    from kvinspect.document.document import Document
    from kvinspect.document.problem import DocumentError
    from kvinspect.engine.align_answer import AlignAnswer, DeviceAnswer
    from kvinspect.mm_prefix.mm_prefix_answer import MMPrefixAnswer
    from kvinspect.models.config import Model, load_model
    from kvinspect.models.specs_answer import SpecsAnswer
    from kvinspect.planning.plan_answer import PlanAnswer
    from kvinspect.planning.request_load import RequestShape
    from kvinspect.question.documents import load
    from kvinspect.question.fit import FitAnswer
    from kvinspect.version import __version__ as __version__

__all__ = [
    "AlignAnswer",
    "AttentionCGSupport",
    "AttentionCGSupportInfo",
    "CGSupportAnswer",
    "CUDAGraphMode",
    "DeviceAnswer",
    "DeviceError",
    "DiffAnswer",
    "DoctorAnswer",
    "Document",
    "DocumentError",
    "FitAnswer",
    "InternalError",
    "MMPrefixAnswer",
    "Model",
    "PlanAnswer",
    "RequestShape",
    "SpecsAnswer",
    "align",
    "cg_support",
    "cg_support_matrix",
    "cg_support_table",
    "diff",
    "doctor",
    "fit",
    "lint",
    "load",
    "load_model",
    "mm_prefix",
    "plan",
    "plan_model",
    "specs",
]

_HOMES = {
    "__version__": "version",
    "align": "api.align",
    "load": "question.documents",
    "cg_support": "api.cg_support",
    "cg_support_matrix": "api.cg_support",
    "cg_support_table": "api.cg_support",
    "diff": "api.diff",
    "doctor": "api.doctor",
    "fit": "api.fit",
    "lint": "api.lint",
    "mm_prefix": "api.mm_prefix",
    "plan": "api.plan",
    "plan_model": "api.plan_model",
    "FitAnswer": "question.fit",
    "RequestShape": "planning.request_load",
    "InternalError": "api.on_device",
    "DiffAnswer": "compare.diff_answer",
    "DeviceError": "device.choose",
    "Document": "document.document",
    "DocumentError": "document.problem",
    "AlignAnswer": "engine.align_answer",
    "DeviceAnswer": "engine.align_answer",
    "CGSupportAnswer": "cudagraph.cg_support_answer",
    "DoctorAnswer": "compare.doctor_answer",
    "CUDAGraphMode": "cudagraph.mode",
    "AttentionCGSupport": "cudagraph.support",
    "AttentionCGSupportInfo": "cudagraph.support",
    "MMPrefixAnswer": "mm_prefix.mm_prefix_answer",
    "PlanAnswer": "planning.plan_answer",
    "specs": "api.specs",
    "SpecsAnswer": "models.specs_answer",
    "Model": "models.config",
    "load_model": "models.config",
}
"""Public name → the module below this one that has it; a call imports no more than it needs."""


def __getattr__(name: str) -> Any:
    """A public name, its module imported when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


class _FrontDoor(ModuleType):
    """The module itself. Importing the room `lint` would bind its name here, in place of the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _FrontDoor
