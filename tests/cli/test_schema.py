import json

from kvinspect.document.schema import json_schema


def test_the_schema_is_printed_and_written(run, tmp_path):
    assert json.loads(run("schema").stdout) == json_schema()
    out = tmp_path / "s.json"
    assert run("schema", "-o", out).stdout == ""
    assert json.loads(out.read_text()) == json_schema()
