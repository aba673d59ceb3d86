"""Values of a call taken as they are: Typer from 0.29 on builds a pydantic adapter for each, at 0.1 s a call."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, get_args, get_origin

from typer.core import TyperCommand, TyperGroup

from kvinspect.cli.exits import bad_call

UNTAKEN = object()
"""In place of a value that Typer has to convert, or to refuse in its own words."""


class Command(TyperCommand):
    """A command whose words, choices and whole numbers need no adapter; all else is Typer's, messages too.

    No option takes an empty value: a variable that a script has not set is a slip, and passing it over a false answer.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the call. Raises BadParameter for an option whose value is empty."""
        left: list[str] = super().parse_args(ctx, args)
        for one in self.params:
            if one.param_type_name == "option" and _is_empty(ctx.params.get(one.name)):
                raise bad_call("the value is empty", one.opts[0])
        return left

    def get_params(self, ctx: Any) -> list[Any]:
        """Its arguments and options, which take their values here."""
        return _that_take(super().get_params(ctx))


class Group(TyperGroup):
    """The program itself, whose options need no adapter either, those of Typer's own for completion among them."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its options, which take their values here."""
        return _that_take(super().get_params(ctx))


def _is_empty(value: Any) -> bool:
    """Whether a text, or one of several, is empty."""
    return value == "" or (isinstance(value, list | tuple) and "" in value)


def _that_take(parameters: list[Any]) -> list[Any]:
    """The parameters, each changed once; earlier releases describe no types, and convert without pydantic."""
    for one in parameters:
        if hasattr(one, "type_descriptor") and "process_value" not in vars(one):
            one.process_value = _taking(one, one.process_value)
        if one.param_type_name == "argument" and "get_usage_pieces" not in vars(one):
            _show_as_written(one)
    return parameters


def _show_as_written(argument: Any) -> None:
    """Let help show an argument's metavar alone: it says itself what may be left out and what may come twice."""
    record = argument.get_help_record
    argument.get_usage_pieces = lambda ctx: [argument.metavar]
    argument.get_help_record = lambda ctx: (argument.metavar, record(ctx)[1])


def _taking(one: Any, by_typer: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """How a parameter's value is made: as it is where that will do, otherwise as Typer makes it."""
    described = one.type_descriptor
    least, most = described.parameter_info.min, described.parameter_info.max

    def process(context: Any, value: Any) -> Any:
        """A value as the command gets it; Typer is asked where it has to convert, to refuse or to fill in."""
        taken = _taken(described.annotation, value)
        if type(taken) is int and ((least is not None and taken < least) or (most is not None and taken > most)):
            taken = UNTAKEN
        if taken is UNTAKEN or (one.required and one.value_is_missing(taken)):
            return by_typer(context, value)
        return taken if one.callback is None else one.callback(context, one, taken)

    return process


def _taken(kind: Any, value: Any) -> Any:
    """A value of an annotation, or UNTAKEN."""
    if get_origin(kind) is list and get_args(kind) == (str,):
        return _texts(value)
    if value is None or (kind in (str, bool) and isinstance(value, kind)):
        return value
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((one for one in kind if value in (one, one.value)), UNTAKEN)
    if kind is int and str(value).isascii() and str(value).isdecimal() and len(str(value)) < 19:
        return int(value)
    return UNTAKEN


def _texts(value: Any) -> Any:
    if value is None:
        return ()
    whole = isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)
    return list(value) if whole else UNTAKEN
