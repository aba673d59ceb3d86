"""KV108: a fused K/V view with two KV heads looks to the alignment as if dim 1 told K from V."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.engine.axes import HEAD
from kvinspect.engine.reshape import LayerView
from kvinspect.linting.rule import WARNING, Found, Rule
from kvinspect.linting.rules._shared import folded
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Blocks-first views with two heads in dim 1, on allocations that the alignment looks at."""
    for kind in subject.kinds:
        if kind[0].block_dims != (0, 1) or kind[0].block_stride or subject.cache is None:
            continue
        views = subject.cache.views.of
        layers = [n for t in kind for n in t.shared_by if n in views and _ambiguous(views[n])]
        for path, members in subject.by_entry(layers).items():
            text = f"{folded(members)}: dim 1 is the two KV heads, and the alignment mistakes it for K and V; "
            yield Found(
                path,
                text + "change the tensor parallel size, or give both groups backends with the same layout",
                members,
            )


def _ambiguous(view: LayerView) -> bool:
    part = view.parts[0]
    return view.block_dim == 0 and part.axes[1:2] == (HEAD,) and part.view.shape[1] == 2


RULE = Rule(
    "KV108", "two-head-ambiguity", WARNING, "two KV heads are mistaken for K and V", check, releases="0.26 to 0.28"
)
