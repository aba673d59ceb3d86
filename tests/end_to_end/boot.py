"""Boots vLLM on the CPU with a model of random weights, and ends: boot.py FOLDER. Run by an interpreter that has vLLM."""

import sys

if __name__ == "__main__":
    from vllm import LLM

    LLM(
        model=sys.argv[1],
        load_format="dummy",
        skip_tokenizer_init=True,
        enforce_eager=True,
        max_model_len=256,
        max_num_seqs=4,
        distributed_executor_backend="uni",
    )
    print("booted")
