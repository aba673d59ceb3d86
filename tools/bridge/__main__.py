"""Ask a real vLLM, or fetch one.

    python tools/bridge setup RELEASE...
    python tools/bridge align|cg-support|mm-prefix|plan|specs [--engine RELEASE] FILE...
    python tools/bridge runners RELEASE... > model-runner.json
    python tools/bridge golden COMMAND RELEASE FILE.jsonl > NEW.jsonl

Files hold JSON documents, `.jsonl` and `-` one a line; each answer is a line of JSON. `golden` asks the documents of a
file of golden answers again.
"""

import json
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])

from bridge import process, setup  # noqa: E402


def main(arguments):
    """The exit code of a call."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    command, *rest = arguments
    if command == "setup":
        return setup.main(rest)
    if command == "runners":
        from bridge.collect import collected

        print(json.dumps({"schema_version": 1, "engines": collected(rest)}, indent=1))
        return 0
    if command == "golden":
        return golden(*rest)
    release = rest[1] if rest[0] == "--engine" else None
    return ask(command, release, rest[2:] if release else rest)


def ask(command, release, files):
    """Print the answers to the documents of some files, in their order."""
    documents = [document for file in files for document in read(file)]
    for name in dict.fromkeys(release or document["engine"] for document in documents):
        mine = [document for document in documents if (release or document["engine"]) == name]
        with process.Engine(name, command) as engine:
            for answer in engine.answers(mine):
                print(json.dumps(answer), flush=True)
    return 0


def golden(command, release, file):
    """Print the rows of a golden file with the release's answers of today."""
    rows = read(file)
    with process.Engine(release, command) as engine:
        answers = engine.answers([row["document"] for row in rows])
    for row, answer in zip(rows, answers, strict=True):
        print(json.dumps({**row, command.replace("-", "_"): answer}))
    return 0


def read(file):
    """The documents of a file."""
    text = sys.stdin.read() if file == "-" else pathlib.Path(file).read_text(encoding="utf-8")
    if file == "-" or file.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return [json.loads(text)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
