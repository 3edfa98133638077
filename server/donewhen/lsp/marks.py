"""Diagnostics before they are LSP's: places in our own columns, collected by pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from donewhen.core.evidence import CheckResult, Problem
from donewhen.core.verdict import RequirementView
from donewhen.engine.api import RunView
from donewhen.lsp.goal_text import FileProblem, ParsedGoal, RequirementSource, Span

Severity = Literal["error", "warning", "information", "hint"]

RENEWED = " (being proven again)"
MAX_CODE_MARKS = 200


@dataclass(frozen=True, slots=True)
class Related:
    """A further place of a mark."""

    uri: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Mark:
    """One diagnostic. `path` is relative to the workspace; `end` None is the end of the start's line."""

    path: str
    start: tuple[int, int]
    end: tuple[int, int] | None
    severity: Severity
    code: str
    message: str
    info: Mapping[str, Any] = field(default_factory=dict[str, Any])
    related: tuple[Related, ...] = ()


Memory = Mapping[str, Mark | None]
"""The last settled mark of each requirement, by id; None where it had none."""


@dataclass(frozen=True, slots=True)
class Collected:
    """All marks of one goal, and what is remembered for the next time."""

    marks: tuple[Mark, ...]
    memory: Memory


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the marks of a goal need to know of the world: when files changed, and where evidence can be read."""

    changed_at: Mapping[str, float] = field(default_factory=dict[str, float])
    """Epoch seconds of the last change of files that evidence names, by path."""
    evidence_uris: Mapping[str, str] = field(default_factory=dict[str, str])


def collect(path: str, parsed: ParsedGoal, view: RunView | None, memory: Memory, around: Surroundings) -> Collected:
    """The marks of the goal file `path` and of the code that its latest evidence names."""
    problems = [_problem(path, problem) for problem in parsed.problems]
    by_id = {one.requirement_id: one for one in view.views} if view is not None else {}
    if view is None or not shown(view):
        return Collected((*problems, *_ticked(path, parsed, by_id)), {})
    marks: list[Mark] = []
    remembered: dict[str, Mark | None] = {}
    for source in parsed.requirements:
        one = by_id.get(source.requirement.id)
        if one is not None:
            mark = _requirement(path, source, one, view, memory, around)
            remembered[one.requirement_id] = mark if not one.renewing else memory.get(one.requirement_id, mark)
            marks += [] if mark is None else [mark]
            marks += _code(path, source, one, view, around)
    marks += _findings(view)
    return Collected((*problems, *marks, *_ticked(path, parsed, by_id)), remembered)


def shown(view: RunView) -> bool:
    """After `complete` and `cancelled` nothing of a run is shown any more."""
    return view.state.end_status not in ("complete", "cancelled")


def _problem(path: str, problem: FileProblem) -> Mark:
    start, end = _ends(problem.span)
    info = {} if problem.suggestion is None else {"suggestion": problem.suggestion}
    return Mark(path, start, end, _severity(problem.severity), problem.code, problem.message, info)


def _requirement(
    path: str, source: RequirementSource, one: RequirementView, view: RunView, memory: Memory, around: Surroundings
) -> Mark | None:
    """The mark on the requirement's own line: while its proof is renewed, the last one, and said so."""
    current = _settled(path, source, one, view, around)
    if not one.renewing:
        return current
    known = one.requirement_id in memory
    last = memory.get(one.requirement_id)
    if not known and (one.status == "unverified" or current is None):
        return current
    if not known and one.status == "unmet":
        last = current
    if last is None:
        return None
    if not last.info.get("evidenceIds"):
        return last  # nothing was proven yet that could be proven again
    start, end = _ends(source.text_span)
    return replace(last, start=start, end=end, message=last.message.removesuffix(RENEWED) + RENEWED)


def _settled(
    path: str, source: RequirementSource, one: RequirementView, view: RunView, around: Surroundings
) -> Mark | None:
    severities: Mapping[str, Severity] = {"unmet": "error", "stale": "warning", "unverified": "information"}
    severity = severities.get(one.status)
    if severity is None:
        return None
    start, end = _ends(source.text_span)
    message = f"{one.status}: {one.reason}" if one.reason else one.status
    places = tuple(_related(one, around))
    return Mark(path, start, end, severity, source.requirement.label, message, _info(view, one), places)


def _info(view: RunView, one: RequirementView) -> dict[str, Any]:
    return {
        "runId": view.state.run_id,
        "requirementId": one.requirement_id,
        "evidenceIds": list(one.evidence_ids),
    }


def _related(one: RequirementView, around: Surroundings) -> list[Related]:
    """Where the evidence can be read."""
    return [
        Related(around.evidence_uris[name], 0, f"evidence {name}")
        for name in one.evidence_ids
        if name in around.evidence_uris
    ]


def _code(
    path: str, source: RequirementSource, one: RequirementView, view: RunView, around: Surroundings
) -> list[Mark]:
    """The lines of code that an unmet requirement's evidence names; an ended pursuit leaves only the goal file's."""
    if one.status in ("met", "waived") or (view.state.ended and view.state.mode == "pursue"):
        return []
    begun = _begun(view, one)
    goal_place = Related(path, source.text_span.start_line, source.requirement.text)
    return [
        _place(place, source, one, view, (goal_place, *_related(one, around)))
        for place in view.locations.get(one.requirement_id, ())[:MAX_CODE_MARKS]
        if begun is None or around.changed_at.get(place.path, 0.0) <= begun
    ]


def _begun(view: RunView, one: RequirementView) -> float | None:
    """When the evidence was gathered that names the places: a file changed since has other lines."""
    observations = (evidence.observation for evidence in view.state.results.values() if evidence.id in one.evidence_ids)
    times = [result.started_at + result.seconds for result in observations if isinstance(result, CheckResult)]
    return max(times, default=None)


def _place(
    place: Problem, source: RequirementSource, one: RequirementView, view: RunView, related: tuple[Related, ...]
) -> Mark:
    start = (place.line, place.column)
    code, info = source.requirement.label, _info(view, one)
    return Mark(place.path, start, None, place.severity, code, place.message or one.reason, info, related)


def _findings(view: RunView) -> list[Mark]:
    if view.state.ended and view.state.mode == "pursue":
        kept = [known for known in view.state.open_findings if known.finding.path == view.state.goal.path]
    else:
        kept = list(view.state.open_findings)
    return [
        Mark(
            known.finding.path,
            (known.finding.line, 0),
            None,
            "error",
            known.finding.kind,
            known.finding.message,
            {"runId": view.state.run_id, "findingId": known.id},
        )
        for known in kept
    ]


def _ticked(path: str, parsed: ParsedGoal, by_id: Mapping[str, RequirementView]) -> Sequence[Mark]:
    """A ticked box is no proof: said where it stands, unless the requirement is proven."""
    marks: list[Mark] = []
    for source in parsed.requirements:
        one = by_id.get(source.requirement.id)
        if source.checkbox is None or not source.requirement.ticked:
            continue
        if one is None or (one.status not in ("met", "waived") and not one.renewing):
            start, end = _ends(source.checkbox)
            message = f"{source.requirement.label} is ticked, but it is not proven: a tick is no proof"
            marks.append(Mark(path, start, end, "information", "ticked", message))
    return marks


def _ends(span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
    return (span.start_line, span.start_column), (span.end_line, span.end_column)


def _severity(name: str) -> Severity:
    known: Mapping[str, Severity] = {"error": "error", "warning": "warning", "hint": "hint"}
    return known.get(name, "information")
