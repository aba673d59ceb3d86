"""The answer of `diff`, as values that print themselves as JSON."""

from __future__ import annotations

from typing import Any, NamedTuple

from kvinspect.compare.changes import Changes, changes_dict
from kvinspect.compare.layers import DIFFERENT, MOVED, SAME, UNKNOWN, Outcome
from kvinspect.connectors.pair import PairVerdict
from kvinspect.document.frozen import Frozen
from kvinspect.document.not_modelled import NotModelled
from kvinspect.document.refusal import Refusal
from kvinspect.engine.align_answer import SCHEMA_VERSION, AnswerHeader, refusal_dict

WORST_LAST = (SAME, MOVED, UNKNOWN, DIFFERENT)
"""The verdicts, the worst last: it counts for the caches."""


class LayerDiff(NamedTuple):
    """A layer that both sides have."""

    layer_name: str
    outcome: Outcome
    changes: Changes

    @property
    def verdict(self) -> str:
        """What becomes of its blocks."""
        return self.outcome.verdict

    def to_dict(self) -> dict[str, Any]:
        """The layer as JSON; positions in bytes, shapes and strides in elements, as `align` has them."""
        found = self.outcome
        lies = [lies._asdict() for lies in found.lies] if found.lies else None
        return {
            "layer_name": self.layer_name,
            "verdict": found.verdict,
            "why": list(found.why),
            "first_byte": found.first_byte.to_dict() if found.first_byte else None,
            "blocks": lies,
            "changes": changes_dict(self.changes),
        }


class DiffAnswer(NamedTuple):
    """Two KV caches, A and B, layer by layer."""

    a: AnswerHeader
    b: AnswerHeader
    layers: tuple[LayerDiff, ...] = ()
    only_in_a: tuple[str, ...] = ()
    only_in_b: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    """Layers of one side alone that have the same blocks as one of the other."""
    changes: Changes = Frozen()
    refusals: tuple[Refusal | None, Refusal | None] = (None, None)
    words: tuple[str, str] = ("", "")
    """The words of a call that name a model with its flags, empty of a document."""
    connector: PairVerdict | None = None
    """What a KV connector makes of A as the prefill and B as the decode instance, where one is asked about."""

    @property
    def verdict(self) -> str:
        """The worst verdict of a layer; a layer that one side lacks is different."""
        if any(self.refusals) or not (self.layers or self.only_in_a or self.only_in_b):
            return UNKNOWN
        if self.only_in_a or self.only_in_b:
            return DIFFERENT
        return max((layer.verdict for layer in self.layers), key=WORST_LAST.index)

    @property
    def compatible(self) -> bool | None:
        """Whether the connector takes the pair, where one is asked about, else whether the bytes are compatible."""
        return self.connector.compatible if self.connector else self.bytes_compatible

    @property
    def bytes_compatible(self) -> bool | None:
        """Whether blocks that one has written can be read by the other, None where that cannot be judged."""
        return {SAME: True, MOVED: True, DIFFERENT: False}.get(self.verdict)

    @property
    def not_modelled(self) -> tuple[NotModelled, ...]:
        """What was given of either side and not taken into account, said of the side where it is of one alone."""
        a, b = self.a.not_modelled, self.b.not_modelled
        of_one = [(one, "A") for one in a if one not in b] + [(one, "B") for one in b if one not in a]
        both = tuple(one for one in a if one in b)
        return (*both, *(one._replace(what=f"{one.what} (of {side})") for one, side in of_one))

    def to_dict(self) -> dict[str, Any]:
        """The answer as `--format json` prints it."""
        return {
            "schema_version": SCHEMA_VERSION,
            "not_modelled": [one.to_dict() for one in self.not_modelled],
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "words": list(self.words),
            "verdict": self.verdict,
            "compatible": self.compatible,
            "connector": self.connector.to_dict() if self.connector else None,
            "refused": [refusal_dict(refusal) if refusal else None for refusal in self.refusals],
            "changes": changes_dict(self.changes),
            "layers": [layer.to_dict() for layer in self.layers],
            "only_in_a": list(self.only_in_a),
            "only_in_b": list(self.only_in_b),
            "renamed": [list(pair) for pair in self.renamed],
        }
