"""Bounds on what a file may hold, so that a hostile one ends in a message and not in a full memory."""

MAX_BYTES = 2 * 1024 * 1024
"""Of a JSON file. A document of a thousand layers with everything written out is a quarter of it."""

MAX_YAML_BYTES = 256 * 1024
"""Of a YAML file, which takes a second to compose if it is as dense as YAML can be."""

MAX_VALUES = 50_000
"""Values in a document, those that aliases repeat counted each time."""

MAX_MAPPING_VALUES = 1_000_000
"""Values in a mapping that a program hands over."""

MAX_DEPTH = 50
"""Mappings and lists inside each other."""

MAX_DIGITS = 40
"""Characters of a number."""

MAX_NAMES = 20_000
"""Layer names of a document when all braces are expanded."""

MAX_WORD = 1000
"""Characters of a name."""

MAX_PATH = 4_096
"""Characters of a pattern of files; Linux opens no longer path."""

MAX_DIMS = 16
"""Dims of a shape."""

MAX_PROBLEMS = 100
"""Problems of a file that are told one by one."""

MAX_INT = 2**63 - 1
"""The largest number that a field takes."""

MAX_SETTINGS_BYTES = 256 * 1024
"""Of a pyproject.toml or kvinspect.toml."""

MAX_SETTINGS = 1_000
"""Keys, words and patterns of the settings."""

MAX_BASELINE_BYTES = 4 * 1024 * 1024
"""Of a baseline, ten thousand findings and more."""

MAX_IGNORE_BYTES = 64 * 1024
"""Of a .gitignore."""

MAX_LOG_BYTES = 8 * 1024 * 1024
"""Of a start-up log; that of 128 workers is a quarter of it."""

MAX_LOG_LINE = 4_000
"""Characters of a log's line that are looked at."""

MAX_LOG_ERRORS = 1_000
"""Lines of a log with an error of any kind that are looked at: the first of them tell why an engine does not start."""

MAX_LOG_LINES = 10_000
"""Lines of a log with words that tell of the KV cache; a worker has a dozen of them."""

MAX_LAYERS = 2_000
"""Layers of a model, ten times as many as the largest has; those of its draft and caches of one layer count."""

MAX_SIZE = 2**31 - 1
"""A size or a count of a model's configuration: heads, elements of a dim, tokens of a kernel's block."""

MAX_FACTOR = 1e9
"""A factor of a configuration: of the context's length or of the hidden size."""

MAX_SWEEP_POINTS = 100
"""Plans of a sweep, all combinations counted; each takes up to ten milliseconds."""

MAX_COMMAND_WORDS = 5_000
"""Words of a call, as `vllm serve` would read them."""

MAX_COMMAND_CHARACTERS = 100_000
"""Characters of a command that is pasted as one text."""

MAX_RANKS = 4_096
"""Ranks of a group; past it a number is taken for a slip."""

MAX_GPU_WORD = 100
"""Characters of what --gpu says."""

MAX_STAGES = 256
"""Pipeline stages, each of which is planned by itself."""

MAX_PROOFS = 20_000
"""Proofs about two kinds of layers on one allocation; layers alike that are evenly spaced are one kind."""

MAX_GROUPS = 512
"""KV cache groups, and attention groups, of a document. The planner makes a few dozen of a model's layers at most."""

MAX_MASKS = 40
"""Requests whose spans and masks are drawn; JSON holds those of all."""

MAX_SPANS = 200
"""Ranges of a request that are written out, and rows of its table; JSON holds all."""

MAX_BARS = 40
"""Views in a picture of an allocation; of more, those of a conflict, the first ones and the last are drawn."""

MAX_WEIGHT_INDEX_BYTES = 32 * 1024 * 1024
"""Of an index of weights; the largest public ones have 13 MB. Its total is searched for, nothing is parsed."""

MAX_WEIGHT_HEADERS = 32 * 1024 * 1024
"""Bytes of the headers of a folder's safetensors files, all together."""

MAX_WEIGHT_FILES = 2_000
"""Safetensors files of a folder; the largest public models have a few hundred."""

MAX_LOG_PIECE = 1024 * 1024
"""Bytes of a log that are read at a time, where it may have any size."""

MAX_WRAPPED_LINE = 64 * 1024
"""Bytes of a line that wraps another, or that prints all arguments."""
