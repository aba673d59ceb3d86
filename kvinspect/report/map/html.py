"""A picture of an allocation as an HTML page."""

from __future__ import annotations

from kvinspect.report import html as page
from kvinspect.report.map.scene import Scene
from kvinspect.report.map.svg import svg

KEY = (
    "A cell is a block through a layer’s view: its ID, with K or V before it where the view keeps them apart (values "
    "are hatched). A red frame and ! mark bytes that another block lies on as well. Point at a cell, or step through "
    "them with Tab and the arrow keys."
)


def html(scene: Scene, source: str, why: str) -> str:
    """The scene as a page, with the sentence that says what was decided and why."""
    return page.html(f"{source.rsplit('/', 1)[-1]}: {scene.title}", (why, KEY), svg(scene, source))
