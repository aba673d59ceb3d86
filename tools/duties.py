"""Write `docs/flags.md`: what kvinspect does with each flag, variable and key, from `data/duties.json`.

python tools/duties.py docs/flags.md
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from kvinspect.data import catalogue, duties

HEAD = """# Flags and variables

Each flag of `vllm serve`, each environment variable and each key of a JSON flag is in one of three classes: it decides
something that kvinspect models; it touches neither cache, layout, graphs nor start-up, and is accepted and ignored; or
it touches them and is **not modelled**. What is not modelled is said in the verdict, as `≈ 4,096 blocks (not counted:
…)`, in `not_modelled` of the JSON answer, and ends with 2 under `--strict`. A `✓` means that everything given counts.

Variables are given with `--env NAME=VALUE` or before a pasted command; those of kvinspect's own process are not read.

Names that the newest release no longer has are listed with the releases that have them. This page is written by
`tools/duties.py` from `kvinspect/data/duties.json`.
"""

ROOMS = {duties.FLAGS: "Flags", duties.VARIABLES: "Variables", duties.KEYS: "Keys of JSON flags"}


def page():
    """The page, with a table of what is not modelled and the two lists for each room."""
    return "\n".join([HEAD, *(line for room, title in ROOMS.items() for line in section(title, room, every(room)))])


def every(room):
    """The names of all releases, with those that the newest lacks under the releases that have them."""
    found, newest = {}, catalogue.versions()[-1]
    having = {name: [v for v in catalogue.versions() if name in duties.names(v)[room]] for name in all_names(room)}
    for name, versions in having.items():
        first, last = (version.rpartition(".")[0] for version in (versions[0], versions[-1]))
        until = "" if versions[-1] == newest else f" ({first if first == last else f'{first} to {last}'})"
        found[name] = (duties.read(versions[-1])[room][name], until)
    return found


def all_names(room):
    return set().union(*(duties.names(version)[room] for version in catalogue.versions()))


def section(title, room, rows):
    yield f"## {title}\n"
    dash = "--" if room != duties.VARIABLES else ""
    yield "| not modelled | what is not counted | when |\n|---|---|---|"
    for name, (duty, until) in sorted(rows.items()):
        if duty.kind == duties.NOT_MODELLED:
            yield f"| `{dash}{name}`{until} | {duty.says} | {when(duty)} |"
    for kind, words in ((duties.MODELLED, "Modelled"), (duties.ACCEPTED, "Let pass")):
        named = [f"`{dash}{name}`{until}" for name, (duty, until) in sorted(rows.items()) if duty.kind == kind]
        if named:
            yield f"\n{words}: {', '.join(named)}."
    yield ""


def when(duty):
    words = [" or ".join(map(str, duty.only))] if duty.only else []
    values = [str(value) for value in duty.unless if value != ""]
    words += [f"other than {' or '.join(values)}"] if values else []
    words += ["memory is estimated"] if duty.estimate else []
    return ", ".join(words)


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(page(), encoding="utf-8")
