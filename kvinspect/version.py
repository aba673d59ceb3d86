"""The version of kvinspect, apart from the front door, so that every room may name it."""

__version__ = "0.1.0"
