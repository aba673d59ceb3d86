"""Out-of-tree backends: shapes with the blocks here or there, memory orders, kernel block sizes, support levels."""

LEVELS = ("NEVER", "UNIFORM_SINGLE_TOKEN_DECODE", "UNIFORM_BATCH", "ALWAYS")
HEADS = ("num_blocks", "num_kv_heads", "block_size", "2*head_size")
BLOCKS_FIRST = ("num_blocks", 2, "block_size", "num_kv_heads", "head_size")
SHAPES = (
    BLOCKS_FIRST,
    BLOCKS_FIRST,
    BLOCKS_FIRST,
    HEADS,
    (2, "num_blocks", "block_size", "num_kv_heads", "head_size"),
    ("num_blocks", 2, "num_kv_heads", "block_size", "head_size"),
    (2, "num_blocks", "num_kv_heads", "block_size", "head_size"),
    (2, "num_blocks", "block_size", "num_kv_heads*head_size"),
    (2, "num_blocks", "block_size*num_kv_heads", "head_size"),
    (2, "num_kv_heads", "num_blocks", "block_size", "head_size"),
    ("num_blocks", "block_size", "num_kv_heads", "2*head_size"),
    ("num_blocks", 2, "block_size", 1, "head_size"),
    ("num_blocks", 2),
)
SIZES = (["16n"], ["1n"], [16], [16, 32], [64, "16n"], [32])


def own(choose):
    """One or two backends of a document's own, by name."""
    return {f"OWN_{i}": backend(choose) for i in range(choose.number(1, 2))}


def backend(choose):
    """A backend as a document defines it."""
    shape = HEADS if choose.facts.standardised else choose.pick(SHAPES)
    row = {"kv_cache_shape": list(shape), "supported_kernel_block_sizes": choose.pick(SIZES)}
    if not choose.facts.standardised and choose.chance(50):
        row["kv_cache_stride_order"] = stride_order(choose, len(shape))
    if choose.chance(40):
        row["cudagraph_support"] = choose.pick(LEVELS)
    return row


def stride_order(choose, dims):
    """A memory order by layout, or one for all: two dims of the shape change places."""
    written = list(range(dims))
    swapped = list(written)
    a, b = choose.number(0, dims - 1), choose.number(0, dims - 1)
    swapped[a], swapped[b] = swapped[b], swapped[a]
    return choose.pick(({"NHD": written, "HND": swapped}, swapped, {"NHD": swapped, "HND": written}))
