"""Diagnostics before their conversion to LSP: positions in our own columns, collected by pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from donewhen.core.evidence import AffectedRun, CheckResult, EditorReport, Observation, Problem
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.lost_tests import lost_text
from donewhen.core.proof import satisfied
from donewhen.core.verdict import RequirementStatus, RequirementView
from donewhen.core.words import listed
from donewhen.engine.api import RunView
from donewhen.goalfile.source import FileProblem, ParsedGoalFile, RequirementSource, Span

if TYPE_CHECKING:
    pass


Severity = Literal["error", "warning", "information", "hint"]

RENEWED = " (being proven again)"
MAX_CODE_DIAGNOSTICS = 200
MAX_NAMED = 5
"""How many files one diagnostic names; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Related:
    """A further place of a diagnostic."""

    uri: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class GoalDiagnostic:
    """One diagnostic. `path` is relative to the workspace; an `end` of None is the end of the start's line."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int] | None
    severity: Severity
    code: str
    message: str
    info: Mapping[str, Any] = field(default_factory=dict[str, Any])
    related: tuple[Related, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """How a requirement stood when it was last settled: this is shown while its proof is being renewed."""

    status: RequirementStatus
    diagnostic: GoalDiagnostic | None = None
    """The diagnostic on its own line; None if it had none."""
    code: tuple[GoalDiagnostic, ...] = ()
    """The diagnostics on the lines that its evidence named, also of files that changed since."""
    begun: float | None = None
    """When that evidence was gathered."""


Memory = Mapping[str, Remembered]
"""What is remembered of each requirement, by id."""
NOTHING: Memory = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Collected:
    """All diagnostics of one goal, and what is remembered for the next time."""

    diagnostics: tuple[GoalDiagnostic, ...]
    memory: Memory


@dataclass(frozen=True, slots=True)
class DiagnosticContext:
    """What the diagnostics of a goal need to know of the world: when files changed, and where evidence can be read."""

    changed_at: Mapping[str, float] = field(default_factory=dict[str, float])
    """Epoch seconds of the last change of the files that evidence names, by path."""
    evidence_uris: Mapping[str, str] = field(default_factory=dict[str, str])


def collect(
    path: str, parsed: ParsedGoalFile, view: RunView | None, memory: Memory, context: DiagnosticContext
) -> Collected:
    """The diagnostics of the goal file `path` and of the code that its latest evidence names."""
    problems = [_file_problem(path, problem) for problem in parsed.problems]
    by_id = {one.requirement_id: one for one in view.views} if view is not None else {}
    if view is None or not is_shown(view):
        known = {key: Remembered("met") for key, one in by_id.items() if _met(one) or one.status == "stale"}
        # A stale proof is shown where it alarms nobody: in a lens, a hint, the hover and the status bar.
        return Collected((*problems, *_ticked(path, parsed, by_id, memory, known)), known)
    ticked = _ticked(path, parsed, by_id, memory)
    diagnostics: list[GoalDiagnostic] = []
    remembered: dict[str, Remembered] = {}
    state = view.state
    affected = [record.affected for record in state.checks.values() if record.affected is not None]
    seen = {one.id: one.observation for one in (*state.check_evidence, *affected)}
    evidence = {key: one.result if isinstance(one, AffectedRun) else one for key, one in seen.items()}
    for source in parsed.requirements:
        one = by_id.get(source.requirement.id)
        if one is not None:
            diagnostic = _requirement_diagnostic(path, source, one, view, memory, context)
            last = memory.get(one.requirement_id) if one.renewing else None
            last = last or Remembered(
                one.status, diagnostic, _code_diagnostics(path, source, one, view, context), _gathered_at(evidence, one)
            )
            last = replace(last, code=()) if _goal_file_only(view) else last
            remembered[one.requirement_id] = last
            diagnostics += [] if diagnostic is None else [diagnostic]
            diagnostics += _unchanged(
                last, Related(path, source.text_span.start_line, source.requirement.text), context
            )
    diagnostics += [*_finding_diagnostics(view), *_changed_proof(path, parsed, view)]
    return Collected((*problems, *diagnostics, *ticked), remembered)


def code_paths(memory: Memory) -> set[str]:
    """The files whose lines are remembered to have diagnostics."""
    return {diagnostic.path for one in memory.values() for diagnostic in one.code}


def is_shown(view: RunView) -> bool:
    """Nothing of a run is shown after `complete` and `cancelled`, nor after a check that proved everything."""
    state = view.state
    if state.guard is not None and any(one.status not in ("met", "waived", "stale") for one in view.views):
        return True
    if state.mode == "audit" and state.lifecycle.ended and satisfied(state):
        return False
    return state.lifecycle.end_status not in ("complete", "cancelled")


def _goal_file_only(view: RunView) -> bool:
    """An ended pursuit leaves no diagnostics but the goal file's, unless it is on guard."""
    return view.state.lifecycle.ended and view.state.mode == "pursue" and view.state.guard is None


def _met(one: RequirementView) -> bool:
    return one.status in ("met", "waived")


def _file_problem(path: str, problem: FileProblem) -> GoalDiagnostic:
    start, end = _ends(problem.span)
    info = {} if problem.suggestion is None else {"suggestion": problem.suggestion}
    return GoalDiagnostic(path, start, end, _severity(problem.severity), problem.code, problem.message, info)


def _requirement_diagnostic(
    path: str,
    source: RequirementSource,
    one: RequirementView,
    view: RunView,
    memory: Memory,
    context: DiagnosticContext,
) -> GoalDiagnostic | None:
    """The diagnostic on the requirement's own line: while its proof is renewed, the last one, and said so."""
    current = _settled(path, source, one, view, context)
    if not one.renewing:
        return current
    known = one.requirement_id in memory
    last = memory[one.requirement_id].diagnostic if known else None
    if not known and (one.status == "unverified" or current is None):
        return current
    if not known and one.status == "unmet":
        last = current
    if last is None:
        return None
    if not last.info.get("evidenceIds"):
        return last  # nothing was proven before that could be proven again
    start, end = _ends(source.text_span)
    return replace(last, start=start, end=end, message=last.message.removesuffix(RENEWED) + RENEWED)


def _settled(
    path: str, source: RequirementSource, one: RequirementView, view: RunView, context: DiagnosticContext
) -> GoalDiagnostic | None:
    severities: Mapping[str, Severity] = {
        "unmet": "error",
        "stale": "warning",
        "unverified": "information",
        "regressed": "error",
    }
    severity = severities.get(one.status)
    if severity is None:
        return None
    start, end = _ends(source.text_span)
    message = f"{one.status}: {one.reason}" if one.reason else one.status
    places = tuple(_related(one, context))
    return GoalDiagnostic(path, start, end, severity, source.requirement.label, message, _info(view, one), places)


def _info(view: RunView, one: RequirementView) -> dict[str, Any]:
    return {
        "runId": view.state.run_id,
        "requirementId": one.requirement_id,
        "evidenceIds": list(one.evidence_ids),
    }


def _related(one: RequirementView, context: DiagnosticContext) -> list[Related]:
    """Where the evidence can be read."""
    return [
        Related(context.evidence_uris[name], 0, f"evidence {name}")
        for name in one.evidence_ids
        if name in context.evidence_uris
    ]


def _code_diagnostics(
    path: str, source: RequirementSource, one: RequirementView, view: RunView, context: DiagnosticContext
) -> tuple[GoalDiagnostic, ...]:
    """The lines of code that an unmet requirement's evidence names, except those with the editor's own diagnostics."""
    if _met(one):
        return ()
    goal_place = Related(path, source.text_span.start_line, source.requirement.text)
    related = (goal_place, *_related(one, context))
    report = view.state.evidence.editor.get(one.requirement_id)
    own = report.observation.problems if report and isinstance(report.observation, EditorReport) else ()
    places = [place for place in view.locations.get(one.requirement_id, ()) if place not in own]
    return tuple(_place_diagnostic(place, source, one, view, related) for place in places[:MAX_CODE_DIAGNOSTICS])


def _unchanged(last: Remembered, goal_place: Related, context: DiagnosticContext) -> list[GoalDiagnostic]:
    """The diagnostics on code lines of files that are still as the evidence saw them."""
    return [
        replace(
            diagnostic, related=(goal_place, *diagnostic.related[1:])
        )  # the requirement may have moved in the goal file
        for diagnostic in last.code
        if last.begun is None or context.changed_at.get(diagnostic.path, 0.0) <= last.begun
    ]


def _gathered_at(evidence: Mapping[str, Observation], one: RequirementView) -> float | None:
    """When the evidence that names the positions was gathered: a later change of a file moves its lines."""
    observations = (evidence.get(name) for name in one.evidence_ids)
    times = [result.started_at + result.seconds for result in observations if isinstance(result, CheckResult)]
    return max(times, default=None)


def _place_diagnostic(
    place: Problem, source: RequirementSource, one: RequirementView, view: RunView, related: tuple[Related, ...]
) -> GoalDiagnostic:
    start = (place.line, place.column)
    code, info = source.requirement.label, _info(view, one)
    return GoalDiagnostic(place.path, start, None, place.severity, code, place.message or one.reason, info, related)


def _finding_diagnostics(view: RunView) -> list[GoalDiagnostic]:
    if _goal_file_only(view):
        kept = [known for known in view.state.open_findings if known.finding.path == view.state.goal.path]
    else:
        kept = list(view.state.open_findings)
    return [
        GoalDiagnostic(path, (line, 0), None, "error", known.finding.kind, message, info)
        for known in kept
        for info in [{"runId": view.state.run_id, "findingId": known.id}]
        for path, line, message in _spots(known.finding, each=not _goal_file_only(view))
    ]


def _spots(finding: IntegrityFinding, *, each: bool) -> list[tuple[str, int, str]]:
    """A diagnostic for each test that fails in a trial, where they are known, else one for the finding."""
    if each and finding.places:
        return [(place.path, place.line, place.message) for place in finding.places]
    return [(finding.path, finding.line, finding.message)]


def _changed_proof(path: str, parsed: ParsedGoalFile, view: RunView) -> list[GoalDiagnostic]:
    """Where the worker changed the proof, until the run ends, since the change may still come to nothing; findings
    there say more. A change without a line of its own is shown on the title of the goal file."""
    if view.state.lifecycle.ended:
        return []
    told = {path for known in view.state.open_findings for path, _, _ in _spots(known.finding, each=True)}
    changed, info = view.changed_proof, {"runId": view.state.run_id}
    diagnostics = [
        GoalDiagnostic(file, (line, 0), None, "information", "proof_changed", _how(file in changed.came), info)
        for file, line in changed.lines.items()
        if file not in told and file not in changed.lost
    ]
    diagnostics += [
        GoalDiagnostic(
            file,
            (changed.lines.get(file, 0), 0),
            None,
            "warning",
            "proof_changed",
            lost_text(file, names) + _TRIED,
            info,
        )
        for file, names in changed.lost.items()
        if file not in changed.gone
    ]
    title = (parsed.title_span.start_line if parsed.title_span is not None else 0, 0)
    said = (
        [f"proof that was there when the run began is gone: {listed(changed.gone, MAX_NAMED)}"] if changed.gone else []
    )
    said += [f"more files of the proof may have changed: {listed(changed.unread, MAX_NAMED)}"] if changed.unread else []
    return [
        *diagnostics,
        *(GoalDiagnostic(path, title, None, "information", "proof_changed", text + _TRIED, info) for text in said),
    ]


_TRIED = ": once everything else is proven, it is tried as it was at the start as well"


def _how(came: bool) -> str:
    if came:
        return "this proof is new since the run began: once everything else is proven, it must fail without the work"
    return f"this proof was changed since the run began{_TRIED}"


def _ticked(
    path: str, parsed: ParsedGoalFile, by_id: Mapping[str, RequirementView], memory: Memory, proven: Memory = NOTHING
) -> Sequence[GoalDiagnostic]:
    """A ticked box is not proof: this says so, unless the requirement is proven, or was until its renewal."""
    diagnostics: list[GoalDiagnostic] = []
    for source in parsed.requirements:
        one = by_id.get(source.requirement.id)
        if source.checkbox is None or not source.requirement.ticked or source.requirement.id in proven:
            continue
        if one is None or _settled_status(one, memory) not in ("met", "waived"):
            start, end = _ends(source.checkbox)
            message = f"{source.requirement.label} is ticked, but it is not proven: a tick is not proof"
            diagnostics.append(GoalDiagnostic(path, start, end, "information", "ticked", message))
    return diagnostics


def _settled_status(one: RequirementView, memory: Memory) -> RequirementStatus:
    """The status to show: during a renewal of the proof, the last settled one."""
    last = memory.get(one.requirement_id) if one.renewing else None
    return one.status if last is None else last.status


def _ends(span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
    return (span.start_line, span.start_column), (span.end_line, span.end_column)


def _severity(name: str) -> Severity:
    known: Mapping[str, Severity] = {"error": "error", "warning": "warning", "hint": "hint"}
    return known.get(name, "information")
