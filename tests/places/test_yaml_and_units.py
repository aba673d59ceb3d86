"""Charts, workflows and units: what the deployment files have no example of."""

import pytest

from kvinspect.places.find import detect
from kvinspect.places.flags import model_of, read

CHART = """\
{{- if .Values.enabled }}
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers:
        - image: "vllm/vllm-openai:v0.28.0"
          args:
            - --model={{ .Values.model }}
            {{- range .Values.extra }}
            - {{ . }}
            {{- end }}
            - "--max-num-seqs=64"
{{- end }}
"""
WORKFLOW = """\
on: [push]
jobs:
  serve:
    steps:
      - run: |
          pip install vllm==0.30.0
          vllm serve m/x --max-model-len 8k &
"""
UNIT = """\
[Service]
Environment=VLLM_LOGGING_LEVEL=DEBUG
ExecStart=/usr/bin/vllm serve m/x \\
  --max-num-seqs 8
"""
QUADLET = """\
[Container]
Image=docker.io/vllm/vllm-openai:v0.33.0
Exec=--model m/x --max-num-seqs 8
"""
VALUES = """\
servingEngineSpec:
  modelSpec:
    - name: chat
      vllmConfig:
        maxModelLen: 4096
        tensorParallelSize: 2
        v0: 1
      repository: vllm/vllm-openai
"""


@pytest.mark.parametrize(
    ("text", "name", "begins", "release", "flags"),
    [
        (CHART, "deployment.yaml", (10, 15), "0.28.0", {"model": (10, 15), "max-num-seqs": (14, 16)}),
        (WORKFLOW, "ci.yml", (7, 22), "0.30.0", {"max-model-len": (7, 26)}),
        (UNIT, "vllm.service", (3, 31), None, {"max-num-seqs": (4, 3)}),
        (QUADLET, "vllm.container", (3, 6), "0.33.0", {"model": (3, 6), "max-num-seqs": (3, 18)}),
        (VALUES, "values.yaml", (5, 9), None, {"max-model-len": (5, 9), "tensor-parallel-size": (6, 9)}),
    ],
    ids=["chart", "workflow", "unit", "quadlet", "values"],
)
def test_a_place_and_its_flags(text, name, begins, release, flags):
    (place,) = detect(text, name)
    assert tuple(place.begins) == begins
    assert (place.release and place.release.value) == release
    known = {one.name: tuple(one.mark) for one in read(place, None).flags if not one.own}
    assert {name: mark for name, mark in known.items() if name in flags} == flags


def test_what_a_template_decides_is_opaque():
    (place,) = detect(CHART, "deployment.yaml")
    model = model_of(place, read(place, None))
    assert (model.text, model.opaque, model.default) == ("{{ .Values.model }}", True, None)


def test_the_variables_of_a_unit_count():
    (place,) = detect(UNIT, "vllm.service")
    assert [(one.key.text, one.value.text, tuple(one.key.mark)) for one in place.env] == [
        ("VLLM_LOGGING_LEVEL", "DEBUG", (2, 13))
    ]


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [--model, m]\nb: *a\n",
        "image: acme/sglang:1\nargs: [--model-path, m, --tp, '2', --mem-fraction-static, '0.8']\n",
        "run: echo vllm serve m --swap-space 4\n",
        "a: [1\n--- vllm",
        "x: !Ref vllm serve\n",
        "? [vllm, serve]\n: 1\n",
    ],
)
def test_what_is_no_place(text):
    assert list(detect(text, "x.yaml")) == []
