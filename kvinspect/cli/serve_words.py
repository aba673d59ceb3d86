"""vLLM's flags with one dash (`-tp`, `-cc.mode=3`, `-O3`) past an option parser that takes them for letters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kvinspect.cli.command import Command
from kvinspect.cli.exits import bad_call
from kvinspect.commands.programs import COMMAND
from kvinspect.document.limits import MAX_COMMAND_WORDS

MARK = "--\x1f"
"""Before a word that the parser shall leave whole, as it does with long options that it does not know."""


class WithServeWords(Command):
    """A command that takes words of `vllm serve` besides its own options; `unmarked` gives them back."""

    ignore_unknown_options = True
    has_sides = False
    """Whether `--` stands between two sides, and our own options are read behind it as well."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command's own options, and leave each other flag as it is."""
        if len(args) > MAX_COMMAND_WORDS:
            raise bad_call(f"a call has at most {MAX_COMMAND_WORDS:,} words, and this one has {len(args):,}")
        own = {name[1] for one in self.params for name in one.opts if name[:1] == "-" and name[1:2] != "-"}
        own |= {name[1] for name in ctx.help_option_names if name[1:2] != "-"}
        return super().parse_args(ctx, _marked(args, own, self.has_sides))


class WithTwoSides(WithServeWords):
    """A command that takes the words of two calls of `vllm serve`, with `--` between them; see `sides`."""

    has_sides = True


def _marked(words: list[str], own: set[str], has_sides: bool) -> list[str]:
    """The words, those marked that the command's own options shall not take; where `--` is between sides, it as well.

    Else no option is behind `--`.
    """
    if "--" not in words:
        return _of_side(words, own)
    end = words.index("--")
    before, behind = _of_side(words[:end], own), words[end + 1 :]
    return [*before, f"{MARK}--", *_marked(behind, own, True)] if has_sides else [*before, "--", *behind]


def _of_side(words: list[str], own: set[str]) -> list[str]:
    """The words of one call of `vllm serve`, those marked that the command's own options shall not take.

    That is what begins like a short flag and not like one of `own`; in a pasted command every flag of a container, and
    `-q`, which is vLLM's there.
    """
    others = _of_others(words)
    own_there = own - {"q"} if others else own
    found = []
    for i, word in enumerate(words):
        foreign = (i in others and word[:1] == "-") or _is_foreign(
            word, own_there if others and i >= others.stop else own
        )
        found.append(f"{MARK}{word}" if foreign else word)
    return found


def _of_others(words: list[str]) -> range:
    """Which words belong to a pasted command around vLLM's own; no word of an ordinary call begins one."""
    if not any(map(COMMAND.match, words)):
        return range(0)
    from kvinspect.commands.launch import options_of_others

    return options_of_others(words)


def _is_foreign(word: str, own: set[str]) -> bool:
    return word[:1] == "-" and word[1:2].isalpha() and word[1] not in own


def unmarked(words: Iterable[str]) -> list[str]:
    """The words as they were written."""
    return [word.removeprefix(MARK) for word in words]


def sides(words: Sequence[str]) -> list[list[str]]:
    """The words of each side: those before and behind `--`; without it each word is one, or all where one has flags.

    Raises BadParameter where there are more than two, or none of a side.
    """
    from kvinspect.question.documents import names_model

    if "--" not in words:
        found = [list(words)] if names_model(words) else [[word] for word in words]
    else:
        between = list(words).index("--")
        found = [list(words[:between]), list(words[between + 1 :])]
        if not all(found):
            raise bad_call(f"there is nothing {'behind' if found[0] else 'before'} --: give a document or a model")
    if len(found) > 2 or "--" in found[-1]:
        count = len(found) if len(found) > 2 else words.count("--") + 1
        raise bad_call(f"two documents are compared, not {count}")
    return found
