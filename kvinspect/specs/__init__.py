"""One module a kind of KV cache spec, as vLLM has a class each: its page, its merging, the blocks of a request.

A module has the name of its kind and a class with vLLM's name; `kinds.py` finds it. What a release does otherwise comes
in as an argument: functions and flags that the release's value names.
"""
