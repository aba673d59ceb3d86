"""What a `vllm serve` command and its `--config` file say, as engine arguments by their Python names.

The source is `FlexibleArgumentParser` (0.25 to 0.33): a flag takes dashes or underscores and may be cut short, a dotted
one sets a key of a JSON flag, `--no-` negates, and a config file's keys are flags that the command's own win over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from kvinspect.data.flags import Flags
from kvinspect.document.limits import MAX_DEPTH
from kvinspect.document.numbers import human_number
from kvinspect.document.problem import DocumentError, Problem, nearest, shown
from kvinspect.document.source import Source
from kvinspect.models import flag_names
from kvinspect.models.dotted import Keys, put, warn_of_dots
from kvinspect.models.given import OBJECTS, SOURCE, json_of

LEVELS = ("0", "1", "2", "3")
"""What `-O` takes."""

MODEL = "model"
"""The flag that names the model: text, whatever it looks like."""

OURS = ("num-speculative-tokens",)
"""Names that people use and no release has: what stands in `--speculative-config`."""


class Command(NamedTuple):
    """The words of a command that are no flags, and the arguments that its flags set."""

    positional: tuple[str, ...]
    arguments: Mapping[str, Any]


class Plain(NamedTuple):
    """A word that is no flag and no value of one, and its number in the command."""

    text: str
    at: int


class Flag(NamedTuple):
    """A flag of a command as it is written, its value not yet read."""

    name: str
    """In full and without its dashes."""
    facts: Mapping[str, Any]
    """What it takes."""
    said: Any
    """The text of its value, the texts of a list; True or False where it takes none, None where that is left out."""
    words: range
    """The numbers of its words."""
    known: bool = True
    """Whether the release has it, and not only another one."""


class UnknownFlag(ValueError):
    """A flag that the release does not have."""


def read_words(words: Sequence[str], flags: Flags) -> Command:
    """A command's words. Raises ValueError for a flag that the release does not have, or that lacks its value."""
    positional: list[str] = []
    arguments: dict[str, Any] = {}
    for one in split_words(words, flags):
        if isinstance(one, Plain):
            positional.append(one.text)
        else:
            _set(arguments, *_home(one.name, one.facts, _value(one)))
    return Command(tuple(positional), arguments)


def split_words(words: Sequence[str], flags: Flags, others: Sequence[Flags] = ()) -> Iterator[Plain | Flag]:
    """The flags of a command and its other words, in their order; a flag may be one of the `others` as well.

    Raises ValueError for a flag that none of these releases has, or that lacks its value.
    """
    left = deque(words)
    while left:
        at = len(words) - len(left)
        word = left.popleft()
        if word == "--":
            yield from (Plain(text, at + 1 + i) for i, text in enumerate(left))
            return
        if not flag_names.is_flag(word):
            yield Plain(word, at)
            continue
        if word.startswith("-O"):
            known, name, facts, said = True, "optimization-level", _NOTHING_MORE, _level(word, left, flags)
        else:
            known, (name, facts, given) = _known(word, flags, others)
            said = _written(word, name, facts, given, left)
        yield Flag(name, facts, said, range(at, len(words) - len(left)), known)


_NOTHING_MORE: Mapping[str, Any] = {}


def _level(word: str, left: deque[str], flags: Flags) -> str:
    """`-O3`, `-O=3` and `-O 3` are one flag, and no key of it can be set."""
    level = word[3:] if word[2:3] == "=" else word[2:]
    if word == "-O" and left and left[0] in LEVELS:
        level = left.popleft()
    if level not in LEVELS or "optimization-level" not in flags.by_name:
        raise ValueError(f"{word} is not a flag of vLLM {flags.release}; -O accepts a level from 0 to 3, as in -O3")
    return level


_Named = tuple[str, Mapping[str, Any], str | None]
"""(name without dashes, what it takes, the value that stands in the same word)."""


def _known(word: str, flags: Flags, others: Sequence[Flags]) -> tuple[bool, _Named]:
    """Whether the release has a flag, and the flag: its own, or that of the first other release that has it."""
    try:
        return True, _flag(word, flags)
    except UnknownFlag:
        for other in others:
            with suppress(ValueError):
                return False, _flag(word, other)
        raise


def _flag(word: str, flags: Flags) -> _Named:
    written, equals, given = word.partition("=")
    head, dot, keys = written.partition(".")
    found = flag_names.named(head, flags, OURS)
    name = found.name + dot + keys
    facts = {"takes": "value"} if name in OURS else flags.find(name)
    if facts is None:
        raise UnknownFlag(flag_names.unknown(written, name, flags, OURS))
    value = given if equals else None
    return name, facts, value if found.attached is None or dot else f"{found.attached}{equals}{given}".removeprefix("=")


def _written(word: str, name: str, facts: Mapping[str, Any], given: str | None, left: deque[str]) -> Any:
    """What a flag says, see `Flag.said`; the words of its value are taken from those that are left."""
    dotted = "." in name
    if facts["takes"] == "nothing" and given is None and not dotted:
        return not (name.startswith("no-") and facts.get("negates"))
    if facts["takes"] == "list" and given is None and not dotted:
        taken = []
        while left and not flag_names.is_flag(left[0]):
            taken.append(left.popleft())
        return taken
    if given is not None:
        return given
    if not left or (not dotted and flag_names.is_flag(left[0])):
        if facts.get("optional"):
            return None
        raise ValueError(f"{word} lacks its value")
    return left.popleft()


def _value(flag: Flag) -> Any:
    """The value of a flag, its text read."""
    if not isinstance(flag.said, str):
        return flag.said
    return _of_key(flag.name, flag.said) if "." in flag.name else _typed(flag.name, flag.facts, flag.said)


def _of_key(name: str, text: str) -> Any:
    """The value of a dotted flag: JSON, else a number with a suffix, else the text; behind `+` entries of a list."""
    if name.endswith("+"):
        return text.split(",")
    try:
        return json_of(name, text)
    except DocumentError as error:
        if error.errors[0].kind != "syntax":
            raise
    try:
        return human_number(text)
    except ValueError:
        return text


def _typed(name: str, facts: Mapping[str, Any], text: str) -> Any:
    """JSON where it is that, else the text. Raises DocumentError for broken JSON of a flag that takes nothing else."""
    if name == MODEL or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json_of(name, text)
    except DocumentError as error:
        if facts.get("takes") == "json" or name in OBJECTS or error.errors[0].kind != "syntax":
            raise
        return text


def read_file(source: Source, flags: Flags) -> dict[str, Any]:
    """The arguments that a `--config` file sets, keys in its order.

    Raises DocumentError for one that is no flag, and for a file that holds no keys at all.
    """
    if not isinstance(source.value, Mapping):
        found = "nothing" if source.value is None else shown(source.value)
        raise DocumentError([source.place(Problem((), expected="the flags of a `vllm serve`, a mapping", found=found))])
    arguments: dict[str, Any] = {}
    problems = []
    for key, value in source.value.items():
        name = str(key)
        facts = flags.find(name)
        if facts is None and name.replace("_", "-") not in OURS:
            near = nearest(name, flags.by_name)
            message = f"is not a flag of vLLM {flags.release}{flag_names.replaced(name, flags)}"
            problems.append(
                source.place(Problem((key,), message=message, nearest=near, kind="unknown-key", at_key=True))
            )
            continue
        if name == MODEL and isinstance(value, (bool, list, dict)):
            named = Problem((key,), expected="the path or the hub id of a model", found=shown(value))
            problems.append(source.place(named))
            continue
        try:
            for said in _said(name, facts or {}, value, flags):
                negated = name.startswith("no-") and facts is not None and facts.get("negates")
                _set(arguments, *_home(name, facts or {}, not said if negated and isinstance(said, bool) else said))
        except DocumentError as error:
            problems += [source.place(problem._replace(path=(key,))) for problem in error.errors]
    if problems:
        raise DocumentError(problems)
    return arguments


def _said(name: str, facts: Mapping[str, Any], value: Any, flags: Flags) -> Iterator[Any]:
    """What a key's value becomes on the command line: nothing where the loader drops it."""
    dropped = value is None or value == [] or (value is False and flags.drops_false)
    if isinstance(value, (bool, list, dict)):
        if not dropped:
            yield value
    elif not dropped:
        yield _of_key(name, str(value)) if "." in name else _typed(name, facts, str(value))


def _home(name: str, facts: Mapping[str, Any], value: Any) -> tuple[str, Any]:
    """(flag, value) of an alias under the name that it stands for; of `enable` and `disable` one is the other's no."""
    home = facts.get("stands_for", name)
    first, other = (word.replace("_", "-").partition("-")[0] for word in (home, name))
    return home, not value if {first, other} == {"enable", "disable"} and isinstance(value, bool) else value


def _set(arguments: dict[str, Any], name: str, value: Any) -> None:
    """Set an argument, or the key of one that a dotted name leads to."""
    head, *keys = name.split(".")
    head = head.replace("-", "_").removeprefix("no_") if value is False else head.replace("-", "_")
    if not keys:
        if isinstance(arguments.get(head), Keys):
            warn_of_dots(head)
        else:
            arguments[head] = value
        return
    if len(keys) >= MAX_DEPTH:
        problem = Problem((head,), expected=f"at most {MAX_DEPTH} keys of a dotted flag", found=str(len(keys)))
        raise DocumentError([problem._replace(kind="limit", source=SOURCE)])
    keys[-1] = keys[-1].removesuffix("+")
    put(arguments, head, keys, value)
