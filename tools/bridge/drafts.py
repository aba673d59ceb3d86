"""A draft model's modules, built the way the runner builds them, up to the weights."""

import importlib
import importlib.util

import torch

WITHOUT_MODEL = ("ngram", "ngram_gpu", "[ngram]", "suffix", "medusa", "mlp_speculator", "extract_hidden_states")
HOME = "vllm.v1.worker.gpu.spec_decode."


class Built(Exception):
    """The draft's modules are there; what follows wants weights."""


class Loader:
    """In place of the function that loads a model."""

    model = None

    def __call__(self, *, vllm_config, model_config=None, prefix="", **more):
        from vllm.model_executor.model_loader.utils import initialize_model

        model_config = model_config or vllm_config.model_config
        self.model = initialize_model(vllm_config, prefix=prefix, model_config=model_config)
        raise Built


def load(config, target):
    """Add a draft's layers to those of its target."""
    speculative = config.speculative_config
    if speculative.method in WITHOUT_MODEL:
        return
    before = set(attention_layers(config))
    if not config.use_v2_model_runner:
        older(config)
    elif speculative.method == "dflash":
        built("dflash.utils", lambda home: home.load_dflash_model(target, config))
    elif speculative.method == "dspark":
        built("dspark.utils", lambda home: home.load_dspark_model(target, config))
    elif speculative.use_gemma4_mtp():
        gemma4(config, target, before)
    elif speculative.uses_draft_model():
        standalone(config, target, before)
    else:
        built("eagle.utils", lambda home: home.load_eagle_model(target, config))
    layers = attention_layers(config)
    for name in set(layers) - before:
        if hasattr(layers[name], "is_draft_layer"):
            layers[name].is_draft_layer = True


OLDER = {"dflash": ("dflash", "DFlashProposer"), "draft_model": ("draft_model", "DraftModelProposer")}
"""Way to draft → where model runner V1 has its class; `EagleProposer` for the others."""


def older(config):
    """A draft as model runner V1 builds it."""
    module, name = OLDER.get(config.speculative_config.method, ("eagle", "EagleProposer"))
    cls = getattr(importlib.import_module(f"vllm.v1.spec_decode.{module}"), name)
    proposer = bare(cls, config)
    if module == "dflash":
        from vllm.model_executor.models import qwen3_dflash

        draft = config.speculative_config.draft_model_config.hf_config
        own = (getattr(draft, "dflash_config", None) or {}).get("causal", False)
        asks = getattr(qwen3_dflash, "dflash_has_any_non_causal", None)
        proposer.dflash_causal = not asks(draft) if asks else own
    home = "draft_model" if module == "draft_model" else "llm_base_proposer"
    built(f"vllm.v1.spec_decode.{home}", lambda _: proposer._get_model())


def gemma4(config, target, before):
    """Gemma 4's draft, whose layers share its target's cache."""
    speculator = bare(importlib.import_module(HOME + "gemma4.speculator").Gemma4Speculator, config)
    model = built("gemma4.speculator", lambda home: speculator.load_draft_model(target, before))
    speculator._setup_gemma4_kv_sharing(model, before)


def standalone(config, target, before):
    """A model of its own as the draft."""
    if importlib.util.find_spec(HOME + "standalone_ar"):
        built(
            "standalone_ar.speculator",
            lambda home: bare(home.StandaloneARSpeculator, config).load_draft_model(target, before),
        )
    else:
        built("vllm.v1.spec_decode.draft_model", lambda home: bare(home.DraftModelProposer, config)._get_model())


def attention_layers(config):
    """Layer → module of all that have a cache."""
    from vllm.config import get_layers_from_vllm_config
    from vllm.model_executor.layers.attention_layer_base import AttentionLayerBase

    return get_layers_from_vllm_config(config, AttentionLayerBase)


def bare(cls, config):
    """An object made without its device buffers."""
    made = object.__new__(cls)
    made.vllm_config, made.speculative_config = config, config.speculative_config
    made.draft_model_config, made.device = config.speculative_config.draft_model_config, torch.device("meta")
    return made


def built(name, function):
    """The model that a function of a module would load weights into."""
    loader = Loader()
    home = importlib.import_module(name if name.startswith("vllm.") else HOME + name)
    if hasattr(home, "get_model"):
        home.get_model = loader
    importlib.import_module("vllm.model_executor.model_loader").get_model = loader
    try:
        function(home)
    except Built:
        return loader.model
    return None
