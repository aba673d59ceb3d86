"""Ask what an upgrade does to a config: the same document under each release that kvinspect knows."""

import sys

import kvinspect

path = sys.argv[1] if len(sys.argv) > 1 else "configs/whisper-large-v3-rocm.yaml"
document = kvinspect.load(path)
for release in ("0.25", "0.26", "0.27", "0.28"):
    answer = kvinspect.align(document, engine=release)
    reason = answer.tensors[0].why if answer.tensors else answer.refusal.text
    print(f"{release}: {answer.decision:10} sound: {answer.sound!s:5} {reason}")
