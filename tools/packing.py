"""What `customize_spec` writes into a spec, by the class that defines it."""

# The facts hold straight lines through what was observed; these are the functions behind the lines that are not whole
# numbers everywhere. A TurboQuant slot is packed keys and values with their scales, rounded up to an even size.
TURBOQUANT = {
    "TURBOQUANT_K8V4": "(head_size+(4*head_size+7)//8+4+1)//2*2",
    "TURBOQUANT_4BIT_NC": "((4*head_size+7)//8+2+(4*head_size+7)//8+4+1)//2*2",
    "TURBOQUANT_K3V4_NC": "((3*head_size+7)//8+2+(4*head_size+7)//8+4+1)//2*2",
    "TURBOQUANT_3BIT_NC": "((3*head_size+7)//8+2+(3*head_size+7)//8+4+1)//2*2",
}

# What `customize_spec` writes into a spec (0.28 on), by the class that defines it; the numbers that the facts hold for
# one spec are these, evaluated. `requires` and `block_size_multiple` are what the class asserts, `refuses` what it
# raises; `state_content_bytes` and `num_head_slots` are written where the spec is not packed yet.
PER_TOKEN_HEAD = ["INT8_PER_TOKEN_HEAD", "FP8_PER_TOKEN_HEAD"]

SYMMETRIC = "head_size==head_size_v"

TWO_SLOTS = [
    {"requires": SYMMETRIC, "num_head_slots": "2", "state_content_bytes": "num_kv_heads*head_size*itemsize"},
]

NOT_ALIKE = {"type": "ValueError", "text": "the two backends of a composite pack this spec differently"}

ROWS = "state_content_size_bytes"

CUSTOMIZED = {
    "TurboQuantAttentionBackend": [
        {"if": {"kv_quant_mode": [mode]}, "state_content_bytes": slot} for mode, slot in TURBOQUANT.items()
    ],
    "UltraQuantAttentionBackend": [
        {"if": {"kv_quant_mode": ["ULTRAQUANT_4BIT"]}, "state_content_bytes": "2*(head_size//2+head_size//32)"}
    ],
    "TritonAttentionBackend": [
        {
            "if": {"kv_quant_mode": ["INT4_PER_TOKEN_HEAD"]},
            "state_content_bytes": "head_size//2*itemsize+head_size_v//2*itemsize+8",
        },
        {
            "if": {"kv_quant_mode": PER_TOKEN_HEAD},
            "state_content_bytes": "head_size*itemsize+head_size_v*itemsize+8",
        },
    ],
    "FlashInferBackend": [
        {
            "if": {"kv_quant_mode": ["NVFP4"]},
            "requires": SYMMETRIC,
            "num_head_slots": "2*num_kv_heads",
            "state_content_bytes": "head_size//2*itemsize+head_size//16*itemsize",
        }
    ],
    "MLACommonBackend": [
        {"if": {"kv_quant_mode": ["INT4_PER_TOKEN_HEAD"]}, "state_content_bytes": "head_size//2*itemsize+8"},
        {
            "if": {"kv_quant_mode": PER_TOKEN_HEAD},
            "state_content_bytes": "head_size*itemsize+8",
        },
    ],
    "MiniMaxM3SparseMSABackend": [
        {
            "if": {"kv_quant_mode": ["NVFP4"]},
            "num_head_slots": "2*num_kv_heads",
            "state_content_bytes": "head_size//2*itemsize+head_size//16*itemsize",
        }
    ],
    "RocmAttentionBackend": TWO_SLOTS,
    "B12xPagedAttentionBackend": TWO_SLOTS,
    "AiterFlashAttentionBackend": [{"block_size_multiple": 16}],
    "RocmAiterUnifiedAttentionBackend": [{"block_size_multiple": 16}],
    "RocmOctaveAttentionBackend": [
        {
            "if": {"kv_quant_mode": ["OCTAVE_K3V4", "OCTAVE_K3V3", "OCTAVE_K3V3_COMPACT"]},
            "unknown": "its Octave slot hangs on the model's rotary dim",
        }
    ],
    "TritonFlashAttentionBackend": [
        {"if": {"kv_quant_mode": ["INT4_PER_TOKEN_HEAD", *PER_TOKEN_HEAD]}, "refuses": NOT_ALIKE},
    ],
    "TritonFlashInferBackend": [
        {"if": {"kv_quant_mode": ["INT4_PER_TOKEN_HEAD", *PER_TOKEN_HEAD, "NVFP4"]}, "refuses": NOT_ALIKE},
    ],
    "Step5DSAAttentionBackend": [{"block_stride_alignment": "8n"}],
    "FlashMLASparseBackend": [
        {"if": {"kv_quant_mode": ["NONE"]}, "block_stride_alignment": ROWS},
        {"if": {"platform": "cuda", "capability_family": [10]}, "block_stride_alignment": ROWS},
        {"block_stride_alignment": "64n"},
    ],
}

WHOLE_ROWS = (
    "XPUMLASparseBackend",
    "FlashAttnMLASparseBackend",
    "FlashInferMLASparseSM90Backend",
    "ROCMAiterMLASparseBackend",
)
"""Classes that keep blocks whole rows apart."""

WHOLE_PAGES = ("_FlashInferMLASparseBackendBase", "FlashAttnMLASparseFA4Backend")
"""Classes that keep blocks whole pages apart, of as many rows as their kernels read at once."""


def customized(backend):
    """The rules of the class that defines the backend's `customize_spec`, [] where that is the base class."""
    owner = next((c.__name__ for c in backend.__mro__ if "customize_spec" in vars(c)), None)
    if owner in (None, "AttentionBackend"):
        return []
    if owner in WHOLE_ROWS:
        return [{"block_stride_alignment": ROWS}]
    if owner in WHOLE_PAGES:
        (page,) = backend.get_supported_kernel_block_sizes(None)
        return [{"block_stride_alignment": f"{page.base}*{ROWS}"}]
    return CUSTOMIZED[owner]
