"""`kvinspect lint`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from kvinspect.cli.exits import CLEAN, FINDINGS, INPUT, as_bad_call, bad_call, print_problems, say
from kvinspect.cli.options import Coloured, Debug, Output, Quiet, Strict, codes
from kvinspect.cli.output import Color, by_ending, look_of, write
from kvinspect.cli.serve_words import unmarked
from kvinspect.document.numbers import counted
from kvinspect.output.safe import Syntax

if TYPE_CHECKING:
    from kvinspect.api.lint import Options
    from kvinspect.cli.walk import Named
    from kvinspect.document.problem import DocumentError
    from kvinspect.linting.lint_file import FileResult
    from kvinspect.report.lint.report import LintReport

EXAMPLES = """\b
Examples:
  kvinspect lint configs/
  kvinspect lint configs/ --engine 0.25,0.27,0.28
  kvinspect lint configs/ --select KV1,KV3 --format sarif -o kvinspect.sarif
  kvinspect lint 'configs/*-rocm.yaml' --statistics
  kvinspect lint Qwen/Qwen3-8B --max-num-seqs 512 --kv-cache-dtype fp8
"""


class How(str, Enum):
    """How findings are printed."""

    text = "text"
    json = "json"
    github = "github"
    sarif = "sarif"
    junit = "junit"
    gitlab = "gitlab"


SYNTAX = {
    How.json: Syntax.QUOTED,
    How.github: Syntax.COMMANDS,
    How.sarif: Syntax.QUOTED,
    How.junit: Syntax.MARKUP,
    How.gitlab: Syntax.QUOTED,
}
"""How each format of a program writes an escape."""


ENDINGS = {".txt": How.text, ".json": How.json, ".sarif": How.sarif, ".xml": How.junit}
"""Ending of a file → the format of findings in it."""


class Level(str, Enum):
    """A severity."""

    error = "error"
    warning = "warning"
    note = "note"


Words = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CODES", help="Rules: codes, their beginnings, or names, e.g. KV101,KV3.", autocompletion=codes
    ),
]


def lint(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH... | MODEL [VLLM FLAGS...]]",
            help="Files, folders, patterns, - for standard input; a model with flags, as for plan; or a whole command.",
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(metavar="RELEASES", help="vLLM releases, e.g. 0.25,0.28; wins over the files'.")
    ] = None,
    select: Words = None,
    ignore: Words = None,
    fail_on: Annotated[
        Level | None, typer.Option("--fail-on", help="The least severity that ends with 1; absent: warning.")
    ] = None,
    how: Annotated[
        How | None,
        typer.Option("--format", "-f", help="Absent: by the ending of --output; github in a workflow, else text."),
    ] = None,
    output: Output = None,
    statistics: Annotated[bool, typer.Option("--statistics", help="Count the findings of each rule.")] = False,
    skip_others: Annotated[
        bool, typer.Option("--skip-others", help="Pass over files of other kinds, even where the call names them.")
    ] = False,
    exit_zero: Annotated[bool, typer.Option("--exit-zero", help="End with 0 in spite of findings.")] = False,
    baseline: Annotated[str | None, typer.Option(metavar="FILE", help="Leave out the findings in this file.")] = None,
    write_baseline: Annotated[
        str | None, typer.Option("--write-baseline", metavar="FILE", help="Write the findings into a file.")
    ] = None,
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="A kvinspect.toml or pyproject.toml; absent: the nearest one.")
    ] = None,
    jobs: Annotated[int, typer.Option(metavar="N", min=1, max=256, help="Number of processes.")] = 1,
    places: Annotated[
        bool, typer.Option("--places", help="List the places that hold arguments of vLLM, and judge nothing.")
    ] = False,
    strict: Strict = False,
    quiet: Quiet = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what each file was taken for.")] = False,
    color: Coloured = Color.auto,
    debug: Debug = False,
) -> None:
    """Check documents, models' config.json, `vllm serve` commands and arguments of vLLM in any file against vLLM.

    Inspection and planning documents as they stand; a config.json, and a serve file whose model is here, planned.
    One name that is no file, and whatever has flags, is a model. Without PATH the folder configs/. Ends with 1 where
    there is a finding, 2 where something cannot be judged.
    """
    from kvinspect.linting import baseline as known

    options = _options(engine, select, ignore, fail_on, config)
    words = unmarked(paths or ["configs"])
    if places:
        _list_places(words, how or by_ending(output, ENDINGS, How.text), output)
        return
    every = _of_command(words, options) if _is_command(words) else _results(words, options, jobs, quiet)
    if verbose:
        _say_kinds([result for result, _ in every])
    _say_faults([result for result, _ in every], debug)
    results = _of_our_kinds(every, skip_others, verbose)
    if write_baseline:
        findings = [finding for result in results for finding in result.findings if not finding.unjudged]
        write(known.written(findings), write_baseline, Syntax.QUOTED, counted(len(findings), "finding"))
        return
    results = _without_known(results, baseline)
    if output or not quiet:
        _print(_report(results), how or by_ending(output, ENDINGS, _by_place(output)), statistics, output, color)
    only_others = not results and (skip_others or any(not named for _, named in every))
    raise typer.Exit(CLEAN if only_others else _code(results, exit_zero, strict))


def _list_places(words: list[str], how: How, output: str | None) -> None:
    """Write the places of the files that a call names. Raises BadParameter for a format of findings alone."""
    from kvinspect.cli.walk import named_files
    from kvinspect.linting.listed_places import as_json, as_text, listed
    from kvinspect.linting.read import is_worth_reading, takes_name

    if how not in (How.text, How.json):
        raise bad_call("lists places as text or json", "--format")
    files = [one for one in named_files(words, takes=takes_name) if one.by_call or is_worth_reading(one.file)]
    found = [place for one in files if not one.elsewhere for place in listed(one.file, one.by_call)]
    write(as_json(found) if how is How.json else as_text(found), output, SYNTAX.get(how, Syntax.TEXT))


def _options(
    engine: str | None, select: list[str] | None, ignore: list[str] | None, fail_on: Level | None, config: str | None
) -> Options:
    from kvinspect.api.lint import Options
    from kvinspect.document.finding import Severity
    from kvinspect.document.refusal import Unknown
    from kvinspect.linting.registry import UnknownRule, selected
    from kvinspect.releases import lookup

    engines = _split([engine] if engine else None)
    if engine is not None and not engines:
        raise bad_call("names no release", "--engine")
    if select is not None and not _split(select):
        raise bad_call("selects no rule", "--select")
    try:
        selected(_split(select), _split(ignore))
        for word in engines:
            lookup.known(word)
    except UnknownRule as error:
        raise bad_call(str(error), "--select/--ignore") from None
    except Unknown as unknown:
        raise bad_call(unknown.problem.text, "--engine") from None
    level = Severity[fail_on.value.upper()] if fail_on else None
    return Options(engines, _split(select), _split(ignore), level, config)


def _split(words: list[str] | None) -> tuple[str, ...]:
    return tuple(part.strip() for word in words or () for part in word.split(",") if part.strip())


def _is_command(words: list[str]) -> bool:
    """Whether words are a model with its flags, or a whole command; one that is here under its name is a path."""
    from kvinspect.question.documents import names_model

    return names_model(words) and not (len(words) == 1 and os.path.lexists(words[0]))


def _of_command(words: list[str], options: Options) -> list[tuple[FileResult, bool]]:
    """What came of a command line. Raises BadParameter for a flag or a model that is not known."""
    from kvinspect.api.lint import lint_words
    from kvinspect.document.problem import DocumentError

    try:
        return [(lint_words(words, options), True)]
    except DocumentError:
        raise
    except ValueError as error:
        raise as_bad_call(error) from None


def _say_kinds(results: Sequence[FileResult]) -> None:
    for result in results:
        say(f"{result.source}: {result.kind}" + (f", vLLM {result.release}" if result.release else ""))


def _results(paths: list[str], options: Options, jobs: int, quiet: bool) -> list[tuple[FileResult, bool]]:
    """What came of each file, and whether the call named it itself."""
    from kvinspect.api.lint import lint_many
    from kvinspect.cli.progress import step_bar
    from kvinspect.cli.walk import named_files
    from kvinspect.linting.lint_file import FileResult, unjudged
    from kvinspect.linting.read import is_worth_reading, takes_name

    files: dict[str, Named] = {}
    others: list[tuple[FileResult, bool]] = []
    unread: list[DocumentError] = []
    for found in named_files(paths, unread.append, takes_name):
        if not found.by_call and not is_worth_reading(found.file):
            others.append((FileResult(found.file, "other", "", ours=False), False))
            continue
        known = files.setdefault(os.path.normpath(found.file), found)
        files[os.path.normpath(found.file)] = found if found.by_call else known
    linked = frozenset(one.file for one in files.values() if one.elsewhere)
    with step_bar("files", len(files) > 1 and not quiet) as progress:
        results = lint_many([one.file for one in files.values()], options, jobs, linked, progress)
    every = [(result, one.by_call) for result, one in zip(results, files.values(), strict=True)]
    return every + others + [(unjudged(error.errors), True) for error in unread]


def _say_faults(results: Sequence[FileResult], debug: bool) -> None:
    """Say on standard error what is wrong with settings, once each, and under --debug where kvinspect failed."""
    from kvinspect.output.safe import safe

    print_problems(dict.fromkeys(problem for result in results for problem in result.wrong_settings))
    for result in results if debug else ():
        if result.fault:
            say("\n".join(map(safe, result.fault.splitlines())))


def _of_our_kinds(results: Sequence[tuple[FileResult, bool]], skip_others: bool, verbose: bool) -> list[FileResult]:
    """The results of files that hold something of vLLM's, and of those that the call names; the others are counted."""
    from kvinspect.linting.lint_file import OTHER
    from kvinspect.output import inputs

    for result, named in results:
        # Other processes may have read it, and what a folder holds of other kinds is no input.
        (inputs.note if named or result.ours else inputs.forget)(result.source)
    kept = [result for result, named in results if _is_spoken_of(result, named, skip_others)]
    skipped = len(results) - len(kept)
    if skipped and verbose:
        say(f"{counted(skipped, 'file')} skipped: {OTHER}")
    return kept


def _is_spoken_of(result: FileResult, named: bool, skip_others: bool) -> bool:
    """Whether a file is answered: each that the call names, of a folder's those with something of vLLM's."""
    return not (skip_others and result.kind == "other") if named else result.ours


def _without_known(results: Sequence[FileResult], baseline: str | None) -> list[FileResult]:
    """The results without the findings of the baseline: the call's, or that of each file's settings."""
    from kvinspect.linting import baseline as known

    left = {path: known.read(path) for path in {baseline or result.baseline for result in results} if path}
    kept = []
    for result in results:
        counts = left.get(baseline or result.baseline or "")
        kept.append(result if counts is None else result._replace(findings=tuple(known.new(result.findings, counts))))
    return kept


def _report(results: Sequence[FileResult]) -> LintReport:
    from kvinspect.linting.registry import all_rules
    from kvinspect.linting.rule_page import page
    from kvinspect.report.lint.report import LintReport, RuleInfo
    from kvinspect.version import __version__

    findings = [finding for result in results for finding in result.findings]
    used = {finding.code for finding in findings}
    rules = [RuleInfo(*rule[:4], page(rule.code)) for rule in all_rules() if rule.code in used]
    remarks = [(result.source, result.remark) for result in results if result.remark]
    lines = {result.source: result.text for result in results if result.kind == "command"}
    places = sum(result.places for result in results)
    by_flags = places - sum(result.with_model for result in results)
    return LintReport(
        findings, [result.source for result in results], __version__, rules, remarks, lines, places, by_flags
    )


def _by_place(output: str | None) -> How:
    in_workflow = os.environ.get("GITHUB_ACTIONS") == "true" and output is None
    return How.github if in_workflow else How.text


def _print(report: LintReport, how: How, statistics: bool, output: str | None, color: Color) -> None:
    from kvinspect.report.lint import text

    if statistics:
        write(text.statistics(report), output, Syntax.TEXT)
    elif how is How.text:
        look = look_of(output, color)
        write(text.render(report, colour=look.colour, width=look.width), output, Syntax.TEXT)
    else:
        from importlib import import_module

        write(import_module(f"kvinspect.report.lint.{how.value}").render(report), output, SYNTAX[how])


def _code(results: Sequence[FileResult], exit_zero: bool, strict: bool) -> int:
    """2 where something could not be judged or there was nothing to judge, 1 where a finding is bad enough.

    A strict call ends with 2 as well where a finding says that something is not modelled.
    """
    from kvinspect.linting.rules.kv901_not_modelled import RULE

    if not results:
        say("kvinspect: there is no file to lint")
        return INPUT
    if not all(result.judged for result in results):
        return INPUT
    failing = any(result.failing for result in results)
    if failing and not exit_zero:
        return FINDINGS
    left_out = any(finding.code == RULE.code for result in results for finding in result.findings)
    return INPUT if strict and left_out else CLEAN
