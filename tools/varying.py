"""An answer that is not the same everywhere, as rules by platform and compute capability."""


def condition(places):
    """The platforms and compute capabilities of a group of observations as conditions, one a platform.

    A CUDA observation stands for its whole family: vLLM asks for families nearly everywhere, and no release has two
    answers of one family among the observed ones.
    """
    found = {}
    for place in places:
        found.setdefault(place["platform"], []).append(place["capability"])
    for platform, capabilities in found.items():
        if platform == "cuda":
            families = [int(c.split(".")[0]) for c in capabilities]
            yield {"platform": platform, "capability_family": families}
        elif platform == "rocm" and len(capabilities) == 1:
            yield {"platform": platform, "capability": capabilities}
        else:
            yield {"platform": platform}


def rules(value):
    """A fact that varies as rules, first match wins, the most often seen answer last and without a condition."""
    if not (isinstance(value, dict) and "varies" in value):
        return value
    groups = sorted(value["varies"], key=lambda group: len(group["on"]))
    found = [{"if": c, "value": group["value"]} for group in groups[:-1] for c in condition(group["on"])]
    return {"rules": [*found, {"value": groups[-1]["value"]}]}
