"""The vLLM releases: one module each, and one folder of facts in `kvinspect/data/`.

`v0_33.py` holds what 0.33 does otherwise than the release before it, `data/0.33.0/` what its backends, flags, model
runners and architectures are. `lookup.py` finds a release by the word that a person has for it.
"""
