"""`fold(state, entry)`: the only way a run's state changes (invariant 2). Pure: the same entries, the same state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from donewhen.core import calls as c
from donewhen.core import events as e
from donewhen.core import plugging as p
from donewhen.core.answers import ANSWERED, WAITS
from donewhen.core.changing import replace
from donewhen.core.errors import CHANGED_BY_OTHERS, LedgerError, UnreadableRun
from donewhen.core.fold import acts, audit, turn
from donewhen.core.goal import Goal
from donewhen.core.hints import UNASKED
from donewhen.core.proof import outdated, revision_unsettled, undecidable
from donewhen.core.questions import unaccepted
from donewhen.core.resume import ending_once_resumed
from donewhen.core.state import SIGN_OF_LIFE, CheckRecord, Judged, KeptTree, RunState
from donewhen.core.verdict import panel
from donewhen.core.work import Answer, Interrupt, RunWarning

MAX_WARNINGS = 50


def fold_read(run_id: str, state: RunState | None, entry: e.Entry) -> RunState:
    """The state after one more entry that was read from a record. Raises UnreadableRun for one that nothing can have
    written after what is before it."""
    try:
        return begin(entry) if state is None else fold(state, entry)
    except Exception as error:
        problem = str(error) if isinstance(error, LedgerError) else f"{type(error).__name__}: {error}"
        raise UnreadableRun(run_id, f"entry {entry.sequence}: {problem}; {CHANGED_BY_OTHERS}") from error


def begin(entry: e.Entry) -> RunState:
    """The state after a run's first entry, with what earlier runs of the goal say of its checks."""
    event = entry.event
    if not isinstance(event, e.RunStarted):
        raise LedgerError(f"a run begins with RunStarted, not {type(event).__name__}")
    checks = {one.check_id: CheckRecord(earlier=one, streak=one.flaky) for one in event.past}
    for key in sorted(event.test_runs):
        checks[key] = replace(checks.get(key, CheckRecord()), is_test_run=True)
    return RunState(
        run_id=event.run_id,
        mode=event.mode,
        goal=event.goal,
        options=event.options,
        sequence=entry.sequence,
        started_at=entry.at,
        updated_at=entry.at,
        revision=event.revision,
        checks=checks,
        file_limits=event.file_limits or event.goal.limits,
        started=event.accepted,
        guarded=event.guarded,
    )


def fold(state: RunState, entry: e.Entry) -> RunState:
    """The state after one more entry."""
    event = entry.event
    seconds = _seconds_by_times(state, entry) if entry.seconds is None else entry.seconds
    clocked = replace(
        state,
        elapsed=state.elapsed_after(seconds),
        updated_at=entry.at,
        sequence=entry.sequence,
        files=replace(state.files, confirmed=False) if state.files.confirmed else state.files,
    )
    return acts.record_act(state, _FOLDS[type(event)](clocked, event, entry.at), event, entry.at)


def _seconds_by_times(state: RunState, entry: e.Entry) -> float:
    at = entry.at
    if isinstance(entry.event, e.RunInterrupted):
        # Nothing is known to have worked after its last sign of life.
        at = max(state.updated_at, min(entry.event.alive_until, at))
    return at - state.updated_at


Fold = Callable[[RunState, Any, float], RunState]


def _goal_amended(state: RunState, event: e.GoalAmended, at: float) -> RunState:
    """Unchanged requirements keep their verdicts as far as their evidence is fresh; removed ones leave (goal-file.md,
    "Editing during a run"). Limits follow the file only where the file changed them."""
    goal = event.goal
    file_limits = goal.limits
    if file_limits == state.file_limits:
        explicit = goal.explicit_limits | state.goal.explicit_limits
        goal = replace(goal, limits=state.goal.limits, explicit_limits=explicit)
    known = {requirement.id for requirement in goal.requirements}
    bound = {check.id for check in goal.checks}
    amended = replace(
        state,
        goal=goal,
        file_limits=file_limits,
        checks={key: record if key in bound else record.unbound() for key, record in state.checks.items()},
        evidence=replace(
            state.evidence, editor={key: value for key, value in state.evidence.editor.items() if key in known}
        ),
        judge=replace(
            state.judge,
            judged=_judged_after_amendment(state, goal),
            disputes={key: value for key, value in state.judge.disputes.items() if key in known},
        ),
        waived={key: value for key, value in state.waived.items() if key in known},
        asking=replace(state.asking, dismissed=frozenset()),
        auditing=replace(
            state.auditing,
            due=True,
            unsettled=None,
            open=None if state.auditing.open is None else replace(state.auditing.open, amended=True),
        ),
        trial=replace(state.trial, last=None),
        guard=None if state.goal.guard and not goal.guard else state.guard,
    )
    if takes_judge(state, goal):
        # It was chosen for what is asked now: the judge doesn't wait for another turn.
        models = panel(goal.judge_model or "") or ()
        options = replace(state.options, judge=goal.judge_model, judging=e.JudgeOptions(models))
        amended = replace(amended, options=options, judge=replace(amended.judge, taken=True))
    return replace(amended, interrupts=tuple(i for i in state.interrupts if _still_asks(amended, i.about)))


def takes_judge(state: RunState, goal: Goal) -> bool:
    """True where a run without a judge is amended by a goal file that names one. A run keeps the judge that it has."""
    return state.options.judge is None and state.mode == "pursue" and bool(panel(goal.judge_model or ""))


def _judged_after_amendment(state: RunState, goal: Goal) -> dict[str, Judged]:
    before = {requirement.id: requirement for requirement in state.goal.requirements}
    return {
        requirement.id: state.judge.judged[requirement.id]
        for requirement in goal.requirements
        if requirement.id in state.judge.judged
        and replace(requirement, number=before[requirement.id].number) == before[requirement.id]
    }


def _still_asks(state: RunState, about: str) -> bool:
    if not about.startswith("requirement:"):
        return True
    requirement = state.goal.requirement(about.removeprefix("requirement:"))
    return requirement is not None and undecidable(state, requirement)


def _baseline_taken(state: RunState, event: e.BaselineTaken, at: float) -> RunState:
    return replace(state, files=replace(state.files, baseline=event.facts, person_paths=frozenset()))


def _revision_changed(state: RunState, event: e.RevisionChanged, at: float) -> RunState:
    judged = outdated(state, event.paths, known=event.total <= len(event.paths))
    due = state.auditing.due or (state.turn is None and state.auditing.open is None)
    disturbed = event.by if state.judge.disturbed in (None, "person") else state.judge.disturbed
    moved = replace(
        state,
        revision=event.revision,
        judge=replace(state.judge, judged=judged, disturbed=disturbed),
        auditing=replace(state.auditing, due=due),
    )
    if event.by == "person":
        files = replace(
            state.files,
            person_paths=state.files.person_paths | frozenset(event.paths),
            person_edits={**state.files.person_edits, **dict.fromkeys(event.paths, state.sequence)},
        )
        agreed = {**state.trial.agreed, **dict.fromkeys(event.paths, "")}
        moved = replace(moved, files=files, trial=replace(state.trial, agreed=agreed))
    return audit.edited(revision_unsettled(state, moved, event), event)


def _revision_confirmed(state: RunState, event: e.RevisionConfirmed, at: float) -> RunState:
    return replace(state, files=replace(state.files, confirmed=event.revision == state.revision))


def _checkpoint_taken(state: RunState, event: e.CheckpointTaken, at: float) -> RunState:
    # What a person edited before the first turn began is the person's work as well.
    kept = state.files.with_checkpoint(event.checkpoint, state.sequence, event.iteration, first=state.waits_for_person)
    return replace(state, files=kept)


def _unchanged(state: RunState, event: e.Event, at: float) -> RunState:
    """What has begun counts once its result is on record."""
    return state


def _abandoned(state: RunState, event: e.Abandoned, at: float) -> RunState:
    return _ABANDONED[event.what](state, event, at)


_ABANDONED: dict[str, Fold] = {
    "turn": turn.turn_abandoned,
    "audit": audit.audit_abandoned,
    "judge": audit.judge_abandoned,
    "trials": audit.trials_abandoned,
}


def _person_decided(state: RunState, event: e.PersonDecided, at: float) -> RunState:
    match event.decision:
        case "accept":
            return _finding_accepted(state, event.subject, event.reason, undo=event.undo)
        case "waive":
            return _requirement_waived(state, event.subject, event.reason, undo=event.undo)
        case "dispute":
            return _requirement_disputed(state, event.subject, event.reason)


def _finding_accepted(state: RunState, finding_id: str, reason: str, *, undo: bool = False) -> RunState:
    known = next((one for one in state.present_findings if one.id == finding_id), None)
    if known is None:
        return audit.without_settled_question(state)
    acceptance = None if undo else (known.finding.fact, reason)
    decided = replace(known, accepted=not undo, reason="" if undo else reason, acceptance=acceptance)
    state = audit.accepted(state, known, undo=undo)
    return audit.without_settled_question(replace(state, findings={**state.findings, known.finding.key: decided}))


def _requirement_waived(state: RunState, requirement_id: str, reason: str, *, undo: bool) -> RunState:
    waived = {key: value for key, value in state.waived.items() if key != requirement_id}
    if not undo:
        waived[requirement_id] = reason
    about = f"requirement:{requirement_id}"
    return replace(
        state,
        waived=waived,
        interrupts=tuple(i for i in state.interrupts if undo or i.about != about),
        asking=replace(state.asking, dismissed=state.asking.dismissed - {about}),
        # Its checks were left out while it was waived.
        auditing=replace(state.auditing, due=state.auditing.due or (undo and state.turn is None)),
    )


def _requirement_disputed(state: RunState, requirement_id: str, reason: str) -> RunState:
    judged = dict(state.judge.judged)
    if requirement_id in judged:
        judged[requirement_id] = replace(judged[requirement_id], stale=True)
    disputes = {**state.judge.disputes, requirement_id: reason}
    return replace(state, judge=replace(state.judge, judged=judged, disputes=disputes))


def _interrupt_opened(state: RunState, event: e.InterruptOpened, at: float) -> RunState:
    return replace(
        state,
        interrupts=(*state.interrupts, event.interrupt),
        asking=replace(state.asking, count=state.asking.count + 1),
    )


def _interrupt_answered(state: RunState, event: e.InterruptAnswered, at: float) -> RunState:
    answer = event.answer
    if answer is not None and event.interrupt_id == UNASKED:
        return replace(state, steering=replace(state.steering, hints=(*state.steering.hints, answer.text)))
    asked = next((i for i in state.interrupts if i.id == event.interrupt_id), None)
    closed = replace(state, interrupts=tuple(i for i in state.interrupts if i.id != event.interrupt_id))
    if asked is None or answer is None:
        return closed
    answered = _answer_taken(closed, asked, answer)
    if closed.interrupts or not (closed.lifecycle.paused or "").startswith(WAITS):
        return answered
    reason = ending_once_resumed(answered) or ANSWERED
    return replace(answered, lifecycle=replace(answered.lifecycle, reason=reason))


def _answer_taken(closed: RunState, asked: Interrupt, answer: Answer) -> RunState:
    topic, _, subject = asked.about.partition(":")
    if topic == "requirement":
        return _requirement_answered(closed, subject, answer)
    if topic == "claim":
        return _claim_answered(closed, answer)
    if topic == "restore":
        return replace(closed, files=replace(closed.files, edits_kept=(asked.asked_at, answer.response != "deny")))
    if topic == "start" and answer.response == "approve":
        return replace(closed, started="person")
    if topic == "start":
        said = answer.text or answer.reason
        return audit.with_ending(closed, "cancelled", f"the start was not accepted{f': {said}' if said else ''}")
    if topic == "findings":
        return _findings_answered(closed, asked, answer)
    return replace(
        closed,
        steering=replace(closed.steering, late_answers={**closed.steering.late_answers, asked.subject: answer}),
    )


def _requirement_answered(state: RunState, requirement_id: str, answer: Answer) -> RunState:
    """Approving waives it; text is a note for the judge, where there is one; denying leaves it unproven."""
    note = answer.text or answer.reason
    if answer.response == "approve":
        return replace(state, waived={**state.waived, requirement_id: note or "a person says that it holds"})
    if answer.response == "text" and state.options.judge is not None:
        return _requirement_disputed(state, requirement_id, note)
    return replace(
        state, asking=replace(state.asking, dismissed=state.asking.dismissed | {f"requirement:{requirement_id}"})
    )


def _findings_answered(state: RunState, asked: Interrupt, answer: Answer) -> RunState:
    """Approving accepts what was asked about, and nothing that came later; ending leaves it to whoever comes next."""
    note = answer.text or answer.reason
    if answer.response == "end":
        return audit.with_ending(state, "blocked", f"{note or 'a person ended it'}: {unaccepted(state)}")
    if answer.response != "approve":
        said = f": {note}" if note else ""
        return replace(
            state,
            undoing=True,
            steering=replace(
                state.steering, answers=(*state.steering.answers, f"a person wants the changed proof undone{said}")
            ),
        )
    for finding_id in asked.input.get("findings", ()):
        state = _finding_accepted(state, finding_id, note or "a person accepts it")
    return state


def _claim_answered(state: RunState, answer: Answer) -> RunState:
    claim = state.last_turn.claim
    if claim is None:
        return state
    state = replace(state, last_turn=replace(state.last_turn, claim=None))
    if (claim.state == "blocked" or claim.state == "impossible") and answer.response == "approve":
        return audit.with_ending(state, claim.state, claim.text)
    note = answer.text or answer.reason
    if not note:
        note = "a person says: yes" if answer.response == "approve" else "a person says: no; go on"
    # It goes on as after a pause: a judge that could not be asked may be back.
    return replace(
        state,
        steering=replace(state.steering, answers=(*state.steering.answers, note)),
        judge=replace(state.judge, outages=0, outage_reason=""),
    )


def _limits_raised(state: RunState, event: e.LimitsRaised, at: float) -> RunState:
    explicit = state.goal.explicit_limits | {
        name
        for name in ("max_iterations", "timeout", "budget", "token_budget")
        if getattr(event.limits, name) != getattr(state.goal.limits, name)
    }
    goal = replace(state.goal, limits=event.limits, explicit_limits=explicit)
    return replace(state, goal=goal, calls=replace(state.calls, unaffordable=None))


def _requested(state: RunState, event: e.Requested, at: float) -> RunState:
    if event.what == "stop":
        return replace(state, lifecycle=replace(state.lifecycle, stop_requested=event.reason))
    return replace(state, lifecycle=replace(state.lifecycle, pause_requested=event.reason, paused_by=event.by))


def _run_paused(state: RunState, event: e.RunPaused, at: float) -> RunState:
    """A turn that is to run again was cut off earlier: what changed since then is a person's already."""
    alive = at if state.redo is None and state.lifecycle.interrupted is None else state.files.last_alive
    state = _at_rest(state)
    return replace(
        state,
        lifecycle=replace(
            state.lifecycle,
            paused=event.reason,
            paused_by=event.by,
            interrupted=None,
            pause_requested=None,
            reason=event.reason,
        ),
        files=replace(state.files, last_alive=alive),
    )


def _at_rest(state: RunState) -> RunState:
    """The run no longer works on anything; what the judge was asked counts as its prompt."""
    state = turn.charge_open_calls(state, "judge")
    return replace(
        state,
        progress=replace(state.progress, open=False),
        judge=replace(state.judge, deciding=()),
        trial=replace(state.trial, running=False),
    )


def _run_interrupted(state: RunState, event: e.RunInterrupted, at: float) -> RunState:
    """What had begun and not ended runs again: the turn as the same iteration, the audit uncounted."""
    charged = _at_rest(turn.charge_open_calls(state, "worker"))
    cut = turn.cut_off_turn(turn.unreported(charged), event.reason)
    return replace(
        cut,
        lifecycle=replace(cut.lifecycle, interrupted=event.reason, reason=event.reason),
        files=replace(
            cut.files,
            last_alive=event.alive_until + SIGN_OF_LIFE
            if state.turn is not None or state.redo is None
            else state.files.last_alive,
        ),
        auditing=replace(cut.auditing, open=None, due=state.auditing.due or state.auditing.open is not None),
    )


def _run_resumed(state: RunState, event: e.RunResumed, at: float) -> RunState:
    """What a person answered while the run was paused holds, and so does what its worker had failed or repeated by
    then; what no other turn could mend, such as a missing key, may be mended by now. A run that had ended is given
    another chance."""
    resumed = replace(
        state,
        lifecycle=replace(
            state.lifecycle,
            paused=None,
            interrupted=None,
            ended=False,
            end_status=None,
            reason="",
            stop_requested=None,
            pause_requested=None,
        ),
        guard=None,
        judge=replace(state.judge, outages=0, dropped=0),
        last_turn=replace(state.last_turn, fatal=None),
        calls=replace(state.calls, trouble=None),
        auditing=replace(state.auditing, due=state.auditing.due or state.redo is None, unsettled=None),
        options=replace(
            state.options,
            approve=state.options.approve if event.approve is None else event.approve,
            askable=state.options.askable if event.askable is None else event.askable,
        ),
    )
    if not state.lifecycle.ended:
        return resumed
    fresh = replace(
        resumed,
        plugins=replace(resumed.plugins, halt=None),
        lifecycle=replace(resumed.lifecycle, ending=None),
        asking=replace(resumed.asking, dismissed=frozenset()),
    )
    return replace(fresh, stall=replace(fresh.stall, failures=0, count=0, signature=""))


def _run_ended(state: RunState, event: e.RunEnded, at: float) -> RunState:
    state = turn.unreported(_at_rest(state))
    ended = replace(
        state,
        lifecycle=replace(
            state.lifecycle,
            ended=True,
            end_status=event.status,
            reason=event.reason,
            paused=None,
            interrupted=None,
            broken=event.broken,
        ),
        interrupts=(),
        worker_turn=state.redo,
        auditing=replace(state.auditing, open=None),
        plugins=replace(state.plugins, halt=None if state.halted else state.plugins.halt, resuming=None),
        guard=None if event.broken else state.guard,
    )
    if event.status != "complete" or not (state.goal.guard or state.guarded):
        return ended
    return audit.on_guard(ended, at, "goal" if state.goal.guard else "person")


def _files_reverted(state: RunState, event: e.FilesReverted, at: float) -> RunState:
    """The files are no longer those of the last look."""
    files = replace(state.files, confirmed=False, put_aside=KeptTree(event.checkpoint, state.sequence))
    kept = files.tree_after(event.iteration)
    source = event.source or (kept.tree if kept is not None else None)
    if source is not None:
        files = replace(files, put_back={**files.put_back, **dict.fromkeys(event.paths, source)})
    return replace(state, files=files)


def _warned(state: RunState, event: e.Warned, at: float) -> RunState:
    warning = RunWarning(event.code, event.message)
    if warning in state.warnings:
        return state
    return replace(state, warnings=(*state.warnings, warning)[-MAX_WARNINGS:])


_FOLDS: dict[type, Fold] = {
    e.GoalAmended: _goal_amended,
    e.BaselineTaken: _baseline_taken,
    e.RevisionChanged: _revision_changed,
    e.RevisionConfirmed: _revision_confirmed,
    e.CheckpointTaken: _checkpoint_taken,
    e.TurnStarted: turn.turn_started,
    e.TurnFinished: turn.turn_finished,
    e.AuditStarted: audit.audit_started,
    e.CheckStarted: _unchanged,
    e.EvidenceRecorded: audit.evidence_recorded,
    e.AuditFinished: audit.audit_finished,
    e.JudgeStarted: audit.judge_started,
    e.JudgeFinished: audit.judge_finished,
    e.ClaimJudged: audit.claim_judged,
    e.TrialsStarted: audit.trials_started,
    e.TrialsFinished: audit.trials_finished,
    e.Abandoned: _abandoned,
    c.CallStarted: turn.call_started,
    c.CallRetried: turn.call_retried,
    c.CallFinished: turn.call_finished,
    c.MessageKept: turn.message_kept,
    c.ToolStarted: _unchanged,
    c.ToolFinished: turn.tool_finished,
    c.ConversationCompacted: turn.compacted,
    c.BudgetReached: turn.budget_reached,
    p.RunHalted: turn.run_halted,
    p.HaltResumed: turn.halt_resumed,
    p.PluginStateSet: turn.plugin_state_set,
    p.PluginOff: turn.plugin_off,
    e.PersonDecided: _person_decided,
    e.InterruptOpened: _interrupt_opened,
    e.InterruptAnswered: _interrupt_answered,
    e.LimitsRaised: _limits_raised,
    e.Requested: _requested,
    e.RunPaused: _run_paused,
    e.RunInterrupted: _run_interrupted,
    e.RunResumed: _run_resumed,
    e.RunEnded: _run_ended,
    e.FilesReverted: _files_reverted,
    e.Warned: _warned,
    e.GuardSet: audit.guard_set,
}
