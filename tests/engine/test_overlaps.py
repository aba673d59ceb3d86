"""A view whose own blocks share bytes is unsound, whoever is asked; layers alike are proved together."""

import json

import pytest

import kvinspect
from kvinspect.cli.main import run
from kvinspect.document.limits import MAX_BARS, MAX_GROUPS
from kvinspect.document.problem import DocumentError
from kvinspect.engine import overlay
from kvinspect.report.align import View, page
from kvinspect.report.map.scene import scene
from kvinspect.report.page_parts import Table
from kvinspect.report.terminal import render

SPEC = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 1, "head_size": 64, "dtype": "float16"}
PAGE = 4096
STANDARD = ("0.29", "0.30", "0.33")


def document(layers, engine="0.33", blocks=8, tensors=None, spec=SPEC, backend="FLASH_ATTN", **more):
    groups = [{"layer_names": layers, "backend": backend, "kv_cache_spec": spec}]
    cache = {"num_blocks": blocks, "kv_cache_groups": groups}
    if tensors is not None:
        cache["kv_cache_tensors"] = tensors
    return {"engine": engine, "kv_cache_config": cache, **more}


def tensor(layers, block_stride, layer_stride=8 * PAGE, **more):
    return {"size": 64 * PAGE, "layers": layers, "layer_stride": layer_stride, "block_stride": block_stride, **more}


OVERLAPPING = document(["l.{0..1}"], tensors=[tensor(["l.0", "l.1"], PAGE // 2)])


@pytest.mark.parametrize("engine", STANDARD)
def test_blocks_half_a_page_apart_are_unsound(engine):
    answer = kvinspect.align({**OVERLAPPING, "engine": engine})
    assert (answer.sound, answer.clean) == (False, False)
    (found,) = answer.to_dict()["tensors"]
    assert found["sound"] is False
    assert found["conflict"] == found["self_conflict"]
    assert found["conflict"]["layers"] == ["l.0", "l.0"]
    assert (found["conflict"]["block_ids"], found["conflict"]["byte"]) == ([0, 1], PAGE // 2)
    assert found["where"]


@pytest.mark.parametrize("engine", STANDARD)
def test_one_block_has_no_other_to_overlap(engine):
    one = document(["l.0"], engine, 1, [tensor(["l.0"], PAGE // 2)])
    assert kvinspect.align(one).sound


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["align"], "✗ unsound: a view overlaps itself"),
        (["lint"], "KV104"),
        (["doctor"], "unsound"),
        (["map"], "overlaps itself"),
    ],
)
def test_every_command_says_so(command, says, tmp_path, capsys, monkeypatch):
    path = tmp_path / "overlapping.json"
    path.write_text(json.dumps(OVERLAPPING))
    monkeypatch.setattr("sys.argv", ["kvinspect", *command, str(path)])
    assert run() == 1
    printed = capsys.readouterr().out
    assert says in printed
    assert "✓ sound" not in printed
    assert "Proved" not in printed


def test_the_remedy_is_not_another_layout():
    (found,) = [one for one in kvinspect.lint(OVERLAPPING).findings if one.code == "KV104"]
    assert "its own bytes" in found.message


def test_a_heading_does_not_contradict_itself():
    text = render(page(kvinspect.align(OVERLAPPING), View()), width=None, colour=False)
    assert "unshared" not in text


@pytest.fixture
def proofs(monkeypatch):
    """How many proofs were made: one entry a proof."""
    made = []
    for name in ("smallest_blocks", "share"):
        real = getattr(overlay, name)
        monkeypatch.setattr(overlay, name, lambda *args, real=real: made.append(args) or real(*args))
    return made


LAYOUTS = ("LBHNC", "LBNHC", "LHBNC", "BLHNC", "BLNHC", "BHLNC")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("engine", STANDARD)
def test_a_thousand_layers_take_as_many_proofs_as_ten(engine, layout, proofs):
    counts = []
    for count in (10, 1000):
        proofs.clear()
        wide = {**SPEC, "num_kv_heads": 4}
        many = document([f"l.{{0..{count - 1}}}"], engine, spec=wide, backend="OWN", kv_cache_layout=layout)
        many["backends"] = {"OWN": {"kv_cache_shape": ["num_blocks", "num_kv_heads", "block_size", "2*head_size"]}}
        assert kvinspect.align(many).sound
        counts.append(len(proofs))
    assert counts[0] == counts[1] < 10


def test_a_tensor_for_each_layer_takes_no_more_proofs(proofs):
    names = [f"l.{i}" for i in range(500)]
    size = 500 * 8 * PAGE
    tensors = [{**tensor([name], PAGE), "offset": i * 8 * PAGE, "size": size} for i, name in enumerate(names)]
    answer = kvinspect.align(document(["l.{0..499}"], tensors=tensors))
    assert answer.sound
    assert {one.decision for one in answer.tensors} == {"unshared"}
    assert len(proofs) < 10


@pytest.mark.parametrize("engine", ["0.25", "0.26", "0.27", "0.28"])
def test_packed_layers_take_no_more_proofs(engine, proofs):
    names = [f"l.{i}" for i in range(300)]
    size = 300 * PAGE * 8
    packed = [
        {"size": size, "shared_by": [name], "offset": i * PAGE, "block_stride": 300 * PAGE}
        for i, name in enumerate(names)
    ]
    answer = kvinspect.align(document(["l.{0..299}"], engine, tensors=packed))
    assert answer.decision == "packed"
    assert answer.sound
    assert len(proofs) < 20


def groups(count):
    rows = [{"layer_names": [f"l.{i}"], "backend": "FLASH_ATTN", "kv_cache_spec": SPEC} for i in range(count)]
    return {"engine": "0.33", "kv_cache_config": {"num_blocks": 8, "kv_cache_groups": rows}}


def test_groups_alike_are_proved_and_shown_as_one(proofs):
    answer = kvinspect.align(groups(MAX_GROUPS))
    assert answer.sound
    assert len(proofs) < 10
    tables = [block for block in page(answer, View()).blocks if isinstance(block, Table)]
    assert len(tables) == 1


def test_more_groups_than_any_model_has_are_refused():
    with pytest.raises(DocumentError, match=f"expected at most {MAX_GROUPS} groups, found {MAX_GROUPS + 1}"):
        kvinspect.align(groups(MAX_GROUPS + 1))


def test_a_picture_of_many_layers_draws_some_of_them():
    answer = kvinspect.align(document(["l.{0..999}"]))
    drawn = scene(answer, answer.tensors[0])
    assert len(drawn.panels[0].bars) == MAX_BARS
    assert drawn.panels[0].bars[-1].names == ("l.999",)
    assert drawn.title.endswith(f"{MAX_BARS} of 1,000 layers")


def test_blocks_of_one_view_on_the_same_bytes_are_marked():
    answer = kvinspect.align(OVERLAPPING)
    cells = scene(answer, answer.tensors[0], ["l.0"]).panels[0].bars[0].cells
    assert [cell.meets for cell in cells[:2]] == [("block 1 of l.0",), ("block 0 of l.0",)]


def test_too_many_ways_to_lie_are_said(monkeypatch):
    monkeypatch.setattr(overlay, "MAX_PROOFS", 3)
    with pytest.raises(DocumentError, match="more than 3 pairs"):
        kvinspect.align(
            document(
                ["l.{0..3}"],
                tensors=[tensor([f"l.{i}"], PAGE // 2 * (i + 1), offset=i * 512) for i in range(4)],
            )
        )
