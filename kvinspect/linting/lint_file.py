"""One file under one release: what it is, what the engine makes of it, and every finding."""

from __future__ import annotations

import pathlib
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kvinspect.data import flags
from kvinspect.document.document import Document
from kvinspect.document.finding import Finding, Severity
from kvinspect.document.load import from_source
from kvinspect.document.problem import DocumentError, Problem
from kvinspect.document.refusal import Unknown
from kvinspect.document.source import Source, because, label_of
from kvinspect.geometry.runs import Intricate
from kvinspect.linting.checked import checked, of_model
from kvinspect.linting.planned_to_written import places_in
from kvinspect.linting.problems import as_findings
from kvinspect.linting.read import Read, was_ours, what_is
from kvinspect.linting.registry import all_rules
from kvinspect.linting.settings import Settings
from kvinspect.linting.subjects.document import DocumentSubject
from kvinspect.linting.subjects.serve_file import ServeSubject
from kvinspect.linting.suppress import silenced
from kvinspect.question.kinds import FileKind
from kvinspect.question.question import Question, Rules
from kvinspect.releases.release import Release

if TYPE_CHECKING:
    from kvinspect.models.memory import Memory
    from kvinspect.question.model import ModelQuestion


Kinds = FileKind | Literal["unreadable", "command", "places"]


class FileResult(NamedTuple):
    """What came of a file: its kind (`unreadable` where that could not be told), the release, the findings.

    Or of a command line, which no file holds; `places` is a file of another kind that holds arguments of vLLM.
    """

    source: str
    kind: Kinds
    release: str
    findings: tuple[Finding, ...] = ()
    fail_on: Severity = Severity.WARNING
    baseline: str | None = None
    """The file of known findings that the settings name."""
    remark: str = ""
    """What was left unjudged where no finding says so."""
    wrong_settings: tuple[Problem, ...] = ()
    """What is wrong with the settings of the file's folder, which keeps it from being judged."""
    fault: str = ""
    """The traceback where kvinspect itself failed, which is a finding as well."""
    text: str = ""
    """The command line that was judged."""
    places: int = 0
    """How many places of a file of another kind were judged."""
    with_model: int = 0
    """How many of these name a model whose facts are here; of the others the flags alone were judged."""
    ours: bool = True
    """Whether something of vLLM's was found, so that a file that no call names is spoken of."""

    @property
    def failing(self) -> bool:
        """Whether a finding is as bad as the settings let fail."""
        return any(finding.severity >= self.fail_on for finding in self.findings)

    @property
    def judged(self) -> bool:
        """Whether something could be said about the file."""
        return not any(finding.unjudged for finding in self.findings)


class Verdict(NamedTuple):
    """What came of judging a file; see FileResult."""

    release: str = ""
    findings: Sequence[Finding] = ()
    remark: str = ""
    with_model: int = 0


def lint_file(origin: Any, settings: Settings, engine: str | None = None, name: str | None = None) -> FileResult:
    """Lint a path, `-` or a mapping. `engine` is a release and wins over the document's and the settings'."""
    return lint_under(origin, settings, (engine,), name)[0]


def lint_under(
    origin: Any, settings: Settings, engines: Sequence[str | None], name: str | None = None, *, private: str = ""
) -> list[FileResult]:
    """Lint a path, `-` or a mapping under each release of a call, read once: standard input has no second time.

    Nothing is raised, so that one file never costs the others their findings. Of a `private` file nothing is
    quoted (`Source`).
    """
    label = name or label_of(origin)
    try:
        found = what_is(origin, name, private)
    except DocumentError as error:
        verdict = Verdict("", list(as_findings(error.errors)))
        result = result_of("unreadable", Source(label, None), verdict, settings)
        return [result._replace(ours=was_ours(origin))] * len(engines)
    except Exception as error:
        return [failed(label, error)] * len(engines)
    return [_of_read(found, settings, engine) for engine in engines]


def _of_read(found: Read, settings: Settings, engine: str | None) -> FileResult:
    if found.kind != "places":
        return _linted(found.kind, found.source, settings, engine)._replace(ours=found.ours)
    try:
        verdict = verdict_of(found.source, lambda: _of_places(found, settings, engine))
        result = result_of("places", found.source, verdict, settings)
        return result._replace(places=len(found.places), with_model=verdict.with_model)
    except Exception as error:
        return failed(found.source.name, error)


def _of_places(found: Read, settings: Settings, engine: str | None) -> Verdict:
    from kvinspect.linting.lint_places import judge

    try:
        judged = judge(found.places, found.source, settings, engine)
    except Unknown as unknown:
        raise DocumentError(found.source.placed([unknown.problem._replace(path=())])) from None
    release = judged.releases[0] if len(judged.releases) == 1 else ""
    return Verdict(release, judged.findings, with_model=judged.with_model)


def failed(label: str, error: Exception) -> FileResult:
    """The result of a file over which kvinspect itself fails: a finding with the fault, never judged."""
    said = f"internal error: {type(error).__name__}: {error}"[:300]
    problem = Problem((), message=f"cannot be judged: {said}", source=label, kind="fault", hint=REPORT)
    return unjudged((problem,))._replace(fault="".join(traceback.format_exception(error)))


def unset(label: str, error: DocumentError) -> FileResult:
    """The result of a file whose settings are wrong, never judged."""
    where = error.errors[0].source
    problem = Problem((), message=f"cannot be judged: its settings in {where} are wrong", source=label, kind="settings")
    return unjudged((problem,))._replace(wrong_settings=error.errors)


def unjudged(problems: Sequence[Problem]) -> FileResult:
    """The result of a file of which no more is known than what keeps it from being read."""
    return FileResult(problems[0].source, "unreadable", "", tuple(as_findings(problems)))


REPORT = "this is a fault of kvinspect; report it with what --debug prints"


def _linted(kind: FileKind, source: Source, settings: Settings, engine: str | None) -> FileResult:
    try:
        return _unquoted(result_of(kind, source, _judged(kind, source, settings, engine), settings), source)
    except Exception as error:
        return _unquoted(failed(source.name, error), source)


def _judged(kind: FileKind, source: Source, settings: Settings, engine: str | None) -> Verdict:
    return verdict_of(source, lambda: _JUDGES[kind](source, settings, engine))


def verdict_of(source: Source, judge: Callable[[], Verdict]) -> Verdict:
    """The verdict; what keeps a file from being judged is a finding, so that the others are linted."""
    try:
        return judge()
    except DocumentError as error:
        return Verdict("", list(as_findings(error.errors)))
    except Unknown as unknown:
        return Verdict("", list(as_findings(source.placed([unknown.problem]))))
    except Intricate as error:
        problem = Problem(("kv_cache_config",), message=f"cannot be judged: {error}", kind="intricate")
        return Verdict("", list(as_findings(source.placed([problem]))))


OTHER = "no inspection document, config.json or serve config"
"""What a file is that nothing can be said about."""


def _other(source: Source, settings: Settings, engine: str | None) -> Verdict:
    problem = Problem((), message=f"{OTHER}, so that nothing can be said of it", kind="unknown-kind")
    raise DocumentError(source.placed([problem]))


def result_of(kind: Kinds, source: Source, verdict: Verdict, settings: Settings) -> FileResult:
    """The result with what is switched off, silenced or of another severity by the settings."""
    kept = [f._replace(severity=settings.severity.get(f.code, f.severity)) for f in verdict.findings]
    if kind in ("document", "serve", "places"):
        kept = silenced(kept, source, lambda code: not verdict.remark or code in _of_flags())
    on = settings.codes(source.name)
    kept = [finding for finding in kept if finding.code in on or finding.unjudged]
    kept.sort(key=lambda f: (f.mark.line, f.mark.column, f.code) if f.mark else (0, 0, f.code))
    return FileResult(
        source.name, kind, verdict.release, tuple(kept), settings.fail_on, settings.baseline_file, verdict.remark
    )


def _unquoted(result: FileResult, source: Source) -> FileResult:
    """The result; of a private file its findings by their rules alone, each once."""
    if not source.private:
        return result
    message = because(source.private, source.name)
    bare = (Finding(f.code, f.name, f.severity, message, source.name, unjudged=f.unjudged) for f in result.findings)
    kept = dict.fromkeys(bare)
    return result._replace(findings=tuple(kept), fault="")


@cache
def _of_flags() -> frozenset[str]:
    """The rules that need no model, which are asked about every serve file."""
    return frozenset(rule.code for rule in all_rules() if rule.kind in ("serve", "command", "file"))


def _document(source: Source, settings: Settings, engine: str | None) -> Verdict:
    if source.repeated:
        raise DocumentError(source.repeated)
    document = _with_defaults(from_source(source), settings)
    asked = Question.of(document, _rules_for(document.source, document.model.engine, settings, engine))
    found = list(checked(DocumentSubject(asked.about), "document", source, places_in(asked)))
    return Verdict(asked.release.version, found, NOT_PLANNED if _lacks_memory(document) else "")


NOT_PLANNED = "its KV cache is not judged: without available_memory, kv_cache_specs cannot be planned"


def _lacks_memory(document: Document) -> bool:
    model = document.model
    return model.kv_cache_config is None and model.kv_cache_specs is not None and model.available_memory is None


def _with_defaults(document: Document, settings: Settings) -> Document:
    """The document with the settings' platform and device where it names none."""
    model, raw = document.model, document.source.value
    if settings.platform and "platform" not in raw:
        model = replace(model, platform=settings.platform)  # type: ignore[arg-type]
    if settings.device_capability and "device_capability" not in raw and "platform" not in raw:
        model = replace(model, device_capability=settings.device_capability)
    return document if model is document.model else document._replace(model=model)


def _rules_for(source: Source, written: str | None, settings: Settings, engine: str | None) -> Rules:
    try:
        return Rules.of(engine, written if written is not None else settings.engine)
    except Unknown as unknown:
        path = unknown.path if written is not None and engine is None else ()
        raise DocumentError(source.placed([unknown.problem._replace(path=path)])) from None


def _serve(source: Source, settings: Settings, engine: str | None) -> Verdict:
    rules = _rules_for(source, None, settings, engine)
    return of_flags(source, rules.release, lambda: _model_of_serve(source, rules, settings))


def of_flags(source: Source, release: Release, model: Callable[[], Sequence[Finding] | None]) -> Verdict:
    """The verdict on flags, and behind them on the model under these, where there is one and the flags are right."""
    subject = ServeSubject(source, release, flags.read(release.version), source.repeated)
    found = [
        *checked(subject, "command", source),
        *checked(subject, "serve", source),
        *as_findings(source.placed(subject.unknown_names)),
    ]
    if any(finding.severity is Severity.ERROR for finding in found):
        return Verdict(release.version, found, "judged by its flags only: the model is judged once they are right")
    about = model()
    if about is None:
        return Verdict(release.version, found, FLAGS_ONLY)
    return Verdict(release.version, [*found, *about])


FLAGS_ONLY = "judged by its flags only: the model's config.json is not here"


def _model(source: Source, settings: Settings, engine: str | None) -> Verdict:
    """A model's config.json under the arguments that the engine takes by default."""
    from kvinspect.models.config import load_model

    rules = _rules_for(source, None, settings, engine)
    model = load_model(source.value if source.name == "<mapping>" else source.name)
    return Verdict(rules.release.version, list(_of_model(source, model, {}, rules, settings)))


_JUDGES: Mapping[FileKind, Callable[[Source, Settings, str | None], Verdict]] = {
    "document": _document,
    "serve": _serve,
    "model": _model,
    "other": _other,
}


def _model_of_serve(source: Source, rules: Rules, settings: Settings) -> list[Finding] | None:
    """What comes of the model that a serve file names, None where its config.json is not on this machine.

    An input file never makes kvinspect fetch: a name of the Hub is not looked up there.
    """
    from kvinspect.models.command import read_file
    from kvinspect.models.config import load_model
    from kvinspect.models.hub import local_config

    try:
        arguments = read_file(source, flags.read(rules.release.version))
        path = local_config(str(arguments.pop("model", None) or arguments.pop("model_tag", "")), source.name)
        if path is None:
            return None
        return list(_of_model(source, load_model(path, pathlib.Path(source.name).parent), arguments, rules, settings))
    except DocumentError as error:
        return list(as_findings(error.errors))


def _of_model(
    source: Source, model: Any, arguments: Mapping[str, Any], rules: Rules, settings: Settings
) -> Iterator[Finding]:
    from kvinspect.question.model import ModelQuestion, Served

    platform, capability = settings.platform or "cuda", settings.device_capability

    def asked() -> ModelQuestion:
        served = Served.of(model, arguments, lambda: rules, platform, capability)
        return ModelQuestion(served, _memory(arguments))

    return of_model(source, asked)


def _memory(arguments: Mapping[str, Any]) -> Memory:
    from kvinspect.models.memory import Memory, parse_size
    from kvinspect.question.memory import PLENTY

    try:
        return Memory(parse_size(str(arguments["kv_cache_memory_bytes"])), "given")
    except (KeyError, ValueError):
        return PLENTY
