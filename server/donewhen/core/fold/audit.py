"""How audits by checks and by the judge, trials, and a guard change a run's state."""

from __future__ import annotations

from collections.abc import Iterable

from donewhen.core import events as e
from donewhen.core.changing import replace
from donewhen.core.evidence import (
    AffectedRun,
    CheckResult,
    EditorReport,
    Evidence,
    ObservedCommand,
    ObservedResponse,
    PastResult,
    Trial,
    proves,
)
from donewhen.core.fold.turn import charge_open_calls, judge_paid, refresh_iteration
from donewhen.core.globs import literal
from donewhen.core.integrity import PROOF_FINDINGS, TRIAL_FINDINGS, IntegrityFinding
from donewhen.core.proof import NOT_AFTER_A_FAILURE, STABLE_PASSES, assess, audit_unsettled, guardable
from donewhen.core.state import (
    KEPT_COMMANDS,
    KEPT_HISTORY,
    KEPT_OLD_COMMANDS,
    MAX_EDITS,
    MAX_OUTAGES,
    MAX_RAISED,
    CheckRecord,
    Edit,
    Guard,
    Judged,
    KnownFinding,
    OpenAudit,
    RaisedFinding,
    RunState,
    Tried,
)
from donewhen.core.trials.outcome import said_at_start
from donewhen.core.verdict import RequirementVerdict
from donewhen.core.work import Actor


def audit_started(state: RunState, event: e.AuditStarted, at: float) -> RunState:
    resuming = state.plugins.resuming
    if resuming is not None and resuming.halt.stage in ("before_audit", "after_verdict"):
        resuming = None
    external = [requirement for requirement in state.goal.requirements if requirement.external]
    judged = {**state.judge.judged}
    for requirement in external:
        if requirement.id in judged:
            judged[requirement.id] = replace(judged[requirement.id], stale=True)
    again = {check.id for requirement in external for check in requirement.checks}
    return replace(
        state,
        auditing=replace(state.auditing, open=OpenAudit(event.iteration, event.revision), due=True),
        plugins=replace(state.plugins, resuming=resuming),
        judge=replace(state.judge, judged=judged),
        checks={
            key: record if record.look_again == (key in again) else replace(record, look_again=key in again)
            for key, record in state.checks.items()
        },
    )


def evidence_recorded(state: RunState, event: e.EvidenceRecorded, at: float) -> RunState:
    evidence = event.evidence
    observation = evidence.observation
    # The highest number given to a piece of evidence (`E7`) is remembered: no id is given twice.
    number = evidence.id.removeprefix("E")
    count = max(state.evidence.count, int(number) if number.isdigit() else 0)
    state = replace(state, evidence=replace(state.evidence, count=count))
    if isinstance(observation, AffectedRun):
        key = observation.check_id
        return replace(state, checks={**state.checks, key: replace(state.check(key), affected=evidence)})
    if isinstance(observation, ObservedResponse) and state.goal.about != "response":
        return state  # what a worker says proves nothing about files, and can't be cited
    state = replace(state, evidence=replace(state.evidence, citable=_recorded(state, evidence)))
    match observation:
        case CheckResult():
            return _check_finished(state, evidence, observation)
        case EditorReport(requirement_id=key):
            editor = {**state.evidence.editor, key: evidence}
            return replace(state, evidence=replace(state.evidence, editor=editor))
        case ObservedCommand():
            # In their order: those of the present revision, and the latest of the others, each up to a bound.
            commands = (*state.evidence.commands, evidence)
            fresh = [at for at, one in enumerate(commands) if one.fresh(state.revision)]
            old = [at for at, one in enumerate(commands) if not one.fresh(state.revision)]
            kept = tuple(commands[at] for at in sorted((*fresh[-KEPT_COMMANDS:], *old[-KEPT_OLD_COMMANDS:])))
            return replace(state, evidence=replace(state.evidence, commands=kept))
        case ObservedResponse():
            return replace(state, last_turn=replace(state.last_turn, response=evidence))
        case Trial():
            tried = (*state.trial.evidence_ids, evidence.id)
            return replace(state, trial=replace(state.trial, evidence_ids=tried))
        case _:
            return state


def _check_finished(state: RunState, evidence: Evidence, observation: CheckResult) -> RunState:
    key = observation.check_id
    before = state.check(key)
    # What looks outside of the workspace may say something else each time.
    outside = key in state.goal.outside_checks
    earlier = before.earlier
    if before.latest is not None and not observation.outcome.decides:
        # It takes the place of the last result, which is still to be compared with.
        earlier = remembered(before.latest, before.streak) or before.earlier
    record = replace(
        before,
        latest=evidence,
        affected=None,
        look_again=False,
        streak=before.streak if outside else _streak(before, evidence, observation),
        earlier=earlier,
        history=_history(before, evidence),
        is_test_run=before.is_test_run or observation.is_test_run or bool(observation.tests),
    )
    if not (evidence.turn or state.turn is not None or state.redo is not None):
        # What a check says is what it said at the start until a worker worked.
        tests = {test.name: test.outcome for test in observation.tests}
        record = replace(record, at_start=said_at_start(observation), tests_at_start=tests)
    checks = dict(state.checks)
    if before.latest is None:
        checks.pop(key, None)  # what runs now stands behind what ran before it
    checks[key] = record
    return replace(count_failures(state, evidence, observation), checks=checks)


def _streak(before: CheckRecord, evidence: Evidence, result: CheckResult) -> int | None:
    """Different results at one revision make a check flaky; three passes in a row make it stable again."""
    if before.streak is not None:
        passes = before.streak + 1 if result.passed else 0
        return passes if passes < STABLE_PASSES else None
    last = remembered(before.latest) if before.latest is not None else None
    differs = any(
        # Both decided, at one unmoved revision and in one environment, and not alike.
        one is not None
        and one.revision == evidence.revision == evidence.revision_after
        and one.environment == result.environment
        and result.outcome.decides
        and one.passed != result.passed
        for one in (last or before.earlier, *before.history)
    )
    return int(result.passed) if differs else None


def _history(before: CheckRecord, evidence: Evidence) -> tuple[PastResult, ...]:
    """Of each revision and environment the last result, of so many as an undo may reach."""
    now = remembered(evidence)
    if now is None:
        return before.history
    others = [one for one in before.history if (one.revision, one.environment) != (now.revision, now.environment)]
    return (*others, now)[-KEPT_HISTORY:]


def remembered(evidence: Evidence, flaky: int | None = None) -> PastResult | None:
    """What later runs compare with; None where it decided nothing, or files changed meanwhile."""
    result = evidence.observation
    if not isinstance(result, CheckResult) or not result.outcome.decides:
        return None
    if evidence.revision != evidence.revision_after:
        return None
    return PastResult(result.check_id, evidence.revision, result.environment, result.passed, flaky)


def _recorded(state: RunState, evidence: Evidence) -> dict[str, str]:
    """What may be cited: evidence of the present revision only, and only while it lasts; never an empty one."""
    # A command may be cited again where files came back to what they were when it ran.
    ran = {one.id for one in state.evidence.commands}
    kept = {
        key: revision for key, revision in state.evidence.citable.items() if revision == state.revision or key in ran
    }
    if evidence.citable(state.revision):
        kept[evidence.id] = evidence.revision
    return kept


def audit_finished(state: RunState, event: e.AuditFinished, at: float) -> RunState:
    found = event.findings
    # A tree that was tried is not tried again: what refused it then does so again, whatever the tree was in between.
    if state.trial.last is not None and state.trial.last.revision == event.revision:
        found += state.trial.last.findings
    after = replace(state, findings=_with_found(state, found))
    before = {(one.finding.key, one.finding.fact) for one in state.open_findings}
    changed = {(one.finding.key, one.finding.fact) for one in after.open_findings} != before
    finished = replace(
        after,
        auditing=replace(
            after.auditing,
            open=None,
            count=state.auditing.count + 1,
            due=event.revision != state.revision or (state.auditing.open is not None and state.auditing.open.amended),
        ),
        interrupts=tuple(i for i in state.interrupts if not changed or i.about != "findings"),
    )
    return refresh_iteration(update_guard(audit_unsettled(with_raised(finished)), at))


def with_raised(state: RunState, *, tried: bool = False) -> RunState:
    """With what is open now among what was raised, and what is gone as undone: after an audit what was read, after
    trials (`tried`) what they find."""
    number = max((one.number for one in state.raised_findings), default=0)
    findings: dict[str, KnownFinding] = {}
    for key, known in state.findings.items():
        raised = known.raised
        if raised is not None and known.present:
            raised = replace(raised, until=state.iteration, undone=None)
        elif raised is not None:
            if raised.undone is None and (known.finding.kind in TRIAL_FINDINGS) == tried:
                raised = replace(raised, undone=state.iteration)
        elif known.present and not known.accepted:
            number += 1
            seen = replace(known.finding, diff="", places=())
            raised = RaisedFinding(number, known.id, seen, state.iteration, state.iteration)
        findings[key] = known if raised is known.raised else replace(known, raised=raised)
    for key, known in findings.items():
        if known.raised is not None and known.raised.number <= number - MAX_RAISED:
            findings[key] = replace(known, raised=None)
    return replace(state, findings=findings)


def without_settled_question(state: RunState) -> RunState:
    """The question about findings goes with the last of them that is open."""
    if state.open_findings:
        return state
    return replace(state, interrupts=tuple(i for i in state.interrupts if i.about != "findings"))


def _with_found(state: RunState, found: Iterable[IntegrityFinding], *, tried: bool = False) -> dict[str, KnownFinding]:
    """What is known of findings once these were found, in that order, and no other: by an audit, or by trials
    (`tried`), which say nothing of what was read. The same finding keeps its id; an acceptance holds for the fact that
    was accepted only."""
    known = {
        key: one.gone() if one.present and (not tried or one.finding.kind in TRIAL_FINDINGS) else one
        for key, one in state.findings.items()
    }
    here = set[str]()
    for finding in found:
        if finding.key in here and not known[finding.key].accepted:
            continue  # of several of one key, an accepted one hides no open one
        here.add(finding.key)
        now = known.pop(finding.key, None) or KnownFinding(f"F{len(known) + 1}", finding, since=state.turns_ended)
        fact, why = now.acceptance or (None, "")
        known[finding.key] = replace(
            now,
            finding=finding,
            accepted=fact == finding.fact or bool(finding.standing),
            reason=why if fact == finding.fact else finding.standing,
            before=state.tree_before(finding),
            present=True,
        )
    return known


def audit_abandoned(state: RunState, event: e.Abandoned, at: float) -> RunState:
    return replace(state, auditing=replace(state.auditing, open=None, due=True))


def judge_started(state: RunState, event: e.JudgeStarted, at: float) -> RunState:
    return replace(state, judge=replace(state.judge, deciding=event.requirement_ids, disturbed=None))


def judge_finished(state: RunState, event: e.JudgeFinished, at: float) -> RunState:
    """Takes a verdict in: strictly, and not at all where the revision moved meanwhile, even if it came back."""
    state = judge_paid(charge_open_calls(state, "judge"), event.usage)
    counted = replace(state, judge=replace(state.judge, deciding=(), outages=0, outage_reason="", score=event.score))
    if state.judge.disturbed is not None or not event.revision == event.revision_after == state.revision:
        dropped = state.judge.dropped + (state.judge.disturbed != "person")
        return replace(counted, judge=replace(counted.judge, dropped=dropped))
    if event.verdict is not None and event.verdict.answers(event.requirement_ids):
        verdicts = [_cited(state, finding) for finding in event.verdict.findings]
    else:
        reason = event.reason or "the judge's reply did not name each requirement exactly once"
        verdicts = [RequirementVerdict(key, "unverified", reason) for key in event.requirement_ids]
    judged = dict(state.judge.judged)
    for verdict in verdicts:
        scope, one_turn = _scope(state, event, verdict), _holds_one_turn(state, event, verdict.requirement_id)
        judged[verdict.requirement_id] = Judged(verdict, event.revision, scope, one_turn=one_turn)
    # What the judge misses, a worker can still do.
    missing = any(judged[one].verdict.finding != "met" for one in event.requirement_ids if one in judged)
    return refresh_iteration(
        replace(
            counted,
            judge=replace(counted.judge, judged=judged, dropped=0),
            auditing=replace(counted.auditing, unsettled=None if missing else state.auditing.unsettled),
        )
    )


def _cited(state: RunState, finding: RequirementVerdict) -> RequirementVerdict:
    """`met` stands only with evidence that the server recorded, that is fresh and shows something, and never on a turn
    that failed."""
    if finding.finding != "met":
        return finding
    if state.last_turn.error is not None:
        return replace(finding, finding="unverified", reason=NOT_AFTER_A_FAILURE, evidence_ids=())
    if not finding.evidence_ids:
        return replace(finding, finding="unverified", reason="the judge cited no evidence")
    undecided = {one.id for one in state.check_evidence if not proves(one.observation)}
    unknown = [
        key for key in finding.evidence_ids if state.evidence.citable.get(key) != state.revision or key in undecided
    ]
    if unknown:
        reason = f"the judge cited evidence that is not on record, not fresh, or empty: {', '.join(unknown)}"
        return replace(finding, finding="unverified", reason=reason, evidence_ids=())
    return finding


def _holds_one_turn(state: RunState, event: e.JudgeFinished, key: str) -> bool:
    """What a turn does may change more than files: the response, a thing outside of the workspace, or what a judge
    looked at that is a program and doesn't say which files it saw. A model sees what it is shown."""
    requirement = state.goal.requirement(key)
    program = state.options.judging is None and key not in event.shown
    return state.goal.about == "response" or program or (requirement is not None and requirement.external)


def _scope(state: RunState, event: e.JudgeFinished, finding: RequirementVerdict) -> tuple[str, ...]:
    """The files that the requirement names and those that the judge was shown for it. Where it names none, or what the
    judge saw isn't known, everything (product.md, the soundness rule). So it is where the verdict rests on what ran:
    that holds for the whole revision."""
    requirement = state.goal.requirement(finding.requirement_id)
    shown = event.shown.get(finding.requirement_id)
    ran = {one.id for one in (*state.audit_evidence, *state.evidence.commands)}
    if requirement is None or not requirement.files or shown is None or ran & set(finding.evidence_ids):
        return ()
    return tuple(dict.fromkeys((*requirement.files, *(literal(path) for path in shown))))


def claim_judged(state: RunState, event: e.ClaimJudged, at: float) -> RunState:
    """A confirmed claim ends the run; any other is for a person, as is what a weak judge confirms."""
    state = judge_paid(charge_open_calls(state, "judge"), event.usage)
    state = replace(state, judge=replace(state.judge, deciding=(), outages=0, outage_reason=""))
    claim = state.last_turn.claim
    if claim is None:
        return state
    fresh = all(state.evidence.citable.get(key) == state.revision for key in event.evidence_ids)
    cited = event.evidence_ids and fresh and state.judge.disturbed is None and not state.options.weak_judge
    if event.confirmed and cited and (claim.state == "blocked" or claim.state == "impossible"):
        state = with_ending(state, claim.state, f"{claim.text} (the judge confirms: {event.reason})")
        return replace(state, last_turn=replace(state.last_turn, claim=None))
    return replace(state, last_turn=replace(state.last_turn, claim_judged=event.reason))


def with_ending(state: RunState, status: e.EndStatus, reason: str) -> RunState:
    """The run, to end in this way as soon as it is decided what comes next."""
    return replace(state, lifecycle=replace(state.lifecycle, ending=(status, reason)))


def judge_abandoned(state: RunState, event: e.Abandoned, at: float) -> RunState:
    state = judge_paid(charge_open_calls(state, "judge"), event.usage)
    return replace(
        state,
        judge=replace(
            state.judge,
            deciding=(),
            outages=MAX_OUTAGES if event.final else state.judge.outages + 1,
            outage_reason=event.reason,
        ),
        calls=replace(state.calls, trouble=event.trouble or state.calls.trouble),
    )


# Trials.


def trials_started(state: RunState, event: e.TrialsStarted, at: float) -> RunState:
    return replace(state, trial=replace(state.trial, running=True, evidence_ids=()))


def trials_finished(state: RunState, event: e.TrialsFinished, at: float) -> RunState:
    """What was tried at a revision that is no more says nothing."""
    ended = judge_paid(
        charge_open_calls(replace(state, trial=replace(state.trial, running=False)), "judge"), event.usage
    )
    if event.revision != state.revision:
        return ended
    finished = replace(
        ended,
        trial=replace(
            ended.trial,
            last=Tried(event.revision, event.findings, event.grades, event.changed, event.advice, state.turns_ended),
        ),
        findings=_with_found(state, event.findings, tried=True),
    )
    return refresh_iteration(with_raised(finished, tried=True))


def trials_abandoned(state: RunState, event: e.Abandoned, at: float) -> RunState:
    charged = charge_open_calls(state, "judge")
    return replace(charged, trial=replace(charged.trial, running=False))


def accepted(state: RunState, known: KnownFinding, *, undo: bool) -> RunState:
    """A person who accepts what a trial found takes the proof as it is now for the original; see `RunState.agreed`."""
    if known.finding.kind not in PROOF_FINDINGS or state.trial.last is None:
        return state
    changed = dict.fromkeys(state.trial.last.changed, "")
    agreed = {**state.trial.agreed, **changed}
    if undo:
        agreed = {path: kept for path, kept in state.trial.agreed.items() if path not in changed or kept}
    return replace(state, trial=replace(state.trial, agreed=agreed))


# A goal on guard.


def guard_set(state: RunState, event: e.GuardSet, at: float) -> RunState:
    if event.by is None:
        return replace(state, guard=None, auditing=replace(state.auditing, open=None))
    return on_guard(state, at, event.by) if guardable(state) else state


def on_guard(state: RunState, at: float, by: str) -> RunState:
    """The state from which on what is met counts as proven: it must not get lost unnoticed."""
    good = {view.requirement_id: state.revision for view in assess(state) if view.status == "met"}
    return replace(state, guard=Guard(at, by, good))


def edited(state: RunState, event: e.RevisionChanged) -> RunState:
    """What changed since the requirements were met, bounded: the oldest edits become one."""
    guard = state.guard
    if guard is None:
        return state
    edits = (*guard.edits, Edit(event.revision, event.paths, event.by, event.total))
    if len(edits) > MAX_EDITS:
        first, second = edits[0], edits[1]
        by: Actor = first.by if first.by == second.by else "check"
        paths = tuple(dict.fromkeys((*first.paths, *second.paths)))
        edits = (Edit(second.revision, paths, by, len(paths)), *edits[2:])
    return replace(state, guard=replace(guard, edits=edits, failed={}))


def count_failures(state: RunState, evidence: Evidence, result: CheckResult) -> RunState:
    """Counts how often a check failed at one revision: once may be chance."""
    guard = state.guard
    if guard is None:
        return state
    failed = {key: times for key, times in guard.failed.items() if key != result.check_id}
    if result.outcome.decides and not result.passed and evidence.fresh(state.revision):
        failed[result.check_id] = guard.failed.get(result.check_id, 0) + 1
    return replace(state, guard=replace(guard, failed=failed))


def update_guard(state: RunState, at: float) -> RunState:
    """After an audit: what is met again is good, what fails that was met has regressed."""
    guard = state.guard
    if guard is None:
        return state
    views = assess(replace(state, guard=None))
    good, regressions = dict(guard.good), dict(guard.regressions)
    for view in views:
        key = view.requirement_id
        if view.status == "met":
            good[key] = state.revision
            regressions.pop(key, None)
        elif view.status == "unmet" and key in good and key not in regressions:
            regressions[key] = guard.between(good[key], state.revision, at)
    known = {view.requirement_id for view in views}
    good = {key: value for key, value in good.items() if key in known}
    regressions = {key: value for key, value in regressions.items() if key in known}
    settled = all(value == state.revision for value in good.values())
    edits = () if settled else guard.edits
    return replace(state, guard=replace(guard, good=good, regressions=regressions, edits=edits))
