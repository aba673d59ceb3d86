"""Answers of a real vLLM: the Python files of a release's wheel, asked on a CPU without its compiled parts."""
