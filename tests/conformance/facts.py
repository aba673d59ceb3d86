"""What a release's catalogue says about the words that a document may use: backends, specs and their fields, dtypes."""

from functools import cache
from typing import NamedTuple

from kvinspect.backends.conditions import choose
from kvinspect.data import catalogue

PLACES = {
    "cuda": ("9.0", "10.0", "8.0", "8.9", "12.0"),
    "rocm": ("9.4", "9.5", "12.0"),
    "cpu": ("",),
    "xpu": ("",),
}
"""Platform → compute capabilities, the usual one first; a process of the engine is started for each pair."""

FEW = ("cuda", "9.0"), ("rocm", "9.4"), ("cuda", "10.0")
"""The places of a short run."""

EVERYWHERE = tuple((platform, capability) for platform, several in PLACES.items() for capability in several)


class Facts(NamedTuple):
    """A release as the documents see it."""

    version: str
    plain: tuple[str, ...]
    """Backends of attention with keys and values."""
    latent: tuple[str, ...]
    """Backends of multi-head latent attention."""
    states: tuple[str, ...]
    """Words for the kinds of state-space layers."""
    spec_fields: dict[str, tuple[tuple[str, ...], tuple[str, ...]]]
    """Class of a spec → (fields that have to be there, fields that may be)."""
    cache_dtypes: tuple[str, ...]
    quant_modes: tuple[str, ...]
    block_multiple: dict[str, int]
    """Backend → a number of tokens whose multiples all its kernels take."""
    own_dtypes: dict[str, tuple[str, ...]]
    """Backend that takes no plain cache → the cache dtypes that it takes."""
    absent: dict[str, frozenset[str]]
    """Backend → platforms where it cannot be imported."""
    standardised: bool
    """Whether layouts are the engine's and not the backends', as from 0.29 on."""

    def on(self, platform, names):
        """Those of some backends that can be imported on a platform."""
        return tuple(name for name in names if platform not in self.absent[name])


@cache
def facts(version):
    """The facts of a release that the catalogue holds."""
    data = catalogue.read(version)
    there = {n: e for n, e in data["backends"].items() if "unavailable" not in e and e["class"]}
    attention = {name: entry for name, entry in there.items() if not entry.get("is_ssm")}
    return Facts(
        version=version,
        plain=tuple(name for name, entry in attention.items() if not entry.get("is_mla")),
        latent=tuple(name for name, entry in attention.items() if entry.get("is_mla")),
        states=tuple(name for name, entry in there.items() if entry.get("is_ssm")),
        spec_fields={name: (tuple(f["required"]), tuple(f["optional"])) for name, f in data["spec_classes"].items()},
        cache_dtypes=tuple(data["cache_dtypes"]),
        quant_modes=tuple(data["kv_quant_modes"]),
        block_multiple={name: _block_multiple(entry) for name, entry in attention.items()},
        own_dtypes={name: dtypes for name, entry in attention.items() if (dtypes := _own_dtypes(entry))},
        absent={name: frozenset(entry.get("not_importable_on", ())) for name, entry in there.items()},
        standardised=any("supported_kv_cache_layouts" in entry for entry in attention.values()),
    )


def _block_multiple(entry):
    sizes = choose(entry.get("supported_kernel_block_sizes"), {}) or [1]
    return min(int(str(size).removesuffix("n")) for size in sizes)


def _own_dtypes(entry):
    dtypes = entry.get("supported_kv_cache_dtypes") or []
    plain = isinstance(dtypes, dict) or entry.get("is_mla") or {"auto", "bfloat16"} & {*dtypes}
    return () if plain else tuple(dtypes)
