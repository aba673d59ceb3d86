"""What is shipped of a release is what the tools write where that release is installed."""

import importlib.util
import subprocess
import sys
from importlib import metadata

import pytest

from conftest import ROOT
from kvinspect.data.catalogue import FOLDER

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(importlib.util.find_spec("vllm") is None, reason="no vLLM to ask"),
]


@pytest.mark.parametrize("name", ["catalogue", "flags"])
def test_the_shipped_file_is_what_the_tool_writes(name, tmp_path):
    release = metadata.version("vllm").partition("+")[0]
    shipped = FOLDER / release / f"{name}.json"
    if not shipped.is_file():
        pytest.skip(f"vLLM {release} is not shipped")
    subprocess.run([sys.executable, ROOT / "tools" / f"{name}.py", tmp_path], check=True, capture_output=True)
    assert (tmp_path / release / shipped.name).read_text(encoding="utf-8") == shipped.read_text(encoding="utf-8")
