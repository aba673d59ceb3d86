"""What is a refusal of the engine's, and what is a failure of this bridge: the two are never taken for each other."""

import linecache
import pathlib
import traceback

HERE = str(pathlib.Path(__file__).resolve().parent)
PRETEND = str(pathlib.Path(HERE).parent / "pretend.py")


class Missing(AttributeError):
    """The engine asked a stand-in for something that it does not have."""


class BridgeFailure(Exception):
    """The bridge cannot answer a document."""


class Refused(Exception):
    """The engine refuses a document, at a stage of its work."""

    def __init__(self, stage, error):
        fail_if_ours(error)
        super().__init__(stage)
        self.stage, self.error = stage, error


def fail_if_ours(error):
    """Raise BridgeFailure for an exception that says something about this bridge and nothing about the engine."""
    if isinstance(error, BridgeFailure):
        raise error
    if is_ours(error):
        raise BridgeFailure(told(error)) from error


def is_ours(error):
    """Whether an exception, or one behind it, comes of a stand-in or of a package that is not there."""
    while error is not None:
        if isinstance(error, (Missing, BridgeFailure, ImportError, MemoryError)) or "hollow" in str(error).lower():
            return True
        frames = traceback.extract_tb(error.__traceback__)
        if frames and frames[-1].filename.startswith((HERE, PRETEND)) and not by_signature(error, frames[-1]):
            return True
        error = error.__cause__ or error.__context__
    return False


def by_signature(error, frame):
    """Whether a class of vLLM's refused a document's fields when it was called: that leaves no frame of its own."""
    return isinstance(error, TypeError) and frame.name == "build_spec"


def told(error):
    """An exception in one line, with the place where it arose."""
    frames = traceback.extract_tb(error.__traceback__)
    at = f" ({pathlib.Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    text = (str(error) or "no text").splitlines()[0][:300]
    return text if isinstance(error, BridgeFailure) else f"{type(error).__name__}: {text}{at}"


def reason(error):
    """Type, function and text of a refusal; a bare assertion's text is its line of source."""
    fail_if_ours(error)
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "/vllm/" in frame.filename and not frame.filename.startswith(HERE)]
    frame = (inside or frames)[-1]
    text = str(error)
    if not text and inside:
        text = linecache.getline(frame.filename, frame.lineno).strip()
    return {"type": type(error).__name__, "in": frame.name, "text": text}
