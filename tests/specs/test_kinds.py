"""Each spec class of every release has a kind and a module, and a document can say every field of it."""

import pytest

import kvinspect
from kvinspect.data import catalogue
from kvinspect.document.spec_fields import FIELDS
from kvinspect.document.words import KIND_OF_WORD, SPEC_CLASSES
from kvinspect.planning.deployment import of_batches_in_flight, of_resident_pages
from kvinspect.specs.attention import AttentionSpec
from kvinspect.specs.kinds import attention, class_of
from kvinspect.specs.mamba import MambaSpec
from kvinspect.specs.page_size import data_by_kind, page_by_slots
from kvinspect.specs.raw_pages import RawPagesSpec
from kvinspect.specs.uniform_type import UniformTypeSpecs

CLASSES = [(release, name) for release in catalogue.versions() for name in catalogue.read(release)["spec_classes"]]


@pytest.mark.parametrize(("release", "name"), CLASSES)
def test_a_document_can_say_every_field_of_every_class(release, name):
    fields = catalogue.read(release)["spec_classes"][name]
    required, optional = FIELDS[KIND_OF_WORD[name]]
    assert {*fields["required"], *fields["optional"]} <= {*required, *optional}


@pytest.mark.parametrize("kind", [kind for kind in SPEC_CLASSES if kind != "uniform_type"])
def test_a_kind_has_a_module_of_its_name_with_the_engines_class(kind):
    found = class_of(kind)
    assert (found.__module__, found.__name__) == (f"kvinspect.specs.{kind}", SPEC_CLASSES[kind])
    assert issubclass(found, (AttentionSpec, MambaSpec, RawPagesSpec))


def spec(kind, **more):
    sizes = {"block_size": 16, "num_kv_heads": 2, "head_size": 64, "head_size_v": 64, "dtype": "bfloat16"}
    return attention(kind, **{**sizes, **more})


def test_specs_that_differ_in_their_kind_alone_differ():
    kinds = [kind for kind in SPEC_CLASSES if kind != "uniform_type" and issubclass(class_of(kind), AttentionSpec)]
    assert len({spec(kind) for kind in kinds}) == len(kinds)


def test_a_changed_spec_stays_of_its_class():
    assert type(spec("mla_attention")._replace(block_size=32)) is class_of("mla_attention")


def spec_row():
    return {"block_size": 16, "num_kv_heads": 1, "head_size": 64, "dtype": "bfloat16"}


def load(of=of_batches_in_flight):
    document = {
        "kv_cache_specs": {"a": {"kind": "full_attention", **spec_row()}},
        "available_memory": [1 << 30],
        "model_config": {"max_model_len": 1000},
        "scheduler_config": {"max_num_batched_tokens": 100},
    }
    return of(kvinspect.load(document).model)


@pytest.mark.parametrize(
    ("made", "blocks"),
    [
        (spec("full_attention"), 63),
        (spec("sliding_window", sliding_window=64), 12),
        (spec("chunked_local_attention", attention_chunk_size=64), 11),
        (spec("encoder_only_attention"), 0),
        (spec("circular_buffer"), 1),
        (spec("kpool_tail", sliding_window=64), 1),
        (class_of("hisparse_hot")("hisparse_hot", 16, 4096, 5), 5),
        (class_of("hisparse_resident")("hisparse_resident", 16, 4096), 7),
    ],
)
def test_blocks_of_the_longest_request(made, blocks):
    """As `max_memory_usage_bytes` of the engine's class, in pages: 1000 tokens, of which 100 are in flight."""
    assert made.request_blocks(load()) == blocks


def test_before_033_pages_of_hisparse_are_resident_for_all_tokens():
    made = class_of("hisparse_resident")("hisparse_resident", 16, 4096)
    assert made.request_blocks(load(of=of_resident_pages)) == 63


def test_what_is_of_the_type_of_a_groups_first():
    class Rules:
        unpadded = staticmethod(page_by_slots)
        state_slots = None

    window, tail = spec("sliding_window", sliding_window=64), spec("kpool_tail", sliding_window=64)
    assert window.same_slots(tail, Rules)
    assert not tail.same_slots(window, Rules)
    assert tail.same_slots(tail._replace(sliding_window=8), Rules)
    assert spec("full_attention").same_slots(spec("mla_attention"), Rules)
    assert not spec("circular_buffer").same_slots(spec("full_attention"), Rules)
    assert UniformTypeSpecs.of({"a": window, "b": tail}, Rules).page(page_by_slots) == 2 * 8192


def test_latent_rows_have_their_formats_size_up_to_027():
    latent = spec("mla_attention", block_size=64, num_kv_heads=1, head_size=576, cache_dtype_str="fp8_ds_mla")
    assert data_by_kind(latent) == 64 * 656
    assert data_by_kind(latent._replace(model_version="deepseek_v4")) == 64 * 584
    assert data_by_kind(latent._replace(cache_dtype_str=None)) == 64 * 576 * 2


@pytest.mark.parametrize("kind", ["hisparse_hot", "hisparse_resident"])
def test_a_cache_with_raw_pages_is_refused_and_said_to_be(kind):
    raw = {"kind": kind, "block_size": 64, "page_size": 4096}
    raw |= {"blocks_per_request": 4} if kind == "hisparse_hot" else {}
    config = {"num_blocks": 4, "kv_cache_groups": [{"layer_names": ["a"], "kv_cache_spec": raw}]}
    with pytest.raises(kvinspect.DocumentError) as caught:
        kvinspect.align({"engine": "0.33", "kv_cache_config": config})
    assert "a planning document only" in str(caught.value)
    assert caught.value.errors[0].path == ("kv_cache_config", "kv_cache_groups", 0, "kv_cache_spec", "kind")
    found = kvinspect.lint({"engine": "0.33", "kv_cache_config": config})
    assert [finding.unjudged for finding in found.findings] == [True]


@pytest.mark.parametrize(("kind", "first"), [("circular_buffer", "0.29"), ("kpool_tail", "0.30")])
def test_a_release_without_the_class_refuses_it(kind, first):
    more = {"sliding_window": 16} if kind == "kpool_tail" else {}
    document = {"kv_cache_specs": {"a": {"kind": kind, **spec_row(), **more}}, "available_memory": [1 << 30]}
    assert kvinspect.plan({"engine": "0.28", **document}).refusal.type == "AttributeError"
    assert kvinspect.plan({"engine": first, **document}).refusal is None
