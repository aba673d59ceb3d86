"""`kvinspect.doctor`."""

from __future__ import annotations

from kvinspect.api.align import align
from kvinspect.api.asking import Origin, load
from kvinspect.api.cg_support import cg_support
from kvinspect.document.checked import checked
from kvinspect.engine.doctor import DoctorAnswer


@checked
def doctor(document: Origin, *, engine: str | None = None) -> DoctorAnswer:
    """What a report of an error about a document needs, best of a captured one.

    `engine` is a release and wins over the document's. Raises DocumentError as `align` does.
    """
    loaded = load(document)
    return DoctorAnswer(loaded, align(loaded, engine=engine), cg_support(loaded, engine=engine))
