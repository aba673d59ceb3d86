"""What the platform refuses: dtypes that its devices do not have."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.configuration.call import Call, Rule, Stop
from kvinspect.provenance import vllm


@vllm("CudaPlatformBase.check_if_supports_dtype")
def dtype_of_the_device(call: Call) -> Iterator[Stop]:
    """CUDA devices have bfloat16 from compute capability 8.0 on."""
    setting = call.setting
    major = int((setting.capability or "99.0").split(".")[0])
    if setting.platform == "cuda" and setting.dtype == "bfloat16" and major < 8:
        text = f"bfloat16 needs compute capability 8.0, and the device has {setting.capability}; take float16"
        yield Stop("dtype", text)


RULES: tuple[Rule, ...] = (dtype_of_the_device,)
