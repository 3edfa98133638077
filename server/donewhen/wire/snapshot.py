"""The snapshot of a run, as every front end sends it (docs/protocol.md): camelCase, one builder for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from donewhen.core.events import PausedBy
from donewhen.core.evidence import Problem
from donewhen.core.goal import Requirement
from donewhen.core.people import ActOnRecord, Where
from donewhen.core.plugging import Halted
from donewhen.core.proof import proven, satisfied
from donewhen.core.questions import question_context, runs_command
from donewhen.core.resume import goal_kept
from donewhen.core.state import IterationRecord, RaisedFinding, RunState
from donewhen.core.trouble import CallRole, Repair, TroubleKind
from donewhen.core.verdict import Grade, RequirementView
from donewhen.core.work import Interrupt, Usage
from donewhen.engine.api import RunView

SCHEMA_VERSION = 1
MAX_LOCATIONS = 20
MAX_CHANGED = 20
MAX_ACTS = 50


class Wire(BaseModel):
    """Base of everything on the wire: camelCase, unknown fields accepted by readers."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", frozen=True)


class WirePosition(Wire):
    """0-based; `character` counts Unicode code points, or what was agreed on with a client."""

    line: int
    character: int


class WireRange(Wire):
    start: WirePosition
    end: WirePosition


class WireLocation(Wire):
    uri: str
    range: WireRange
    message: str


class WireCounts(Wire):
    met: int
    unmet: int
    unverified: int
    stale: int
    waived: int
    total: int
    regressed: int = 0


class WireRegression(Wire):
    """The edit that made a requirement fail that was met: what changed between the last revision at which it was and
    the first at which it is not. `by` is None if it isn't known."""

    good_revision: str
    bad_revision: str
    at: str
    changed_files: list[str]
    changed_total: int
    by: Literal["person", "worker"] | None


class WireRequirement(Wire):
    id: str
    number: int
    text: str
    status: Literal["met", "unmet", "unverified", "stale", "waived", "regressed"]
    flaky: bool
    reason: str
    evidence_ids: list[str]
    decided_by: Literal["check", "judge", "person"] | None
    locations: list[WireLocation]
    renewing: bool = False
    regression: WireRegression | None = None
    external: bool = False
    grade: Grade | None = None


class WireIntegrity(Wire):
    id: str
    kind: str
    uri: str
    range: WireRange
    message: str
    accepted: bool
    reason: str
    diff: str = ""


class WireRaised(Wire):
    """A finding that was open once, and so refused the proof. `iteration` is the one after which it was first there (0:
    before the first), `until` the last one after which it was, `undone_in` the one after which it was gone; None while
    it stands, and for what a trial found until it was tried again."""

    id: str
    kind: str
    path: str
    line: int
    message: str
    iteration: int
    until: int
    undone_in: int | None


class WireInterrupt(Wire):
    """`folder` is where a command would run; `said` what the worker said when it asked, and `before` its last step
    before: empty if there is none."""

    id: str
    kind: Literal["approval", "question"]
    title: str
    tool: str | None
    input: dict[str, Any]
    preview: str
    asked_at: str
    about: str = ""
    remembers: bool = False
    folder: str = ""
    said: str = ""
    before: str = ""


class WireHalt(Wire):
    plugin: str
    reason: str
    data: dict[str, Any]
    resumable: bool


class WireStart(Wire):
    """What the start summary said, and who accepted it: `person`, `auto` or `nobody`; None: it is open."""

    summary: str
    accepted_by: str | None


class WireModelTrouble(Wire):
    """Why the model of the worker or the judge can't be asked now. `said` is a sentence with what to do, `brief` a few
    words, `headline` what a run is called that stands still for it; `repairs` are what a person can do, the likeliest
    first. While it is asked again, `next_try` is the number of that try of `tries`, and `next_try_at` when it is made;
    None once the run stands still for it."""

    kind: TroubleKind
    role: CallRole
    model: str
    said: str
    brief: str
    headline: str
    status: int | None
    repairs: list[Repair]
    next_try: int | None
    tries: int | None
    next_try_at: str | None


class WireWarning(Wire):
    code: str
    message: str


class WireAct(Wire):
    """What a person did, such as `waived R3`, by the name of the account, and from where."""

    what: str
    said: str
    by: str
    where: Where
    at: str


class WireUsage(Wire):
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    usd: float | None


class WireCost(Wire):
    usd: float | None
    worker: WireUsage
    judge: WireUsage


class WireLimits(Wire):
    """None: unlimited."""

    max_iterations: int | None
    timeout_seconds: float | None
    budget_usd: float | None
    token_budget: int | None


class WireGuard(Wire):
    """What was proven is proven again after each edit. `by` is `goal` where the goal file asks for it."""

    since: str
    by: str


class WireFreshness(Wire):
    """Whether the workspace is still the one that the result was made at. `changed_files` are paths relative to the
    workspace folder; None if only the revisions could be compared."""

    fresh: bool
    revision: str
    changed_files: list[str] | None
    changed_total: int | None
    result_at: str


class WireIteration(Wire):
    number: int
    started_at: str
    seconds: float
    score: float
    met: int
    total: int
    usd: float | None
    revision: str
    changed_files: list[str]
    summary: str
    error: str | None = None


class WireBaseline(Wire):
    """How far the goal was before the first turn of its run."""

    score: float
    met: int
    total: int


class WireSandbox(Wire):
    """Where what the worker runs is run: `contained`, in rooms in which it changes the workspace alone; `network`: that
    reaches the network."""

    contained: bool
    network: bool


class Snapshot(Wire):
    """The whole of a run as it is now; `sequence` grows with every change of it."""

    schema_version: int
    sequence: int
    run_id: str
    goal_uri: str | None
    title: str
    objective: str
    worker: str | None
    status: str | None
    phase: Literal["working", "checking", "judging"] | None
    activity: str | None
    reason: str
    iteration: int
    max_iterations: int | None
    elapsed_seconds: float
    revision: str
    score: float
    complete: bool
    missing: str
    counts: WireCounts
    requirements: list[WireRequirement]
    integrity: list[WireIntegrity]
    interrupts: list[WireInterrupt]
    halt: WireHalt | None
    warnings: list[WireWarning]
    cost: WireCost
    limits: WireLimits
    iterations_total: int
    iterations: list[WireIteration]
    last_revertible: int | None
    model: str | None = None
    judge: str | None = None
    start: WireStart | None = None
    paused_by: PausedBy | None = None
    freshness: WireFreshness | None = None
    guard: WireGuard | None = None
    baseline: WireBaseline | None = None
    sandbox: WireSandbox | None = None
    acts: list[WireAct] = []
    raised: list[WireRaised] = []
    take_over: bool = False
    model_trouble: WireModelTrouble | None = None
    goal_kept: int | None = None


Characters = Callable[[Path, int, int], int]
"""Our column of a line of a file (0-based, in Unicode code points), in the encoding that a client agreed on."""


def code_points(path: Path, line: int, column: int) -> int:
    """For readers with which no encoding was agreed on."""
    return column


def snapshot(view: RunView, root: Path, characters: Characters = code_points) -> Snapshot:
    """The snapshot of a run in the workspace `root`."""
    state = view.state
    goal = {one.id: one for one in state.goal.requirements}
    requirements = [_wire_requirement(view, root, goal[one.requirement_id], one, characters) for one in view.views]
    counts = _counts(view)
    total = counts.total
    return Snapshot(
        schema_version=SCHEMA_VERSION,
        sequence=state.sequence,
        run_id=state.run_id,
        goal_uri=view.goal_uri,
        title=state.goal.title,
        objective=state.goal.objective,
        worker=state.options.worker,
        status=state.status,
        phase=state.phase,
        activity=view.live.activity if state.active else None,
        reason=state.lifecycle.reason,
        iteration=state.iteration,
        max_iterations=_whole_or_none(state.limit("max_iterations")),
        elapsed_seconds=round(view.elapsed, 3),
        revision=state.revision,
        score=round((counts.met + counts.waived) / total, 4) if total else 0.0,
        complete=_complete(view),
        missing=missing(view),
        counts=counts,
        requirements=requirements,
        integrity=_integrity(state, root, characters),
        interrupts=[_interrupt(state, root, one) for one in state.interrupts],
        halt=_halt(state),
        warnings=[WireWarning(code=one.code, message=one.message) for one in state.warnings],
        cost=WireCost(
            usd=_usd(state.usage.usd), worker=wire_usage(state.worker_usage), judge=wire_usage(state.spend.judge)
        ),
        limits=_limits(state),
        iterations_total=state.progress.iterations[-1].number if state.progress.iterations else 0,
        iterations=[_iteration(one) for one in state.progress.iterations],
        last_revertible=state.files.last_checkpoint.iteration if state.files.last_checkpoint else None,
        model=state.options.agent.model if state.options.agent is not None else None,
        judge=state.options.judge,
        start=_wire_start(state),
        paused_by=state.lifecycle.paused_by if state.status == "paused" else None,
        freshness=freshness_of(view),
        guard=WireGuard(since=wire_time(state.guard.since), by=state.guard.by) if state.guard is not None else None,
        baseline=_baseline(state),
        sandbox=_sandbox(state),
        acts=[_act(one) for one in state.acts[-MAX_ACTS:]],
        raised=[raised_finding(one) for one in state.raised_findings],
        take_over=view.take_over,
        model_trouble=_trouble(state),
        goal_kept=goal_kept(state),
    )


def _trouble(state: RunState) -> WireModelTrouble | None:
    """Of a run that is over nothing is left to repair."""
    retrying = state.calls.retrying if state.active else None
    trouble = retrying.failed.trouble if retrying is not None else state.calls.trouble
    if trouble is None or state.lifecycle.ended:
        return None
    return WireModelTrouble(
        kind=trouble.kind,
        role=trouble.role,
        model=trouble.model,
        said=trouble.said,
        brief=trouble.brief,
        headline=trouble.headline,
        status=trouble.status,
        repairs=list(trouble.repairs),
        next_try=None if retrying is None else retrying.failed.next_try,
        tries=None if retrying is None else retrying.failed.tries,
        next_try_at=None if retrying is None else wire_time(retrying.at),
    )


def raised_finding(one: RaisedFinding) -> WireRaised:
    found = one.finding
    return WireRaised(
        id=one.id,
        kind=found.kind,
        path=found.path,
        line=found.line + 1,
        message=found.message,
        iteration=one.iteration,
        until=one.until,
        undone_in=one.undone,
    )


def _sandbox(state: RunState) -> WireSandbox | None:
    options = state.options
    works = options.worker not in (None, "human")
    return WireSandbox(contained=options.contained, network=options.network or not options.contained) if works else None


def missing(view: RunView) -> str:
    """What remains, as a list in one line; empty when nothing does."""
    parts = [f"R{one.number} ({one.status}): {one.reason}" for one in view.views if one.status not in ("met", "waived")]
    parts += [f"{known.id} ({known.finding.kind}): {known.finding.message}" for known in view.state.open_findings]
    return "; ".join(parts)


def _complete(view: RunView) -> bool:
    """By the soundness rule, and never otherwise: a run that ended so, or a bare audit that proves everything, as long
    as nothing of it is stale."""
    state = view.state
    if state.lifecycle.broken or (
        state.lifecycle.ended and any(one.status not in ("met", "waived") for one in view.views)
    ):
        return False
    if state.mode == "audit":
        return state.lifecycle.ended and state.lifecycle.reason != "" and satisfied(state) and not state.auditing.due
    return state.lifecycle.end_status == "complete" or (state.active and proven(state) and state.files.confirmed)


def freshness_of(view: RunView) -> WireFreshness | None:
    """Whether the result still holds in the current workspace; None if that isn't known."""
    present, state = view.present, view.state
    if present is None:
        return None
    changed = present.changed
    return WireFreshness(
        fresh=not view.stale,
        revision=present.revision,
        changed_files=None if changed is None else list(changed[:MAX_CHANGED]),
        changed_total=None if changed is None else len(changed),
        result_at=wire_time(state.updated_at),
    )


def changed_since(view: RunView) -> Sequence[str]:
    """The files that are not as they were at the result, as far as they are known."""
    return () if view.present is None or view.present.changed is None else view.present.changed


def _counts(view: RunView) -> WireCounts:
    by_status = {name: 0 for name in ("met", "unmet", "unverified", "stale", "waived", "regressed")}
    for one in view.views:
        by_status[one.status] += 1
    return WireCounts(**by_status, total=len(view.views))


def _wire_requirement(
    view: RunView, root: Path, requirement: Requirement, one: RequirementView, characters: Characters
) -> WireRequirement:
    places = () if one.status in ("met", "waived") else view.locations.get(requirement.id, ())
    return WireRequirement(
        id=requirement.id,
        number=requirement.number,
        text=requirement.text,
        status=one.status,
        flaky=one.flaky,
        reason=one.reason,
        evidence_ids=list(one.evidence_ids),
        decided_by=one.decided_by,
        locations=[_location(root, place, characters) for place in places[:MAX_LOCATIONS]],
        renewing=one.renewing,
        regression=_regression(view.state, one),
        external=requirement.external,
        grade=one.grade,
    )


def _regression(state: RunState, one: RequirementView) -> WireRegression | None:
    known = state.guard.regressions.get(one.requirement_id) if state.guard is not None else None
    if known is None or one.status != "regressed":
        return None
    return WireRegression(
        good_revision=known.good,
        bad_revision=known.bad,
        at=wire_time(known.at),
        changed_files=list(known.paths[:MAX_CHANGED]),
        changed_total=known.total,
        by=None if known.by == "check" else known.by,
    )


def _location(root: Path, place: Problem, characters: Characters) -> WireLocation:
    """A place in a workspace file: from its column to the end of its line, as far as that is known."""
    path = root / place.path
    where = _range(path, place.line, place.column, characters)
    return WireLocation(uri=path.as_uri(), range=where, message=place.message)


def _range(path: Path, line: int, column: int, characters: Characters) -> WireRange:
    start = WirePosition(line=line, character=characters(path, line, column))
    return WireRange(start=start, end=start)


def _integrity(state: RunState, root: Path, characters: Characters) -> list[WireIntegrity]:
    return [
        WireIntegrity(
            id=known.id,
            kind=known.finding.kind,
            uri=(root / known.finding.path).as_uri(),
            range=_range(root / known.finding.path, known.finding.line, 0, characters),
            message=known.finding.message,
            diff=known.finding.diff,
            accepted=known.accepted,
            reason=known.reason,
        )
        for known in state.present_findings
    ]


def _interrupt(state: RunState, root: Path, one: Interrupt) -> WireInterrupt:
    known = question_context(state, one)
    return WireInterrupt(
        id=one.id,
        kind=one.kind,
        title=one.title,
        tool=one.tool,
        input=dict(one.input),
        preview=one.preview,
        asked_at=wire_time(one.asked_at),
        about=one.about,
        remembers=one.remembers,
        folder=str(root) if runs_command(one) else "",
        said=known.said,
        before=known.before,
    )


def _act(one: ActOnRecord) -> WireAct:
    return WireAct(what=one.what, said=one.said, by=one.person.user, where=one.person.where, at=wire_time(one.at))


def _halt(state: RunState) -> WireHalt | None:
    halt = shown_halt(state)
    if halt is None:
        return None
    return WireHalt(plugin=halt.plugin, reason=halt.reason, data=dict(halt.data), resumable=halt.resumable)


def _wire_start(state: RunState) -> WireStart | None:
    if not state.options.summary:
        return None
    return WireStart(summary=state.options.summary, accepted_by=state.started)


def wire_usage(usage: Usage) -> WireUsage:
    """What calls of models took."""
    return WireUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        usd=_usd(usage.usd),
    )


def _usd(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _limits(state: RunState) -> WireLimits:
    return WireLimits(
        max_iterations=_whole_or_none(state.limit("max_iterations")),
        timeout_seconds=state.limit("timeout"),
        budget_usd=state.goal.limits.budget,
        token_budget=state.goal.limits.token_budget,
    )


def _iteration(one: IterationRecord) -> WireIteration:
    return WireIteration(
        number=one.number,
        started_at=wire_time(one.started_at),
        seconds=round(one.seconds, 3),
        score=round(one.score, 4),
        met=one.met,
        total=one.total,
        usd=_usd(one.usage.usd),
        revision=one.revision,
        changed_files=list(one.changed),
        summary=one.summary,
        error=one.error,
    )


def _baseline(state: RunState) -> WireBaseline | None:
    if state.progress.met_before is None:
        return None
    met, total = state.progress.met_before
    return WireBaseline(score=round(met / total, 4) if total else 0.0, met=met, total=total)


def _whole_or_none(value: float | None) -> int | None:
    return None if value is None else int(value)


def wire_time(at: float) -> str:
    """A moment (epoch seconds) as every wire has it: ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# How a halt reads wherever a run is shown, and whether it still matters.


def shown_halt(state: RunState) -> Halted | None:
    """The halt that the run stands at, or that ended it; None if it ended otherwise, or was paused since."""
    over = state.lifecycle.paused is not None or (state.lifecycle.ended and state.lifecycle.end_status != "blocked")
    return None if over else state.plugins.halt


def halt_text(halt: Halted) -> str:
    """`waits: plugin NAME: REASON`; a halt that can't be resumed stopped the run."""
    # A worker of one's own may halt too, and is not a plugin.
    who = "the worker" if halt.plugin == "worker" else f"plugin {halt.plugin}"
    return f"{'waits' if halt.resumable else 'stopped'}: {who}: {halt.reason}"
