"""Diagnostics before their conversion to LSP: positions in our own columns, collected by pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from donewhen.core.evidence import AffectedRun, CheckResult, EditorReport
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.lost_tests import lost_text
from donewhen.core.proof import satisfied
from donewhen.core.verdict import RequirementStatus, RequirementView
from donewhen.core.words import listed
from donewhen.engine.api import RunView
from donewhen.goalfile.source import ParsedGoalFile, ProblemSeverity, RequirementSource, Span

STATUS_SEVERITIES: Mapping[str, ProblemSeverity] = {
    "unmet": "error",
    "stale": "warning",
    "unverified": "information",
    "regressed": "error",
}
"""The severity for a requirement of that status; what is proven or waived has no diagnostic."""
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
    severity: ProblemSeverity
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
    problems: list[GoalDiagnostic] = []
    for problem in parsed.problems:
        start, end = _ends(problem.span)
        info = {} if problem.suggestion is None else {"suggestion": problem.suggestion}
        problems.append(GoalDiagnostic(path, start, end, problem.severity, problem.code, problem.message, info))
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
        if one is None:
            continue
        diagnostic = _requirement_diagnostic(path, source, one, view, memory, context)
        goal_place = Related(path, source.text_span.start_line, source.requirement.text)
        last = memory.get(one.requirement_id) if one.renewing else None
        if last is None:
            # A later change of a file moves the lines that the evidence names.
            cited = [evidence.get(name) for name in one.evidence_ids]
            times = [seen.started_at + seen.seconds for seen in cited if isinstance(seen, CheckResult)]
            code = _code_diagnostics(goal_place, source, one, view, context)
            last = Remembered(one.status, diagnostic, code, max(times, default=None))
        last = replace(last, code=()) if _goal_file_only(view) else last
        remembered[one.requirement_id] = last
        diagnostics += [] if diagnostic is None else [diagnostic]
        for each in last.code:
            if last.begun is None or context.changed_at.get(each.path, 0.0) <= last.begun:
                # The requirement may have moved in the goal file.
                diagnostics.append(replace(each, related=(goal_place, *each.related[1:])))
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


def _requirement_diagnostic(
    path: str,
    source: RequirementSource,
    one: RequirementView,
    view: RunView,
    memory: Memory,
    context: DiagnosticContext,
) -> GoalDiagnostic | None:
    """The diagnostic on the requirement's own line: while its proof is renewed, the last one, and said so."""
    start, end = _ends(source.text_span)
    current = None
    if (severity := STATUS_SEVERITIES.get(one.status)) is not None:
        message = f"{one.status}: {one.reason}" if one.reason else one.status
        label, info, places = source.requirement.label, _info(view, one), _related(one, context)
        current = GoalDiagnostic(path, start, end, severity, label, message, info, places)
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
    return replace(last, start=start, end=end, message=last.message.removesuffix(RENEWED) + RENEWED)


def _info(view: RunView, one: RequirementView) -> dict[str, Any]:
    return {
        "runId": view.state.run_id,
        "requirementId": one.requirement_id,
        "evidenceIds": list(one.evidence_ids),
    }


def _related(one: RequirementView, context: DiagnosticContext) -> tuple[Related, ...]:
    """Where the evidence can be read."""
    uris = [(name, context.evidence_uris.get(name)) for name in one.evidence_ids]
    return tuple(Related(uri, 0, f"evidence {name}") for name, uri in uris if uri is not None)


def _code_diagnostics(
    goal_place: Related, source: RequirementSource, one: RequirementView, view: RunView, context: DiagnosticContext
) -> tuple[GoalDiagnostic, ...]:
    """The lines of code that an unmet requirement's evidence names, except those with the editor's own diagnostics."""
    if _met(one):
        return ()
    label, info, related = source.requirement.label, _info(view, one), (goal_place, *_related(one, context))
    report = view.state.evidence.editor.get(one.requirement_id)
    own = report.observation.problems if report and isinstance(report.observation, EditorReport) else ()
    found: list[GoalDiagnostic] = []
    for place in view.locations.get(one.requirement_id, ()):
        if place not in own:
            start, message = (place.line, place.column), place.message or one.reason
            found.append(GoalDiagnostic(place.path, start, None, place.severity, label, message, info, related))
    return tuple(found[:MAX_CODE_DIAGNOSTICS])


def _finding_diagnostics(view: RunView) -> list[GoalDiagnostic]:
    only = _goal_file_only(view)
    found: list[GoalDiagnostic] = []
    for known in view.state.open_findings:
        if not only or known.finding.path == view.state.goal.path:
            info = {"runId": view.state.run_id, "findingId": known.id}
            for path, line, message in _spots(known.finding, each=not only):
                found.append(GoalDiagnostic(path, (line, 0), None, "error", known.finding.kind, message, info))
    return found


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
    diagnostics: list[GoalDiagnostic] = []
    for file, line in changed.lines.items():
        if file not in told and file not in changed.lost:
            said = _NEW if file in changed.came else f"this proof was changed since the run began{_TRIED}"
            diagnostics.append(GoalDiagnostic(file, (line, 0), None, "information", "proof_changed", said, info))
    for file, names in changed.lost.items():
        if file not in changed.gone:
            start, said = (changed.lines.get(file, 0), 0), lost_text(file, names) + _TRIED
            diagnostics.append(GoalDiagnostic(file, start, None, "warning", "proof_changed", said, info))
    title = (parsed.title_span.start_line if parsed.title_span is not None else 0, 0)
    for what, files in (
        ("proof that was there when the run began is gone", changed.gone),
        ("more files of the proof may have changed", changed.unread),
    ):
        if files:
            said = f"{what}: {listed(files, MAX_NAMED)}{_TRIED}"
            diagnostics.append(GoalDiagnostic(path, title, None, "information", "proof_changed", said, info))
    return diagnostics


_TRIED = ": once everything else is proven, it is tried as it was at the start as well"
_NEW = "this proof is new since the run began: once everything else is proven, it must fail without the work"


def _ticked(
    path: str, parsed: ParsedGoalFile, by_id: Mapping[str, RequirementView], memory: Memory, proven: Memory = NOTHING
) -> Sequence[GoalDiagnostic]:
    """A ticked box is not proof: this says so, unless the requirement is proven, or was until its renewal."""
    diagnostics: list[GoalDiagnostic] = []
    for source in parsed.requirements:
        one = by_id.get(source.requirement.id)
        if source.checkbox is None or not source.requirement.ticked or source.requirement.id in proven:
            continue
        # During a renewal of the proof, the last settled status counts.
        last = memory.get(one.requirement_id) if one is not None and one.renewing else None
        standing = last or one
        if standing is None or standing.status not in ("met", "waived"):
            start, end = _ends(source.checkbox)
            message = f"{source.requirement.label} is ticked, but it is not proven: a tick is not proof"
            diagnostics.append(GoalDiagnostic(path, start, end, "information", "ticked", message))
    return diagnostics


def _ends(span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
    return (span.start_line, span.start_column), (span.end_line, span.end_column)
