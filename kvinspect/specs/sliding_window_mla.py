"""A window over the last latent vectors (`SlidingWindowMLASpec`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from kvinspect.document.refusal import Refused
from kvinspect.specs.latent_rows import DEEPSEEK_V4_ROW, Latent, is_deepseek_v4
from kvinspect.specs.sliding_window import SlidingWindowSpec
from kvinspect.specs.unlike import agree, require

if TYPE_CHECKING:
    from kvinspect.specs.needs import MergeRules, Rules


class SlidingWindowMLASpec(Latent, SlidingWindowSpec):
    """The spec of a layer of DeepSeek V4 with a window."""

    __slots__ = ()

    latent: ClassVar[bool] = True
    latent_window: ClassVar[bool] = True
    kept_as: ClassVar[str] = "mla_attention"
    handed_on: ClassVar[tuple[str, ...]] = ("cache_dtype_str", "alignment", "compress_ratio", "model_version")

    def goes_with(self, other: Any, rules: Rules) -> bool:
        """Windows over latents that are alike, as is how they are read again."""
        if not other.latent_window or other.sliding_window != self.sliding_window:
            return False
        replays = [spec.marks_by_name.get("bounded_replay", False) for spec in (self, other)]
        return bool(replays[0] == replays[1])

    def data_bytes(self) -> int:
        """Bytes of the rows of a page, by their format (0.25 to 0.27). Raises Refused for an unknown model version."""
        if is_deepseek_v4(self):
            return self.storage_block_size * DEEPSEEK_V4_ROW
        self.checked()
        return self.storage_block_size * self.num_kv_heads * self.head_size * self.itemsize

    def checked(self) -> Self:
        """The spec. Raises Refused where the class does not know its model version."""
        if self.model_version not in (None, "deepseek_v4"):
            text = f"the model version {self.model_version} has no sliding window over latents"
            raise Refused("AssertionError", text)
        return self

    def merged(self, specs: Sequence[Any], rules: MergeRules) -> Self:
        """`SlidingWindowMLASpec.merge`, which hands on neither alignment, nor quantisation, nor a size of V."""
        require(specs, "latent_window", "sliding windows over latents are mixed with another kind")
        same = ("cache_dtype_str", "compress_ratio", "model_version", "sliding_window", "indexes_kv_by_block_stride")
        agree(specs, (*same, "extra_retained_tokens", "marks", "dcp_sharded", "block_stride_alignment"))
        size = self.head_size if rules.latent_has_v else 0
        return self._replace(alignment=None, kv_quant_mode="NONE", head_size_v=size)
