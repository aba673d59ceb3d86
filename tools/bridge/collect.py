"""The choice of model runners of several releases, merged over platforms: what `tools/runners.py` reads."""

from bridge import process

PLAINER = {
    "speculative_config.use_heterogeneous_vocab": "speculative_config.method=draft_model",
    "prefill_context_parallel_size>1, MLA": "prefill_context_parallel_size>1",
}
"""Feature → a plainer one that explains it where both do the same."""


def collected(releases):
    """Release → what it picks."""
    return {release: choice(asked(release)) for release in releases}


def asked(release):
    """Platform → the release's answers."""
    documents = [{"platform": platform} for platform in process.CAPABILITIES]
    with process.Engine(release, "runners") as engine:
        answers = engine.answers(documents)
    for answer in answers:
        if "bridge_failure" in answer:
            raise SystemExit(f"{release}: {answer['bridge_failure']}")
    return dict(zip(process.CAPABILITIES, answers, strict=True))


def choice(seen):
    """A release's choice, in the words of the catalogue's rows."""
    models, features = same(seen, "models"), same(seen, "features")
    variable, plain = same(seen, "environment"), models["moe"]
    checks = any(feature["v1_can"] is not None for feature in features.values())
    return {
        "default": models,
        "default_v2_architectures": by_platform(seen, "v2") if plain == "v1" else None,
        "default_v1_architectures": by_platform(seen, "v1") if plain == "v2" else None,
        "environment_variable": {f"VLLM_USE_V2_MODEL_RUNNER={value}": runner for value, runner in variable.items()},
        "forces_v2": those(features, hybrid="v2") if models["hybrid"] == "v1" else [],
        "falls_back_to_v1": those(features, dense="v1"),
        "refused_with_v2": those(features, v2_can=False),
        "refused_with_v1": those(features, v1_can=False) if checks else None,
        "without_triton": same(seen, "without_triton"),
        "hybrids_of_these_architectures": hybrids(seen["cuda"]) if plain == "v1" else None,
    }


def same(seen, key):
    """What every platform answers alike."""
    first, *others = (answer[key] for answer in seen.values())
    if any(other != first for other in others):
        raise SystemExit(f"{key} differs between platforms")
    return first


def by_platform(seen, runner):
    """Platform → the architectures that it gives a runner."""
    return {
        platform: [name for name, picked in answer["architectures"].items() if picked == runner]
        for platform, answer in seen.items()
    }


def those(features, **wanted):
    """Names of features that answer so, without those that a plainer one explains."""
    ((key, value),) = wanted.items()
    found = [name for name, feature in features.items() if feature[key] == value and feature[key] is not None]
    return [name for name in found if PLAINER.get(name) not in found]


def hybrids(answer):
    """What hybrid models of the listed architectures get."""
    listed = {name for name, picked in answer["architectures"].items() if picked == "v2"}
    return (
        "v2" if listed == {name for name, picked in answer["hybrid_architectures"].items() if picked == "v2"} else "v1"
    )
