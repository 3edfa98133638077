"""The result of a run, for library callers: `GoalOutcome`, made from the run's state alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, cast

from donewhen.core.plugging import Halted
from donewhen.core.proof import assess
from donewhen.core.state import KnownFinding, RunState
from donewhen.core.verdict import PROVEN, GoalVerdict, RequirementStatus, RequirementVerdict, RequirementView
from donewhen.core.work import Interrupt, Usage


class GoalStatus(StrEnum):
    """Where a run stands. It equals its text: `outcome.status == "complete"`.

    >>> from donewhen import GoalStatus
    >>> GoalStatus.COMPLETE == "complete", GoalStatus.PAUSED.over
    (True, False)
    """

    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    COMPLETE = "complete"
    CAPPED = "capped"
    TIMED_OUT = "timed_out"
    OVER_BUDGET = "over_budget"
    STALLED = "stalled"
    BLOCKED = "blocked"
    IMPOSSIBLE = "impossible"
    CANCELLED = "cancelled"
    CRASHED = "crashed"

    @property
    def over(self) -> bool:
        """True for a run that has ended; others continue, or can be resumed."""
        return self not in (GoalStatus.RUNNING, GoalStatus.WAITING, GoalStatus.PAUSED, GoalStatus.INTERRUPTED)


@dataclass(frozen=True, slots=True)
class RequirementOutcome:
    """Where one requirement stands: `met`, `unmet`, `unverified`, `stale` or `waived`, why, and the evidence cited.
    `grade` is what its proof is worth, as in reports: `own` (your own proof), `worker` (what the worker wrote, which
    fails without the work), `judge`, `person` (waived, or accepted though refused) or `untried`; None for what is not
    proven, what trials refuse, and checks that were not tried.

    >>> from donewhen import RequirementOutcome
    >>> RequirementOutcome("r-1", "R1", "it is short", "met", "`short`: passed", ("E2",)).status
    'met'
    """

    id: str
    label: str
    text: str
    status: RequirementStatus
    reason: str
    evidence_ids: tuple[str, ...] = ()
    decided_by: str | None = None
    grade: str | None = None


@dataclass(frozen=True, slots=True)
class IntegrityOutcome:
    """A change of the proof itself, and whether a person accepted it (`reason` says why). `line` counts from 1; `diff`
    is the change of the file, as a bounded unified diff, empty if unknown. `kind`: docs/protocol.md.

    >>> from donewhen import IntegrityOutcome
    >>> IntegrityOutcome("F1", "original_fails", "tests/test_a.py", 3, "the original fails").accepted
    False
    """

    id: str
    kind: str
    path: str
    line: int
    message: str
    diff: str = ""
    accepted: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class GoalOutcome:
    """The result of a run, or where it stands. `iterations` are audit rounds: 0 before the first turn has ended, 1 if
    everything was proven before the first turn. `objective` and `cap` (`max_iterations`, None: unlimited) are the
    goal's.

    `verdict` is about the whole goal: None before the first audit. `response` is the worker's last return value (its
    text if the run was resumed). `findings` are changes of the proof itself: an open one blocks completion until a
    person accepts it or it is undone. `halt` and `interrupts` say what a stopped run waits for:
    `resume_goal(outcome.run_id, ...)` continues it. `error` says how the worker's last turn failed, if it did. Costs
    are US dollars, None if unknown, as for a callable that doesn't report its own.

    >>> from donewhen import run_goal
    >>> def greets(response, agent):
    ...     return "hello" in response
    >>> outcome = run_goal("Say hello", lambda prompt: "hello", checks=[greets])
    >>> outcome.status.value, outcome.iterations, outcome.verdict.score, outcome.response
    ('complete', 1, 1.0, 'hello')
    """

    status: GoalStatus
    iterations: int
    verdict: GoalVerdict | None
    reason: str = ""
    run_id: str = ""
    response: Any = None
    requirements: tuple[RequirementOutcome, ...] = ()
    worker_usage: Usage = field(default_factory=Usage)
    judge_usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    halt: Halted | None = None
    interrupts: tuple[Interrupt, ...] = ()
    warnings: tuple[str, ...] = ()
    findings: tuple[IntegrityOutcome, ...] = ()
    objective: str = ""
    cap: int | None = None
    error: str | None = None

    @property
    def usage(self) -> Usage:
        """Tokens and cost of worker and judge together, for the calls that Done When made itself."""
        return self.worker_usage + self.judge_usage

    @property
    def cost(self) -> float | None:
        return self.usage.usd

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON values; a response that JSON can't represent is given as its text."""
        told = {one.name: _as_plain(getattr(self, one.name)) for one in dataclasses.fields(self)}
        return {**told, "cost": self.cost}


def outcome_of(state: RunState, response: Any = None) -> GoalOutcome:
    """A run as it stands."""
    views = assess(state)
    still = not state.active
    # A turn in progress is not a round yet.
    iterations = state.iteration - 1 if state.active and state.turn is not None else state.iteration
    if state.status == "complete":
        iterations = max(1, state.iteration)
    held = state.last_turn.response.observation if state.last_turn.response is not None else None
    return GoalOutcome(
        status=GoalStatus(state.status or "complete"),
        iterations=iterations,
        verdict=verdict_of(state, views) if still or iterations else None,
        reason=state.lifecycle.reason,
        run_id=state.run_id,
        response=getattr(held, "text", None) if response is None else response,
        requirements=tuple(_requirement_outcome(state, view) for view in views),
        worker_usage=state.worker_usage,
        judge_usage=state.spend.judge,
        seconds=state.elapsed,
        halt=state.plugins.halt,
        interrupts=state.interrupts,
        warnings=tuple(warning.message for warning in state.warnings),
        findings=tuple(_integrity(known) for known in state.present_findings),
        objective=state.goal.objective or state.goal.title,
        cap=state.goal.limits.max_iterations,
        error=state.last_turn.error,
    )


def verdict_of(state: RunState, views: tuple[RequirementView, ...]) -> GoalVerdict:
    """The verdict for the whole goal. The score is the share that is proven; for requirements that the judge decides,
    it is the judge's score, if given. If there are several requirements, `missing` says which one it means."""
    left = [view for view in views if view.status not in PROVEN]
    open_findings = [known.finding for known in state.open_findings]
    complete = state.status == "complete" if not state.active else not left and not open_findings
    missing = [f"{f'R{view.number}: ' if len(views) > 1 else ''}{view.reason or view.status}" for view in left]
    missing += [f"{finding.path}: {finding.message}" for finding in open_findings]
    score = state.judge.score
    shares: list[float] = []
    findings: list[RequirementVerdict] = []
    for view in views:
        proven = view.status in PROVEN
        finding = "met" if proven else ("unmet" if view.status == "unmet" else "unverified")
        findings.append(RequirementVerdict(view.requirement_id, finding, view.reason, view.evidence_ids))
        shares.append(score if view.decided_by == "judge" and score is not None else float(proven))
    return GoalVerdict(
        score=sum(shares) / len(views),
        complete=complete,
        missing="" if complete else "\n".join(missing) or state.lifecycle.reason,
        findings=tuple(findings),
        usage=state.spend.judge,
    )


def _requirement_outcome(state: RunState, view: RequirementView) -> RequirementOutcome:
    requirement = state.goal.requirement(view.requirement_id)
    text = requirement.text if requirement is not None else ""
    label = f"R{view.number}"
    return RequirementOutcome(
        view.requirement_id, label, text, view.status, view.reason, view.evidence_ids, view.decided_by, view.grade
    )


def _integrity(known: KnownFinding) -> IntegrityOutcome:
    found = known.finding
    return IntegrityOutcome(
        known.id, found.kind, found.path, found.line + 1, found.message, found.diff, known.accepted, known.reason
    )


def _as_plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: _as_plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _as_plain(one) for key, one in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_as_plain(one) for one in cast("list[Any]", value)]
    return str(value)
