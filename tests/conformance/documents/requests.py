"""Documents for `mm-prefix`: batches of requests with multimodal items, masked or whole."""

from hypothesis import strategies as st

MODALITIES = ("image", "video", "audio", "vision_chunk")


def batches(choose):
    """A document that `mm-prefix` answers; the engine has no platform here."""
    requests = [request(choose, i) for i in range(choose.number(0, 4))]
    window = choose.pick((None, None, 1, 4, 16, 63, 64, 65, 512))
    return {
        "engine": choose.facts.version,
        "multimodal": {"sliding_window": window, **marks(choose), "requests": requests},
    }


def marks(choose):
    """What a model says of its spans: whether a window cuts them, and to which multiples it pads before them."""
    found = {}
    if choose.chance(30):
        found["mm_prefix_clamp_sliding_window"] = choose.pick((True, False))
    if choose.chance(40):
        found["mm_prefix_span_leading_pad_modulus"] = choose.pick((4, 0, 1, 2, 3, 64))
    return found


def request(choose, i):
    """One request; its items stand one behind the other, touching or apart."""
    at, features = choose.number(0, 6), []
    for _ in range(choose.pick((1, 0, 2, 3, 6))):
        length = choose.pick((4, 1, 2, 3, 7, 16, 30, 64, 65, 70, 0))
        position = {"offset": at, "length": length}
        if choose.chance(60):
            position["is_embed"] = mask(choose, length)
        features.append({"modality": choose.pick(MODALITIES), "mm_position": position})
        at += length + choose.pick((0, 1, 2, 5))
    return {"req_id": f"r{i}", "mm_features": features}


def mask(choose, length):
    """Which tokens of an item are embedded: any, in bands, none or all."""
    how = choose.pick(("any", "bands", "all", "none", "inner"))
    if how == "any":
        return choose.draw(st.lists(st.booleans(), min_size=length, max_size=length))
    if how == "bands":
        width = choose.number(1, 9)
        return [i // width % 2 == 0 for i in range(length)]
    if how == "inner":
        return [0 < i < length - 1 for i in range(length)]
    return [how == "all"] * length
