"""`mm-prefix`: the release's own ranges of tokens that attend both ways."""

import importlib

HOMES = ("v1.worker.gpu.attn_utils", "v1.attention.backends.utils", "v1.worker.gpu.mm.mm_prefix")
"""Modules that the function has lived in."""


def function():
    """The release's function, wherever it lives."""
    for home in HOMES:
        try:
            return importlib.import_module(f"vllm.{home}").compute_mm_prefix_ranges
        except (ImportError, AttributeError):
            continue
    raise ImportError("compute_mm_prefix_ranges is in none of its known modules")


def answer(document):
    """The ranges of every request, and which of its features' ranges were left out and why."""
    import pretend

    compute = function()
    asked = document["multimodal"]
    window = asked.get("sliding_window")
    features = {request["req_id"]: features_of(request) for request in asked["requests"]}
    names = [request["req_id"] for request in asked["requests"]]
    found = compute(names, features, window)
    requests = [
        {"req_id": name, "ranges": lists(found[i]), "skipped": skipped(compute, features[name], window)}
        for i, name in enumerate(names)
    ]
    by_index = {str(key): lists(several) for key, several in found.items()}
    return {"schema_version": 1, "engine": pretend.version(), "req_doc_ranges": by_index, "requests": requests}


def features_of(request):
    """A request's multimodal features as vLLM's."""
    import torch
    from vllm.multimodal.inputs import MultiModalFeatureSpec, PlaceholderRange

    made = []
    for i, feature in enumerate(request.get("mm_features") or []):
        place = feature["mm_position"]
        mask = place.get("is_embed")
        mask = None if mask is None else torch.tensor(mask, dtype=torch.bool)
        made.append(
            MultiModalFeatureSpec(
                data=None,
                modality=feature["modality"],
                identifier=f"{request['req_id']}-{i}",
                mm_position=PlaceholderRange(offset=place["offset"], length=place["length"], is_embed=mask),
            )
        )
    return made


def skipped(compute, features, window):
    """Ranges of features that the function leaves out, each with what it is left out for."""
    rows = []
    for feature in features:
        kept, unbounded = (compute(["r"], {"r": [feature]}, bound)[0] for bound in (window, None))
        for found in lists(feature.mm_position.extract_embeds_range()):
            if found not in lists(unbounded):
                rows.append({"range": found, "why": "modality"})
            elif found not in lists(kept):
                rows.append({"range": found, "why": "sliding_window"})
    return rows


def lists(ranges):
    """Ranges as JSON has them."""
    return [list(one) for one in ranges]
