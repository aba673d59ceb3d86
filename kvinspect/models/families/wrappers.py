"""Models that see or hear, as far as their language model goes: it stands under a prefix and is of another family."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvinspect.models.here import Here
from kvinspect.models.layers import Layer


class Wrapper(NamedTuple):
    """Where the language model stands, and its architecture where that is fixed."""

    prefix: str = "language_model"
    architecture: str | None = None


_NESTED = Wrapper()
_QWEN2 = Wrapper(architecture="Qwen2ForCausalLM")
_QWEN3 = Wrapper(architecture="Qwen3ForCausalLM")
_LLAMA = Wrapper(architecture="LlamaForCausalLM")

ARCHITECTURES: dict[str, Wrapper] = {
    **dict.fromkeys(
        ("Blip2ForConditionalGeneration", "Cohere2VisionForConditionalGeneration", "DeepseekOCRForCausalLM",
         "DeepseekOCR2ForCausalLM", "Eagle2_5_VLForConditionalGeneration", "GraniteSpeechForConditionalGeneration",
         "GraniteSpeechPlusForConditionalGeneration", "HCXVisionForCausalLM", "HCXVisionV2ForCausalLM",
         "InternS1ForConditionalGeneration", "InternVLChatModel", "H2OVLChatModel",
         "LightOnOCRForConditionalGeneration",
         "LlavaForConditionalGeneration", "LlavaNextForConditionalGeneration",
         "LlavaNextVideoForConditionalGeneration",
         "LlavaOnevisionForConditionalGeneration", "BeeForConditionalGeneration", "Mistral3ForConditionalGeneration",
         "NemotronH_Nano_VL_V2", "LlamaNemotronVLChatModel", "OpenVLAForActionPrediction",
         "PaliGemmaForConditionalGeneration",
         "PixtralForConditionalGeneration", "SkyworkR1VChatModel", "Step3VLForConditionalGeneration",
         "Step3p7ForConditionalGeneration", "StepVLForConditionalGeneration", "UltravoxModel",
         "VoxtralForConditionalGeneration",
         "NVLM_D_Model", "Idefics3ForConditionalGeneration"),
        _NESTED,
    ),
    **dict.fromkeys(
        ("AudioFlamingo3ForConditionalGeneration", "BagelForConditionalGeneration", "CheersForConditionalGeneration",
         "OpenCUAForConditionalGeneration", "Qwen2AudioForConditionalGeneration", "Qwen2VLForConditionalGeneration",
         "Qwen2_5_VLForConditionalGeneration", "Qwen2_5OmniThinkerForConditionalGeneration", "DotsOCRForCausalLM"),
        _QWEN2,
    ),
    **dict.fromkeys(
        ("FunAudioChatForConditionalGeneration", "IsaacForConditionalGeneration", "KeyeForConditionalGeneration",
         "KeyeVL1_5ForConditionalGeneration", "LlavaOnevision2ForConditionalGeneration",
         "Qwen3VLForConditionalGeneration",
         "MossTranscribeDiarizeForConditionalGeneration"),
        _QWEN3,
    ),
    "Qwen3VLMoeForConditionalGeneration": Wrapper(architecture="Qwen3MoeForCausalLM"),
    "Qwen3OmniMoeThinkerForConditionalGeneration": Wrapper(architecture="Qwen3MoeForCausalLM"),
    "GlmAsrForConditionalGeneration": _LLAMA,
    "KananaVForConditionalGeneration": Wrapper("model", "LlamaForCausalLM"),
    "Exaone4_5_ForConditionalGeneration": Wrapper(architecture="Exaone4ForCausalLM"),
    "Gemma3ForConditionalGeneration": Wrapper(architecture="Gemma3ForCausalLM"),
    "Gemma3nForConditionalGeneration": Wrapper(architecture="Gemma3nForCausalLM"),
    "Gemma4ForConditionalGeneration": Wrapper(architecture="Gemma4ForCausalLM"),
    "Gemma4UnifiedForConditionalGeneration": Wrapper(architecture="Gemma4ForCausalLM"),
    "DeepseekVLV2ForCausalLM": Wrapper("language"),
    "KimiVLForConditionalGeneration": Wrapper(architecture="DeepseekV2ForCausalLM"),
    "KimiK25ForConditionalGeneration": Wrapper(architecture="DeepseekV2ForCausalLM"),
    "Lfm2VLForConditionalGeneration": Wrapper("language"),
    "MiDashengLMModel": Wrapper("decoder", "Qwen2ForCausalLM"),
    "Ovis": Wrapper("llm"),
    "Ovis2_5": Wrapper("llm"),
    "Phi4ForCausalLMV": Wrapper(architecture="Phi3ForCausalLM"),
    "Phi3VForCausalLM": Wrapper("", "LlamaForCausalLM"),
    "Llama4ForConditionalGeneration": Wrapper(architecture="Llama4ForCausalLM"),
}  # fmt: skip


def layers(here: Here) -> Iterator[Layer]:
    """The language model's layers, under its prefix."""
    way = ARCHITECTURES[here.cls]
    yield from here.inner(here.text, way.prefix, way.architecture)
