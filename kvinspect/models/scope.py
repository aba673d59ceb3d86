"""Where a family stands while it yields layers: the configuration, the prefix of names, the settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kvinspect.document.problem import DocumentError, Problem
from kvinspect.models.config import Model
from kvinspect.models.fields import Fields
from kvinspect.models.layers import Attention, Layer
from kvinspect.models.registry import family, normalized, table
from kvinspect.models.resolve import window_of
from kvinspect.models.setting import ModelSetting
from kvinspect.releases.model_rules import ModelRules

Window = Callable[[Fields, int], int | None]
"""The window of a layer by its index, in tokens."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A module of vLLM that is being built: its configuration, and what stands before its layers' names (`at`)."""

    model: Model
    setting: ModelSetting
    config: Fields
    architecture: str
    cls: str
    at: str = ""

    @property
    def text(self) -> Fields:
        """The language model's part of the configuration."""
        return self.config.text

    @property
    def rules(self) -> ModelRules:
        """What the release does differently."""
        return self.setting.rules

    def named(self, name: str) -> str:
        """A layer's full name."""
        return f"{self.at}.{name}" if self.at else name

    def bare(self, name: str) -> str:
        """A name below an empty prefix, which vLLM writes with its leading dot."""
        return name if self.at else f".{name}"

    def layers(self) -> Iterator[Layer]:
        """The layers of the module, by the family of its architecture. Raises DocumentError where none knows it."""
        module = family(self.model, self.architecture, self.cls)
        yield from module.layers(self)

    def inner(self, config: Fields, prefix: str, architecture: str | None = None) -> Iterator[Layer]:
        """The layers of a model inside this one (`init_vllm_registered_model`).

        The architecture is the given one, else that of the configuration, else the one of its model type.
        """
        named = [architecture] if architecture else config.words("architectures")
        name = named[0] if named else config.causal_architecture
        if name == self.architecture and config is self.config and not architecture:
            config.fail("text_config", f"the configuration of the language model in {name}", None)
        if name is None:
            config.fail("architectures", "a language model that vLLM knows by its architectures or model_type", name)
        known_classes = table(self.setting.release.version)["classes"]
        normal = normalized(name, known_classes, self.setting.architecture.runner)
        if normal not in known_classes:
            message = f"vLLM {self.setting.release.version} has no architecture {name}"
            problem = Problem((*config.path, "architectures"), message=message, kind="unknown-architecture")
            raise DocumentError([self.model.source.place(problem)])
        at = self.named(prefix) if prefix else self.at
        cls = known_classes[normal]["class"]
        yield from replace(self, config=config, architecture=name, cls=cls, at=at).layers()

    def decoder(
        self,
        stack: str = "model.layers",
        attention: str = "self_attn.attn",
        *,
        head_size: int | None = None,
        num_kv_heads: int | None = None,
        window: Window | None = None,
        may_look_both_ways: bool = False,
        has_sink: bool = False,
    ) -> Iterator[Attention]:
        """A stack of decoder layers, each with one attention: what most models are.

        `head_size` and `num_kv_heads` are the configuration's where they are not given. `may_look_both_ways` is for
        models that attend bidirectionally where their configuration says that they are not causal.
        """
        text = self.text
        both = may_look_both_ways and not text.flag("is_causal", self.config.flag("is_causal", True))
        size, kv = head_size or text.head_dim, num_kv_heads or text.kv_heads
        for i in range(text.layers):
            yield Attention(
                self.named(f"{stack}.{i}.{attention}"),
                i,
                text.heads,
                kv,
                size,
                sliding_window=window(text, i) if window else None,
                attn_type="encoder_only" if both else "decoder",
                has_sink=has_sink,
            )


def by_layer_type(text: Fields, index: int) -> int | None:
    """The window of layers that `layer_types` calls `sliding_attention`."""
    kinds = text.layer_types()
    return window_of(text) if kinds and kinds[index] == "sliding_attention" else None
