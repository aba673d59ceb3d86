"""One rule a module, named by its code: `RULE` and its check. What several of them ask for is in `_shared.py`."""
