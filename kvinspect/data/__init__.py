"""What each release is, as data: a folder a release, written by the scripts in `tools/`.

`catalogue.json` is what its backends and specs answer, `flags.json` the flags of `vllm serve`, `inputs.json` which
variables and keys it reads, `runners.json` which model runner it picks, `architectures.json` which models its registry
has. `duties.json` beside them says what is modelled of the flags, variables and keys of all.
"""
