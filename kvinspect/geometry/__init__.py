"""Integers only: strided views of bytes, the bytes that a block covers, and whether two blocks meet."""

from kvinspect.geometry.view import Step, StridedView, ViewError, contiguous_strides

__all__ = ["Step", "StridedView", "ViewError", "contiguous_strides"]
