"""The backend of a layer: the family's, the user's, or the first of the release's list that takes the layer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kvinspect.backends.backend import Backend, from_catalogue
from kvinspect.backends.candidates import Ask, Misfit, candidates, misfits_of
from kvinspect.backends.conditions import Facts
from kvinspect.document.problem import nearest
from kvinspect.document.refusal import Unknown
from kvinspect.models.inner_backends import INNER
from kvinspect.models.layers import Attention, Latent
from kvinspect.models.resolve import stopped
from kvinspect.models.setting import ModelSetting


class PassedOver(NamedTuple):
    """A backend that stands higher on the list, and the properties of the layer that it does not support."""

    backend: str
    reasons: tuple[str, ...]


class SelectedBackend(NamedTuple):
    """The backend of a layer, who chose it, and those that were passed over."""

    backend: str
    why: str
    passed_over: tuple[PassedOver, ...] = ()


class Chooser:
    """Chooses under one setting; layers that ask for the same are asked about once."""

    def __init__(self, setting: ModelSetting) -> None:
        self.setting = setting
        self.entries: Mapping[str, Any] = {**INNER, **setting.release.catalogue["backends"]}
        self.facts: Facts = setting.deployment.facts()
        self.flash_attention = setting.flash_attention
        self._chosen: dict[Any, SelectedBackend] = {}
        self._backends: dict[str, Backend] = {}

    def backend(self, name: str) -> Backend:
        """What a backend answers under the setting. Raises Unknown for one that the release does not have."""
        if name not in self._backends:
            if name not in self.entries:
                near = nearest(name, self.entries)
                raise Unknown(("attention_backend",), name, "a backend of the release", near, "unknown-backend")
            found = from_catalogue(name, self.entries[name], self.facts)
            sizes = self._fixed_sizes(name)
            self._backends[name] = found if sizes is None else found._replace(kernel_block_sizes=sizes)
        return self._backends[name]

    def _check_named(self, name: str) -> None:
        """Raises Unknown for a name that is no attention backend, DocumentError for one that vLLM itself has not."""
        attention = [one for one, entry in self.entries.items() if "supported_head_sizes" in entry]
        if "unavailable" in self.entries.get(name, {}):
            text = f"{name} has no backend in vLLM {self.setting.release.version} unless a plugin registers one"
            raise stopped("attention_backend", text)
        if name not in attention:
            near = nearest(name, attention)
            raise Unknown(("attention_backend",), name, "a backend of the release", near, "unknown-backend")

    def _fixed_sizes(self, name: str) -> tuple[int | str, ...] | None:
        """Kernel blocks of FlashAttention where the model's heads fix them, None elsewhere."""
        if "flash_attention" not in self.entries[name]:
            return None
        size = self.flash_attention.fixed_block(self.setting.shape.head_size, self.setting.cache_dtype)
        return None if size is None else (size,)

    def choose(self, layer: Attention | Latent, cache_dtype: str) -> SelectedBackend:
        """The backend of a layer with a cache dtype. Raises DocumentError where none takes it, or not the user's."""
        if layer.backend is not None:
            return SelectedBackend(layer.backend, "the model's own")
        ask = self._ask(layer, cache_dtype)
        extra = tuple(layer.facts.items()) if isinstance(layer, Latent) else ()
        key = (ask, extra)
        if key not in self._chosen:
            self._chosen[key] = self._choose(ask, dict(extra))
            self._check_made(self._chosen[key].backend, cache_dtype)
        return self._chosen[key]

    def _check_made(self, name: str, cache_dtype: str) -> None:
        """Raises DocumentError where a backend takes a layer and stops when it is made (`TritonAttentionImpl`)."""
        capability = self.setting.capability
        least = self.entries[name].get("fp8_from_capability")
        if least is None or self.setting.platform != "cuda" or capability is None:
            return
        if cache_dtype.startswith("fp8") and _numbers(capability) < _numbers(least):
            text = f"{name}, which would run the layers, has no fp8 cache on compute capability {capability}"
            raise stopped("kv_cache_dtype", text, f"use bfloat16, or a device of compute capability {least} or higher")

    def _ask(self, layer: Attention | Latent, cache_dtype: str) -> Ask:
        setting = self.setting
        if isinstance(layer, Latent):
            return Ask(layer.head_size, setting.dtype, cache_dtype, setting.block_size, True, layer.sparse)
        window = layer.sliding_window or setting.sliding_window
        plain = layer.attn_type != "encoder_only" and layer.attention_chunk_size is None
        return Ask(
            head_size=layer.head_size,
            dtype=setting.dtype,
            cache_dtype=cache_dtype,
            block_size=setting.block_size,
            has_sink=layer.has_sink and plain,
            use_mm_prefix=setting.shape.is_mm_prefix and plain,
            has_sliding_window=window is not None and plain,
            use_non_causal=setting.non_causal,
            attn_type=layer.attn_type,
            use_kv_connector=setting.arguments.kv_connector is not None,
        )

    def _choose(self, ask: Ask, extra: Mapping[str, Any]) -> SelectedBackend:
        wanted = self.setting.attention_backend
        if wanted is not None:
            self._check_named(wanted)
        unasked = self._unasked(ask)
        if unasked is not None:
            return unasked
        if wanted is not None:
            reasons = self._reasons(wanted, ask, extra)
            if reasons:
                raise stopped("attention_backend", f"{wanted} does not support {'; '.join(reasons)}")
            return SelectedBackend(wanted, "requested")
        passed: list[PassedOver] = []
        for name in candidates(self.setting.release.catalogue, self.setting.deployment, ask):
            reasons = self._switched_off(name) or self._reasons(name, ask, extra)
            if not reasons:
                return SelectedBackend(name, "highest-priority backend that supports the layer", tuple(passed))
            passed.append(PassedOver(name, reasons))
        said = "; ".join(f"{name}: {', '.join(reasons)}" for name, reasons in passed)
        raise stopped("attention_backend", f"no attention backend of {self._place()} supports the layers: {said}")

    def _unasked(self, ask: Ask) -> SelectedBackend | None:
        """The backend of a CPU, which is taken whatever the user names and without asking what it supports."""
        if self.setting.platform != "cpu" or ask.use_sparse:
            return None
        found = candidates(self.setting.release.catalogue, self.setting.deployment, ask)
        return (
            SelectedBackend(found[0], "the platform's own, which is taken without asking what it supports")
            if found
            else None
        )

    def _place(self) -> str:
        capability = self.setting.capability
        return self.setting.platform + (f" {capability}" if capability else "")

    def _switched_off(self, name: str) -> tuple[str, ...]:
        """The variables that keep the platform from trying a backend, as they are set or by default."""
        arguments, switches = self.setting.arguments, self.entries[name].get("switched_on_by", {})
        off = [one for one, on in switches.items() if arguments.is_off(one) or not (on or arguments.is_on(one))]
        return tuple(f"{one} is off" for one in off)

    def _reasons(self, name: str, ask: Ask, extra: Mapping[str, Any]) -> tuple[str, ...]:
        misfits = [*misfits_of(self.entries[name], ask, self.facts), *self._together(name, ask, extra)]
        return tuple(dict.fromkeys(misfit.text for misfit in misfits))

    def _together(self, name: str, ask: Ask, extra: Mapping[str, Any]) -> Iterator[Misfit]:
        """What a backend does not take together (`supports_combination`)."""
        entry = self.entries[name]
        served = entry.get("flash_attention") if self.setting.platform == "cuda" else None
        if served == "all":
            yield from self.flash_attention.misfits(ask)
        if served == "causal":
            version = self.flash_attention.version(ask.head_size)
            if version not in self.flash_attention.rules.shares_prefix:
                yield Misfit("attention", f"FlashAttention {version}", "")
        sizes = entry.get("qk_nope_head_dims")
        if sizes and extra.get("qk_nope_head_dim", 1) not in sizes:
            yield Misfit("attention", f"qk_nope_head_dim {extra.get('qk_nope_head_dim', 1)}", "")
        if ask.cache_dtype in entry.get("refused_cache_dtypes", ()):
            yield Misfit("cache dtype", f"KV cache dtype {ask.cache_dtype}", "")
        parallel = self.setting.arguments.decode_context_parallel_size > 1
        if parallel and entry.get("takes_decode_context_parallelism") is False:
            yield Misfit("attention", "decode context parallelism", "")


def _numbers(capability: str) -> tuple[int, ...]:
    return tuple(map(int, capability.split(".")))
