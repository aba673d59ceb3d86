"""Views of the cache as torch reports them, and whether layers of one allocation clash in them."""

from bridge import bytecheck

SEVERITY = ("unshared", "agree", "packed", "page_aligned", "untouched", "restrided", "skipped", "refused")
"""Decisions, the worst last; a document's is its worst tensor's."""


def worst(tensors):
    """The decision of a document."""
    return max((tensor["decision"] for tensor in tensors), key=SEVERITY.index, default="unshared")


def all_sound(tensors):
    """Whether every tensor is sound; None where one is not known and none is unsound."""
    found = [tensor["sound"] for tensor in tensors]
    return False if False in found else None if None in found else True


def refusal(stage, reason):
    """The answer to a document that the engine refuses before it has views."""
    return {
        "layers": [], "tensors": [], "decision": "refused", "sound": None, "stage": stage, "reason": reason,
    }  # fmt: skip


def parts(view):
    """A layer's tensors: a state-space layer may have several."""
    return list(view) if isinstance(view, (list, tuple)) else [view]


def dtype_name(tensor):
    """A tensor's dtype in a word."""
    return str(tensor.dtype).removeprefix("torch.")


def strides(view):
    """The strides of a layer's tensors."""
    return [part.stride() for part in parts(view)]


def described(layer, view, block_dim, ratio):
    """A layer's tensors as the byte check wants them."""
    return [
        {
            "layer": layer, "storage_offset": part.storage_offset(), "shape": list(part.shape),
            "stride": list(part.stride()), "itemsize": part.element_size(), "block_dim": block_dim, "ratio": ratio,
        }
        for part in parts(view)
    ]  # fmt: skip


class Soundness:
    """Byte checks; allocations that differ in their layers' names only are checked once."""

    def __init__(self):
        self.seen = {}

    def __call__(self, views_of, layers, mine, size, num_blocks):
        """(sound, conflict) of the layers on an allocation; at least one of a conflict's layers is in `mine`."""
        views = [view for name in layers for view in views_of[name]]
        if any(view["block_dim"] is None for view in views):
            return None, None
        place = {name: i for i, name in enumerate(layers)}
        numbered = [{**view, "layer": place[view["layer"]]} for view in views]
        key = repr((numbered, sorted(place[name] for name in mine), size, num_blocks))
        if key not in self.seen:
            self.seen[key] = self.checked(numbered, {place[name] for name in mine}, size, num_blocks)
        sound, conflict = self.seen[key]
        return sound, conflict and {**conflict, "layers": [layers[i] for i in conflict["layers"]]}

    @staticmethod
    def checked(views, mine, size, num_blocks):
        """(sound, conflict), neither known of what is too large."""
        try:
            conflict = bytecheck.first_conflict(bytecheck.claims(views, size, num_blocks), mine)
        except bytecheck.TooLarge:
            return None, None
        return conflict is None, conflict


soundness = Soundness()
