"""The front door for programs: each function takes a document and returns a frozen result with `.to_dict()`.

`kvinspect` has the public names; a module here is imported when the first of its names is asked for.
"""
