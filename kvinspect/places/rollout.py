"""Hydra overrides of an RL trainer (verl) that rolls out with vLLM: `actor_rollout_ref.rollout.NAME=VALUE`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvinspect.places.forms import HYDRA
from kvinspect.places.fragment import Entry, Fragment, Said, Word

ENGINE = {
    "tensor_model_parallel_size": "tensor_parallel_size",
    "pipeline_model_parallel_size": "pipeline_parallel_size",
    "data_parallel_size": "data_parallel_size",
    "gpu_memory_utilization": "gpu_memory_utilization",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "max_num_seqs": "max_num_seqs",
    "max_model_len": "max_model_len",
    "enforce_eager": "enforce_eager",
    "enable_chunked_prefill": "enable_chunked_prefill",
    "enable_prefix_caching": "enable_prefix_caching",
    "dtype": "dtype",
}
"""The trainer's name of an option → the engine's; the trainer's other options are its own."""

_ROLLOUT = re.compile(r"\+{0,2}(?P<at>(?:[\w]+\.)*rollout)\.(?P<name>[\w.]+)=(?P<value>.*)", re.DOTALL)
_ENGINE_KWARGS = "engine_kwargs.vllm."
_GPUS = re.compile(r"\+{0,2}(?:trainer\.)?n_gpus_per_node=(\d{1,4})")
_MODEL = re.compile(r"\+{0,2}actor_rollout_ref\.model\.path=(.+)", re.DOTALL)


def rollout(words: Sequence[Word]) -> Fragment | None:
    """The place that the overrides of a trainer's call are, None where it does not roll out with vLLM."""
    found = [(word, match) for word in words if (match := _ROLLOUT.fullmatch(word.text))]
    if not any(match["name"] == "name" and match["value"] == "vllm" for _, match in found):
        return None
    entries = tuple(
        Entry(word._replace(text=match[0].partition("=")[0], opaque=False), _value(word, match), name=name)
        for word, match in found
        if (name := _engine_name(match["name"]))
    )
    own = tuple(word for word, match in found if not _engine_name(match["name"]))
    first = min((word.mark for word, _ in found), default=None)
    return Fragment(HYDRA, entries=entries, command=words[0].mark, gpus=_gpus(words), own_flags=own, start=first)


def model_of(words: Sequence[Word]) -> Word | None:
    """The model that the trainer's call names."""
    for word in words:
        if found := _MODEL.fullmatch(word.text):
            return _value_at(word, found.start(1))
    return None


def _engine_name(name: str) -> str | None:
    if name.startswith(_ENGINE_KWARGS):
        return name.removeprefix(_ENGINE_KWARGS)
    return ENGINE.get(name)


def _value(word: Word, match: re.Match[str]) -> Word:
    return _value_at(word, match.start("value"))


def _value_at(word: Word, offset: int) -> Word:
    begins = word.begins
    default = (
        word.default[offset:] if word.default is not None and word.default[:offset] == word.text[:offset] else None
    )
    return Word(word.text[offset:], begins._replace(column=begins.column + offset), word.opaque, default)


def _gpus(words: Sequence[Word]) -> Said | None:
    for word in words:
        if not word.opaque and (found := _GPUS.fullmatch(word.text)):
            return Said(found[1], "trainer.n_gpus_per_node", word.mark)
    return None
