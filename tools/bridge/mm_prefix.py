"""`mm-prefix`: the release's own ranges of tokens that attend bidirectionally."""

import dataclasses
import importlib
import importlib.util
import inspect

import pretend

HOMES = ("v1.worker.gpu.attn_utils", "v1.attention.backends.utils", "v1.worker.gpu.mm.mm_prefix")
"""Modules that the function has lived in."""


def found(features, asked, window):
    """The release's ranges of several requests' features; from 0.33 on it takes no names, and marks of the model."""
    compute = next(filter(None, map(function, HOMES)), None)
    if compute is None:
        raise ImportError("compute_mm_prefix_ranges is in none of its known modules")
    known = inspect.signature(compute).parameters
    marks = {
        "clamp_sliding_window": bool(asked.get("mm_prefix_clamp_sliding_window")),
        "span_pad": asked.get("mm_prefix_span_leading_pad_modulus") or 0,
    }
    if "mm_features_per_req" in known:
        return compute(features, window, **{name: value for name, value in marks.items() if name in known})
    names = [str(i) for i in range(len(features))]
    return compute(names, dict(zip(names, features, strict=True)), window)


def function(home):
    """The function, where a module of the release has it."""
    name = f"vllm.{home}"
    module = importlib.import_module(name) if there(name) else None
    return getattr(module, "compute_mm_prefix_ranges", None)


def there(name):
    """Whether the release has a module."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # nor the package that it would be in
        return False


def answer(document):
    """The ranges of every request, and which of its features' ranges were left out and why."""
    asked = document["multimodal"]
    window = asked.get("sliding_window")
    features = [features_of(request) for request in asked["requests"]]
    ranges = found(features, asked, window)
    requests = [
        {"req_id": request["req_id"], "ranges": lists(ranges[i]), "skipped": skipped(features[i], asked, window)}
        for i, request in enumerate(asked["requests"])
    ]
    by_index = {str(key): lists(several) for key, several in ranges.items()}
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


def skipped(features, asked, window):
    """Ranges of features that the function leaves out, each with what it is left out for."""
    rows = []
    for feature in features:
        image = dataclasses.replace(feature, modality="image")
        every, unbounded, kept = (
            lists(found([[one]], asked, bound)[0]) for one, bound in ((image, None), (feature, None), (feature, window))
        )
        for one in every:
            if one not in unbounded:
                rows.append({"range": one, "why": "modality"})
            elif one not in kept:
                rows.append({"range": one, "why": "sliding_window"})
    return rows


def lists(ranges):
    """Ranges as JSON has them."""
    return [list(one) for one in ranges]
