"""Sizes as people write them, weights off file headers, and the estimate."""

import json
import os
import struct

import pytest

from kvinspect.models.memory import parse_memory, parse_size, parse_utilisation
from kvinspect.models.weights import Weights, weights_of


@pytest.mark.parametrize(
    ("text", "size"),
    [("1024", 1024), ("1KiB", 1024), ("1kB", 1000), ("20G", 20 << 30), ("1.5GB", 1_500_000_000), (" 2 TiB ", 2 << 40)],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "1.5", "x", "12 parsecs", "-1", "1e9", "∞GiB", "9" * 40])
def test_no_sizes(text):
    with pytest.raises(ValueError, match="expected"):
        parse_size(text)


def safetensors(path, *sizes):
    ends, at = {}, 0
    for i, size in enumerate(sizes):
        ends[f"w{i}"] = {"dtype": "U8", "shape": [size], "data_offsets": [at, at + size]}
        at += size
    header = json.dumps({"__metadata__": {"format": "pt"}, **ends}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header)


def test_weights_are_what_the_headers_add_up_to(tmp_path):
    safetensors(tmp_path / "a.safetensors", 10, 20)
    safetensors(tmp_path / "b.safetensors", 5)
    assert weights_of(tmp_path) == Weights(35, "the header of 2 safetensors files")


def test_an_index_is_believed(tmp_path):
    safetensors(tmp_path / "a.safetensors", 10)
    (tmp_path / "model.safetensors.index.json").write_text('{"metadata": {"total_size": 99}}')
    assert weights_of(tmp_path).size == 99
    (tmp_path / "model.safetensors.index.json").write_text('{"metadata": []}')
    assert weights_of(tmp_path).size == 10


def test_a_folder_without_weights_and_a_file_that_is_none(tmp_path):
    assert weights_of(tmp_path) is None
    (tmp_path / "a.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(ValueError, match=r"a\.safetensors is no safetensors file"):
        weights_of(tmp_path)


NESTED = b"[" * 100_000
HEADERS = {
    "nested": b'{"a": ' + NESTED,
    "empty": b"{}",
    "huge numbers": b'{"a": {"data_offsets": [0, ' + b"9" * 5_000 + b"]}}",
    "another type": b'{"a": {"data_offsets": [0, {}]}}',
    "escaped": rb'{"__metadata__": {"a": "\"data_offsets\": [0, 1]"}}',
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_a_hostile_header_is_none(header, tmp_path):
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ValueError, match=r"a\.safetensors is no safetensors file: its header names no tensors"):
        weights_of(tmp_path)


@pytest.mark.parametrize("text", [NESTED, b'{"metadata": {"total_size": ' + b"9" * 5_000 + b"}}", b"\xff\x00", b""])
def test_a_hostile_index_is_none(text, tmp_path):
    (tmp_path / "model.safetensors.index.json").write_bytes(text)
    safetensors(tmp_path / "a.safetensors", 10)
    assert weights_of(tmp_path).size == 10


def test_files_of_weights_are_read_within_bounds(tmp_path):
    for name in ("model.safetensors.index.json", "a.safetensors"):
        (tmp_path / name).write_bytes(struct.pack("<Q", 1 << 30))
        os.truncate(tmp_path / name, 2 << 30)
        with pytest.raises(ValueError, match="at most 33554432"):
            weights_of(tmp_path)
        (tmp_path / name).unlink()
    os.mkfifo(tmp_path / "a.safetensors")
    with pytest.raises(ValueError, match=r"a\.safetensors is no safetensors file: not a regular file"):
        weights_of(tmp_path)


@pytest.mark.parametrize("text", ["80", "1048575"])
def test_a_memory_without_its_unit(text):
    with pytest.raises(ValueError, match=f"did you mean {text}GiB"):
        parse_memory(text)


@pytest.mark.parametrize("value", ["0", "-1", "1.01", "nan", "1e400", "foo", "", None])
def test_shares_of_a_gpu_that_there_cannot_be(value):
    with pytest.raises(ValueError, match="above 0 and up to 1"):
        parse_utilisation(value)


def test_decimal_sizes_are_exact():
    assert parse_size("16.4GB") == 16_400_000_000
