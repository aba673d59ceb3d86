"""Print as JSON what every backend class of the vLLM on the path answers on one platform and compute capability.

    python tools/observe.py PLATFORM [CAPABILITY]

`catalogue.py` runs this once for each place and puts the answers together.
"""

import contextlib
import enum
import inspect
import itertools
import json
import sys
import types
import typing
from fractions import Fraction

import pretend

CAPABILITIES = ("7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1")
HEAD_SIZES = (16, 32, 64, 72, 80, 96, 100, 112, 128, 160, 192, 224, 256, 288, 320, 512, 576, 1024)
ANSWERS = (
    "is_mla", "is_sparse", "supports_sink", "supports_sliding_window", "supports_mm_prefix", "supports_non_causal",
    "supports_kv_connector",
)  # fmt: skip


class Config(types.SimpleNamespace):
    """A piece of vLLM's configuration with the fields that backends ask for."""


def configuration(query_heads=8, kv_heads=2, tokens=0, non_causal=False, trtllm=None, dcp=1):
    """A deployment, as far as backends ask."""
    text = Config(attn_logit_softcapping=None)
    model = Config(
        get_num_attention_heads=lambda parallel: query_heads,
        get_num_kv_heads=lambda parallel: kv_heads,
        is_diffusion=False,
        hf_config=Config(model_type="made-up"),
        hf_text_config=text,
        max_model_len=4096,
    )
    speculative = Config(
        num_speculative_tokens=tokens, parallel_drafting=False, enable_adaptive_verification=False, method=None
    )
    return Config(
        model_config=model,
        parallel_config=Config(
            decode_context_parallel_size=dcp, prefill_context_parallel_size=1, tensor_parallel_size=1
        ),
        cache_config=Config(cache_dtype="auto"),
        scheduler_config=Config(max_num_seqs=256, max_num_batched_tokens=8192),
        speculative_config=speculative if tokens else None,
        num_speculative_tokens=tokens,
        kv_transfer_config=None,
        use_v2_model_runner=True,
        compilation_config=Config(static_forward_context={}),
        attention_config=Config(
            use_trtllm_attention=trtllm, use_non_causal=non_causal, flash_attn_version=None, hisparse_config=None
        ),
    )


@contextlib.contextmanager
def under(config):
    """Ask with a configuration in force."""
    import vllm.config.vllm as home

    home._current_vllm_config = config
    cached = getattr(home, "get_cached_compilation_config", None)
    if hasattr(cached, "cache_clear"):
        cached.cache_clear()
    try:
        yield
    finally:
        home._current_vllm_config = None


def plain(value):
    """An answer as JSON."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, enum.Enum):
        return value.name
    if type(value).__name__ == "MultipleOf":
        return f"{value.base}n"
    return value if value is None or isinstance(value, (bool, int, str)) else str(value).removeprefix("torch.")


def asked(function, *args, **more):
    """The answer, None where the class gives none."""
    try:
        return plain(function(*args, **more))
    except Exception:
        return None


def cache_dtypes():
    """The words of --kv-cache-dtype, without the second names of some."""
    from vllm.config import cache

    return [word for word in typing.get_args(cache.CacheDType) if word not in ("half", "float")]


# ---- shapes (up to 0.28) --------------------------------------------------------------------------------------------

SIZES = {
    "num_blocks": (1009, 13, 101, 1013),
    "block_size": (112, 64, 128, 256, 32, 16, 1, 48, 80, 176),
    "num_kv_heads": (3, 1, 2, 5, 7),
    "head_size": (128, 576, 512, 192, 64, 80, 96, 112, 160, 224, 256, 320),
    "head_size_v": (24, 40, 56),
}
"""The values with which a shape is asked, the first choice first."""


class Shaper:
    """The shape of a backend for a cache dtype as a function of sizes by name."""

    def __init__(self, backend, cache_dtype):
        self.backend, self.cache_dtype = backend, cache_dtype
        self.owner = next((cls for cls in backend.__mro__ if "head_size_v" in vars(cls)), None)
        self.names = [name for name in SIZES if self.owner or name != "head_size_v"]

    def __call__(self, **sizes):
        value_size = sizes.pop("head_size_v", None)
        if self.owner is None:
            return self._shape(sizes)
        before = self.owner.head_size_v
        self.owner.head_size_v = value_size
        try:
            return self._shape(sizes)
        finally:
            self.owner.head_size_v = before

    def _shape(self, sizes):
        return tuple(map(int, self.backend.get_kv_cache_shape(*sizes.values(), cache_dtype_str=self.cache_dtype)))

    def base(self):
        """Sizes that the backend takes, and their shape. Raises what it raises last where it takes none."""
        error = None
        for block, heads, head in itertools.product(SIZES["block_size"][:7], (3, 1), SIZES["head_size"][:5]):
            sizes = {"num_blocks": 1009, "block_size": block, "num_kv_heads": heads, "head_size": head}
            sizes |= {"head_size_v": 24} if self.owner else {}
            try:
                return sizes, self(**sizes)
            except Exception as refused:
                error = refused
        raise error

    def near(self, sizes, name):
        """(value, shape) for every value of one size that the backend takes, the others as they are."""
        for value in SIZES[name]:
            with contextlib.suppress(Exception):
                yield value, self(**{**sizes, name: value})


def shape(backend, cache_dtype):
    """The shape as sums of sizes, or the error that the backend raises whatever the sizes."""
    ask = Shaper(backend, cache_dtype)
    try:
        sizes, first = ask.base()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    seen = {name: list(ask.near(sizes, name)) for name in ask.names}
    found = {"shape": [dim(first[i], sizes, {n: [(v, s[i]) for v, s in rows] for n, rows in seen.items()})
                       for i in range(len(first))]}  # fmt: skip
    heads = sorted({value for value, _ in seen["num_kv_heads"]})
    return found | ({"num_kv_heads_accepted": heads} if len(heads) < len(SIZES["num_kv_heads"]) else {})


def dim(value, sizes, seen):
    """One dim as a sum of multiples of sizes, as `2*head_size` or `9/16*head_size`."""
    slopes = {name: slope(rows) for name, rows in seen.items()}
    rest = value - sum(factor * sizes[name] for name, factor in slopes.items())
    terms = [name if factor == 1 else f"{factor}*{name}" for name, factor in slopes.items() if factor]
    if not terms:
        return value
    return "+".join([*terms, *([str(rest)] if rest else [])])


def slope(rows):
    """How much a dim grows with a size. Raises ValueError where that is no straight line."""
    values = dict(rows)
    if len(set(values.values())) == 1:
        return 0
    (x0, y0), (x1, y1) = min(values.items()), max(values.items())
    found = Fraction(y1 - y0, x1 - x0)
    if any(y - y0 != found * (x - x0) for x, y in values.items()):
        raise ValueError(f"{values} lie on no straight line")
    return int(found) if found.denominator == 1 else found


def shapes(backend):
    """The shapes, cache dtypes with the same one together; errors of one type are one."""
    found = {}
    for word in cache_dtypes():
        one = shape(backend, word)
        key = one["error"].partition(":")[0] if "error" in one else json.dumps(one)
        found.setdefault(key, ([], one))[0].append(word)
    return [{"cache_dtypes": words, **one} for words, one in found.values()]


def stride_orders(backend):
    """By layout, the order of the dims in memory, without and with layers, and whether blocks are found by stride."""
    from vllm.v1.attention.backends import utils

    found = {}
    for layout in ("NHD", "HND"):
        utils.set_kv_cache_layout(layout)
        found[layout] = asked(backend.get_kv_cache_stride_order)
        found[f"{layout}+layers"] = asked(backend.get_kv_cache_stride_order, include_num_layers_dimension=True)
        found[f"{layout} indexes_kv_by_block_stride"] = asked(backend.indexes_kv_by_block_stride)
    utils.set_kv_cache_layout(None)
    return found


# ---- CUDA graphs ----------------------------------------------------------------------------------------------------

FACTS = {
    "num_speculative_tokens": {"0": {"tokens": 0}, ">0": {"tokens": 3}},
    "q_heads_divisible": {True: {"query_heads": 8}, False: {"query_heads": 7}},
    "use_non_causal": {False: {"non_causal": False}, True: {"non_causal": True}},
    "use_trtllm_attention": {"unset": {"trtllm": None}, "false": {"trtllm": False}},
    "decode_context_parallel_size": {"1": {"dcp": 1}, ">1": {"dcp": 2}},
}


def cudagraph(backend):
    """The support of the backend's builder, and every case where it hangs on something."""
    import torch
    import vllm.v1.kv_cache_interface as interface

    builder = backend.get_builder_cls()
    spec = interface.FullAttentionSpec(block_size=16, num_kv_heads=2, head_size=128, dtype=torch.float16)
    cases = []
    for values in itertools.product(*FACTS.values()):
        given = [FACTS[fact][value] for fact, value in zip(FACTS, values, strict=True)]
        config = configuration(**{key: one for options in given for key, one in options.items()})
        with under(config):
            level = builder.get_cudagraph_support(config, spec).name
        cases.append({"when": dict(zip(FACTS, values, strict=True)), "level": level})
    found = {"builder": builder.__name__, "default": cases[0]["level"]}
    return found | ({"cases": shortened(cases)} if len({case["level"] for case in cases}) > 1 else {})


def shortened(cases):
    """The cases by those facts alone that some answer hangs on."""

    def matters(fact):
        apart = {}
        for case in cases:
            rest = tuple(value for key, value in case["when"].items() if key != fact)
            apart.setdefault(rest, set()).add(case["level"])
        return any(len(levels) > 1 for levels in apart.values())

    facts, found = [fact for fact in FACTS if matters(fact)], []
    for case in cases:
        short = {"when": {fact: case["when"][fact] for fact in facts}, "level": case["level"]}
        found += [] if short in found else [short]
    return found


# ---- everything -----------------------------------------------------------------------------------------------------


def members():
    """(enum, name, member) of every backend that the release registers."""
    from vllm.v1.attention.backends import registry

    for family in (registry.AttentionBackendEnum, registry.MambaAttentionBackendEnum):
        yield from ((family, name, member) for name, member in family.__members__.items())


def row(family, name, member):
    """What one backend answers."""
    module, _, class_name = (member.value or "").rpartition(".")
    out = {"name": name, "enum": family.__name__, "class": class_name or None, "module": module or None}
    try:
        backend = pretend.load(member.get_class)
    except Exception as error:
        return {**out, "unavailable": f"{type(error).__name__}: {error}"}
    out["cudagraph"] = cudagraph(backend)
    return out if family.__name__.startswith("Mamba") else out | attention(backend)


def attention(backend):
    """What a backend of attention layers answers besides."""
    from vllm.platforms import current_platform
    from vllm.platforms.interface import DeviceCapability
    from vllm.v1.attention.backend import AttentionType

    out = layouts(backend) | sized(backend)
    with under(configuration()):
        sizes = backend.get_supported_kernel_block_sizes
        out["supported_kernel_block_sizes"] = asked(sizes, *([None] if inspect.signature(sizes).parameters else []))
        out["supported_dtypes"] = plain(backend.supported_dtypes)
        out["supported_kv_cache_dtypes"] = [w for w in cache_dtypes() if asked(backend.supports_kv_cache_dtype, w)]
        out["supported_head_sizes"] = asked(backend.get_supported_head_sizes)
        out["head_sizes_accepted"] = [size for size in HEAD_SIZES if asked(backend.supports_head_size, size)]
        out |= {key: asked(getattr(backend, key)) for key in ANSWERS if hasattr(backend, key)}
        out["supports_attn_types"] = [kind.value for kind in AttentionType if asked(backend.supports_attn_type, kind)]
        if current_platform.is_cuda():
            takes = backend.supports_compute_capability
            known = [(word, DeviceCapability(*map(int, word.split(".")))) for word in CAPABILITIES]
            out["capabilities_accepted"] = [word for word, capability in known if asked(takes, capability)]
    return out


def sized(backend):
    """Head sizes that follow a rule, and the preferred block where it is another than the kernels' sizes give."""
    from vllm.v1.attention.backend import AttentionBackend

    preferred, usual = (
        asked(getter, *first, DEFAULT_BLOCK)
        for getter, first in (
            (backend.get_preferred_block_size, ()),
            (AttentionBackend.get_preferred_block_size.__func__, (backend,)),
        )
    )
    with under(configuration()):
        sizes = [size for size in range(1, MOST_HEAD + 1) if asked(backend.supports_head_size, size)]
    return {
        "head_size_rule": head_size_rule(sizes),
        "preferred_block_size": None if preferred == usual else preferred,
    }


DEFAULT_BLOCK, MOST_HEAD = 16, 1024


def head_size_rule(sizes):
    """The multiples of a number, or all from one number on, that are accepted; None where it is neither, or all."""
    if sizes in ([], list(range(1, MOST_HEAD + 1))):
        return None
    first, last = sizes[0], sizes[-1]
    if last == MOST_HEAD and sizes == list(range(first, last + 1)):
        return {"least": first}
    if len(sizes) > 4 and sizes == list(range(first, last + 1, first)):
        return {"multiple_of": first, "most": last}
    return None


def layouts(backend):
    """How the cache lies in memory."""
    if hasattr(backend, "supported_kv_cache_layouts"):
        return {"supported_kv_cache_layouts": asked(backend.supported_kv_cache_layouts)}
    required = asked(backend.get_required_kv_cache_layout)
    return {
        "kv_cache_shape": shapes(backend),
        "stride_order": stride_orders(backend),
        "required_kv_cache_layout": required,
    }


def main(platform, capability=None):
    pretend.be(platform, capability)
    rows = [row(*one) for one in members()]
    place = {"platform": platform, "capability": capability}
    print(json.dumps({"place": place, "cache_dtypes": cache_dtypes(), "backends": rows}))


if __name__ == "__main__":
    main(*sys.argv[1:])
