"""What is proven: the soundness rule (product.md), as pure functions of a run's state. `assess` gives the status of
each requirement; `proven` is the only gate to `complete`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from donewhen.core import events as e
from donewhen.core.changing import VIEWS, replace
from donewhen.core.evidence import (
    AffectedRun,
    CheckResult,
    EditorReport,
    Evidence,
    Problem,
    first_problems,
    reason_text,
)
from donewhen.core.globs import any_matches
from donewhen.core.goal import Check, Requirement
from donewhen.core.state import MAX_DROPPED, Judged, KnownFinding, RunState, Unsettled
from donewhen.core.verdict import PROVEN, DecidedBy, Grade, RequirementStatus, RequirementView
from donewhen.core.words import counted, listed

STABLE_PASSES = 3
NOT_AFTER_A_FAILURE = "the last turn failed: the judge is asked once a turn ends without an error"


@dataclass(frozen=True, slots=True)
class _Proof:
    """Where one bound check, or the editor's report, stands."""

    status: RequirementStatus
    reason: str
    evidence_ids: tuple[str, ...] = ()
    flaky: bool = False
    renewing: bool = False


def assess(state: RunState) -> tuple[RequirementView, ...]:
    """One view per requirement of the goal, in its order; worked out once for each state."""
    known: tuple[RequirementView, ...] | None = vars(state).get(VIEWS)
    if known is None:
        views = ((one, _guarded(state, one, _view(state, one))) for one in state.goal.requirements)
        known = vars(state)[VIEWS] = tuple(
            replace(view, grade=_grade(state, one, view), refused=_refused(state, one, view)) for one, view in views
        )
    return known


def proven(state: RunState) -> bool:
    """The soundness rule: every requirement met or waived, every proof fresh and made after the last turn, and no
    integrity finding left open. What a worker or a judge says can't make this true."""
    settled = state.turn is None and state.redo is None and state.auditing.open is None and not state.judge.deciding
    settled = settled and not state.trial.running
    return (
        state.mode == "pursue"
        and settled
        and not state.auditing.due
        and not state.open_findings
        and all(view.status in PROVEN for view in assess(state))
        and not needed_checks(state)
        and not needed_editor_reports(state)
    )


def trials_due(state: RunState) -> bool:
    """True where all that is left before completion is to try this tree, which was not tried yet: the checks where a
    worker worked, and what is held out wherever it is."""
    if state.guard is not None or state.goal.about != "workspace":
        return False
    work, tried = work_to_try(state), state.trial.last
    if tried is not None and tried.revision == state.revision and (tried.turns or not work):
        return False
    return bool(state.options.hidden_checks or (work and tried_checks(state))) and proven(state)


def work_to_try(state: RunState) -> bool:
    """True where a worker worked, and its work can be told from the start: before that, and where a person works, only
    what is held out is tried."""
    by_a_worker = state.options.trials and not state.persons_work and state.turns_ended > 0
    return by_a_worker and state.files.first_checkpoint is not None


def tried_checks(state: RunState) -> tuple[Check, ...]:
    """The checks whose pass trials confirm: commands that no person waived. What a plugin brings (`check:NAME`) runs in
    the server, and in no room."""
    commands = (check for check in bound_checks(state) if check.kind == "command")
    return tuple(check for check in commands if not check.command.startswith("check:"))


def bound_checks(state: RunState) -> tuple[Check, ...]:
    """The checks that prove something, each once: those of waived requirements alone are left out."""
    bound = (one for one in state.goal.requirements if one.id not in state.waived)
    return tuple({check.id: check for one in bound for check in one.checks}.values())


def guardable(state: RunState) -> bool:
    """True for a run that is complete: what it has proven can be kept so."""
    return state.lifecycle.ended and state.mode == "pursue" and state.lifecycle.end_status == "complete"


def satisfied(state: RunState) -> bool:
    """As `proven`, for a bare audit: nothing is unmet, unverified or stale."""
    return not state.open_findings and all(view.status in PROVEN for view in assess(state))


def needed_checks(state: RunState) -> tuple[Check, ...]:
    """The bound checks without a usable result, those that failed last first."""
    wanted = [check for check in bound_checks(state) if not _usable(state, check)]
    failed = {one.check_id for one in state.check_results if not one.passed}
    return tuple(sorted(wanted, key=lambda check: check.id not in failed))


def needed_editor_reports(state: RunState) -> tuple[Requirement, ...]:
    """Requirements with `problems` globs whose editor report is missing or old."""
    return tuple(
        requirement
        for requirement in state.goal.requirements
        if requirement.problems
        and requirement.id not in state.waived
        and not _current(state, state.evidence.editor.get(requirement.id))
    )


def needed_judgements(state: RunState) -> tuple[Requirement, ...]:
    """What the judge is to be asked about: never before the first turn, never on a turn that failed, whatever it left
    behind, never while a check fails or an integrity finding is open (cheaper, and safer)."""
    return () if state.open_findings else _for_the_judge(state)


def findings_alone(state: RunState) -> bool:
    """True where open integrity findings are all that a person can settle now, and nothing is left that a worker could
    do: every requirement is met or waived, waits for the judge, who isn't asked before, or for a person."""
    if not state.open_findings:
        return False
    unsettled = {view.requirement_id for view in assess(state) if view.status not in PROVEN}
    waiting = {requirement.id for requirement in _for_the_judge(state)}
    left = [one for one in state.goal.requirements if one.id in unsettled and one.id not in waiting]
    return all(undecidable(state, requirement) for requirement in left)


def _for_the_judge(state: RunState) -> tuple[Requirement, ...]:
    """What only the judge's verdict is missing for."""
    if state.options.judge is None or (state.mode == "pursue" and state.turns_ended == 0 and not state.judge.taken):
        return ()
    if state.last_turn.error is not None or state.judge.dropped >= MAX_DROPPED:
        return ()
    if state.goal.about == "response" and state.last_turn.response is None:
        return ()
    return tuple(requirement for requirement in state.goal.requirements if _wants_judge(state, requirement))


def undecidable(state: RunState, requirement: Requirement) -> bool:
    """True where neither a check nor the judge can decide it at this revision: only a person can."""
    if requirement.problems and _in_doubt(state, requirement):
        return all(_check_proof(state, check).status == "met" for check in requirement.checks)
    if weakly_met(state, requirement):
        return all(proof.status == "met" for proof in _proofs(state, requirement))
    if requirement.checks or (requirement.problems and state.options.judge is None):
        return False
    if state.options.judge is None:
        return True
    judged = state.judge.judged.get(requirement.id)
    return judged is not None and not judged.stale and judged.verdict.finding == "unverified"


def weakly_met(state: RunState, requirement: Requirement) -> bool:
    """True where the word of a weak judge is all that says that it is met: that proves nothing."""
    judged = state.judge.judged.get(requirement.id)
    return state.options.weak_judge and judged is not None and not judged.stale and judged.verdict.finding == "met"


def _in_doubt(state: RunState, requirement: Requirement) -> bool:
    """True where the editor says nothing about the files on the disk. Worker `human` saves and opens files itself."""
    evidence = state.evidence.editor.get(requirement.id)
    if evidence is None or not isinstance(evidence.observation, EditorReport):
        return False
    report = evidence.observation
    if state.waits_for_person:
        return not report.forwarded
    return bool(report.doubt) and not report.errors and evidence.fresh(state.revision)


def unmet_signature(state: RunState) -> str:
    """Identity of what an iteration ended with: the same one `stall_after` times in a row is a stall."""
    views = [f"{v.requirement_id}\0{v.status}\0{_stable(state, v)}" for v in assess(state) if v.status not in PROVEN]
    findings = [known.finding.key for known in state.open_findings]
    parts = [state.revision, state.last_turn.response_digest, state.last_turn.error or "", *views, *findings]
    return hashlib.sha256("\1".join(parts).encode("utf-8", "replace")).hexdigest()


def _stable(state: RunState, view: RequirementView) -> str:
    """What is behind a view's reason, without what a check says differently each time: addresses, times, an order."""
    cited = [evidence for evidence in state.check_evidence if evidence.id in view.evidence_ids]
    results = [one.observation for one in cited if isinstance(one.observation, CheckResult)]
    if not any(not result.passed for result in results):
        return view.reason
    return repr([
        (r.check_id, r.outcome, r.exit_code, len(r.problems), sorted(t.name for t in r.tests if t.outcome != "passed"))
        for r in results
    ])  # fmt: skip


def _view(state: RunState, requirement: Requirement) -> RequirementView:
    view = RequirementView(requirement.id, requirement.number, "unverified", "")
    if requirement.id in state.waived:
        return replace(view, status="waived", reason=f"waived: {state.waived[requirement.id]}", decided_by="person")
    proofs = _proofs(state, requirement)
    worst = min(proofs, key=lambda proof: _GRAVITY.index(proof.status), default=None)
    if worst is not None and worst.status != "met":
        return replace(
            view,
            status=worst.status,
            reason=worst.reason,
            evidence_ids=worst.evidence_ids,
            decided_by="check" if worst.status in ("unmet", "stale") else None,
            flaky=worst.flaky,
            renewing=worst.renewing,
        )
    if state.options.judge is not None and not requirement.sole_check:
        return _judged_view(state, requirement, view)
    if worst is None:
        reason = "nothing can decide this: add a check (- check: `COMMAND`), choose a judge (judge_model), or waive it"
        return replace(view, reason=reason)
    ids = tuple(identity for proof in proofs for identity in proof.evidence_ids)
    return replace(
        view,
        status="met",
        reason="; ".join(dict.fromkeys(proof.reason for proof in proofs)),
        evidence_ids=ids,
        decided_by="check",
        renewing=any(proof.renewing for proof in proofs),
    )


def _guarded(state: RunState, requirement: Requirement, view: RequirementView) -> RequirementView:
    """On guard, what was met and fails has regressed, once an audit says so; until then it is being proven again."""
    guard = state.guard
    if guard is None or view.status != "unmet" or view.requirement_id not in guard.good:
        return view
    known = guard.regressions.get(view.requirement_id)
    if known is None and any(_failing_affected(state, check) for check in requirement.checks):
        return view  # whether it has regressed, the whole check says
    if known is None:
        return replace(view, status="stale", reason="it failed once, and is running again to confirm", renewing=True)
    cause = "it was met before"
    if known.paths:
        more = f" and {known.total - 1} more" if known.total > 1 else ""
        who = {"person": ", by a person", "worker": ", by the worker of another run"}.get(known.by or "", "")
        cause = f"met until {known.paths[0]}{more} changed{who}"
    return replace(view, status="regressed", reason=f"{view.reason} ({cause})")


def _grade(state: RunState, requirement: Requirement, view: RequirementView) -> Grade | None:
    """What the proof is worth; of several checks the weakest counts. A person who accepted a changed proof stands for
    it."""
    if view.status == "waived":
        return "person"
    if view.status != "met" or view.decided_by is None:
        return None
    if view.decided_by == "judge":
        return "weak_judge" if state.judge_is_weak else "judge"
    tried = state.trial.last
    if tried is None or tried.revision != state.revision:
        return None
    if _refused(state, requirement, view):
        return None
    if any(one.accepted for one in _trial_findings(state, requirement)):
        return "person"
    grades: list[Grade] = [tried.grades[check.id] for check in requirement.checks if check.id in tried.grades]
    return max(grades, key=_WORTH.index, default=None)


def _refused(state: RunState, requirement: Requirement, view: RequirementView) -> bool:
    """True if a trial refuses the proof of a requirement that is met."""
    open_ones = (one for one in _trial_findings(state, requirement) if not one.accepted)
    return view.status == "met" and any(one.finding.kind != "not_tried" for one in open_ones)


def _trial_findings(state: RunState, requirement: Requirement) -> list[KnownFinding]:
    """What trials of its checks found."""
    return [
        one for one in state.present_findings if any(one.finding.key.endswith(check.id) for check in requirement.checks)
    ]


_WORTH: tuple[Grade, ...] = ("own", "worker", "untried")


def _proofs(state: RunState, requirement: Requirement) -> list[_Proof]:
    proofs = [_check_proof(state, check) for check in requirement.checks]
    if requirement.problems:
        proofs.append(_editor_proof(state, state.evidence.editor.get(requirement.id)))
    return proofs


_GRAVITY: tuple[RequirementStatus, ...] = ("unmet", "unverified", "stale", "met")


def _failing_affected(state: RunState, check: Check) -> tuple[str, CheckResult] | None:
    """The evidence in which a test failed that the last edit may affect, while the whole check has not said more."""
    evidence = state.check(check.id).affected
    if evidence is None or evidence.turn != state.turns_ended or not evidence.fresh(state.revision):
        return None
    seen = evidence.observation
    return (evidence.id, seen.result) if isinstance(seen, AffectedRun) and seen.failed else None


def _check_proof(state: RunState, check: Check) -> _Proof:
    early = _failing_affected(state, check)
    if early is not None:
        reason = f"`{check.command}`: of the tests that the last edit may affect, {early[1].reason}"
        return _Proof("unmet", reason, (early[0],))
    record = state.check(check.id)
    evidence, result = record.latest, record.result
    if evidence is None or result is None:
        return _Proof("unverified", f"`{check.command}` has not run yet", renewing=state.active and state.auditing.due)
    ids = (evidence.id,)
    renewing = not evidence.fresh(state.revision) and _recheck_pending(state)
    if not result.passed:
        status: RequirementStatus = "unmet" if result.outcome.decides else "unverified"
        return _Proof(status, f"`{check.command}`: {result.reason}", ids, renewing=renewing)
    if record.flaky:
        reason = f"`{check.command}` is flaky: it gave different results for the same files ({record.streak} of {STABLE_PASSES} passes in a row)"  # noqa: E501  # one sentence for people
        return _Proof("unverified", reason, ids, flaky=True, renewing=renewing)
    if evidence.revision != evidence.revision_after:
        known = state.auditing.unsettled
        moved = f": {', '.join(known.paths[:3])}" if known is not None and known.paths else ""
        return _Proof("unverified", f"files changed while `{check.command}` ran{moved}", ids, renewing=renewing)
    if not evidence.fresh(state.revision):
        return _Proof("stale", f"`{check.command}` passed before the last edit", ids, renewing=renewing)
    return _Proof("met", f"`{check.command}`: {result.reason or 'passed'}", ids)


def _editor_proof(state: RunState, evidence: Evidence | None) -> _Proof:
    if evidence is None or not isinstance(evidence.observation, EditorReport):
        return _Proof("unverified", "the editor's diagnostics have not been read yet")
    report, ids, fresh = evidence.observation, (evidence.id,), evidence.fresh(state.revision)
    renewing = not fresh and _recheck_pending(state)
    if report.forwarded and report.errors:
        told = f"the editor reports {counted(len(report.errors), 'error')}"
        return _Proof("unmet", reason_text(told, *first_problems((), report.errors)), ids, renewing=renewing)
    if report.doubt:
        return _Proof("unverified", report.doubt, ids, renewing=renewing)
    if not fresh:
        return _Proof("stale", "the editor's diagnostics are older than the last edit", ids, renewing=renewing)
    return _Proof("met", "the editor reports no error", ids)


def _judged_view(state: RunState, requirement: Requirement, view: RequirementView) -> RequirementView:
    judged = state.judge.judged.get(requirement.id)
    if (judged is None or judged.stale) and state.judge.dropped >= MAX_DROPPED:
        reason = (
            f"files changed while the judge was deciding, {state.judge.dropped} times in a row: stop whatever writes "
            "them, or add them to .gitignore"
        )
        return replace(view, reason=reason)
    if judged is None:
        reason = "the judge has not decided yet"
        if state.last_turn.error is not None:
            reason = NOT_AFTER_A_FAILURE
        elif state.judge.outage_reason:
            reason = f"the judge could not be asked: {state.judge.outage_reason}"
        return replace(view, reason=reason)
    verdict = judged.verdict
    if state.options.weak_judge and verdict.finding == "met":
        said = f"only a weak judge says that it is met, which a person has to confirm: {verdict.reason}"
        return replace(view, reason=said, evidence_ids=verdict.evidence_ids)
    decided: DecidedBy | None = "judge" if verdict.finding != "unverified" else None
    shown = replace(view, reason=verdict.reason, evidence_ids=verdict.evidence_ids, decided_by=decided)
    if judged.stale:
        status = "stale" if verdict.finding == "met" else verdict.finding
        # On guard nobody asks the judge again: that costs, and a person can.
        return replace(shown, status=status, renewing=state.active and _recheck_pending(state))
    return replace(shown, status=verdict.finding)


def _usable(state: RunState, check: Check) -> bool:
    record = state.check(check.id)
    if not _current(state, record.latest) or record.look_again:
        return False
    passing_again = record.flaky and record.result is not None and record.result.passed
    return not passing_again and not _failed_once(state, check)


def _failed_once(state: RunState, check: Check) -> bool:
    """On guard: a check of something that was met has failed, and only once: whether the edit did it, or chance, a
    second run at the same revision tells."""
    guard = state.guard
    if guard is None or guard.failed.get(check.id) != 1:
        return False
    return any(
        check in requirement.checks and requirement.id in guard.good and requirement.id not in guard.regressions
        for requirement in state.goal.requirements
    )


def _current(state: RunState, evidence: Evidence | None) -> bool:
    """Begun after the last turn ended, and nothing changed since."""
    return evidence is not None and evidence.turn == state.turns_ended and evidence.fresh(state.revision)


def _wants_judge(state: RunState, requirement: Requirement) -> bool:
    if requirement.sole_check or requirement.id in state.waived:
        return False
    if any(proof.status != "met" for proof in _proofs(state, requirement)):
        return False
    judged = state.judge.judged.get(requirement.id)
    return judged is None or judged.stale


def _recheck_pending(state: RunState) -> bool:
    pursued = state.active or state.guard is not None
    return pursued and (state.auditing.due or state.auditing.open is not None or state.turn is not None)


# What a result is worth later: a proof counts for the revision at which it was made, whether or not its run
# continues.


@dataclass(frozen=True, slots=True)
class Present:
    """The workspace as it was last looked at beside a run that nobody pursues. `changed` are the paths that count
    otherwise than when the run last looked; None if only the revisions can be compared."""

    revision: str
    changed: tuple[str, ...] | None = ()


def as_of(state: RunState, present: Present | None) -> RunState:
    """The state as its evidence stands now. What was waived stays so: a person's word is not proof that ages."""
    if present is None or present.revision == state.revision:
        return state
    judged = outdated(state, present.changed or (), known=present.changed is not None)
    # A goal on guard is about to be looked at again.
    due = state.auditing.due or state.guard is not None
    return replace(
        state,
        revision=present.revision,
        judge=replace(state.judge, judged=judged),
        auditing=replace(state.auditing, due=due),
    )


def outdated(state: RunState, paths: tuple[str, ...], *, known: bool) -> dict[str, Judged]:
    """The judge's findings after these paths changed, or after others did too where they aren't all `known`."""
    return {
        key: replace(value, stale=True)
        if not known or not value.scope or any(any_matches(value.scope, path) for path in paths)
        else value
        for key, value in state.judge.judged.items()
    }


def locations(state: RunState) -> Mapping[str, tuple[Problem, ...]]:
    """By requirement id: where its failing checks, or the editor, point. Paths are relative to the workspace."""
    found: dict[str, tuple[Problem, ...]] = {}
    for requirement in state.goal.requirements:
        places: list[Problem] = []
        for check in requirement.checks:
            early = _failing_affected(state, check)
            result = early[1] if early is not None else state.check(check.id).result
            if result is not None and not result.passed:
                places += result.problems
        report = state.evidence.editor.get(requirement.id)
        if report is not None and isinstance(report.observation, EditorReport):
            places += [p for p in report.observation.problems if p.severity == "error"]
        found[requirement.id] = tuple({(p.path, p.line, p.message): p for p in places}.values())
    return found


# Files that go on changing without a worker or a person: a build left running, a log, a check that rewrites a source.
#
# A proof holds for the files that it was made with, so such a run would audit for ever, or pay a worker for what no
# worker may be able to stop. The state counts in how many audits in a row nothing but that was in the way, and
# `unsettled_reason` says when it is enough.


ENOUGH = 3
"""Audits in a row after which a run may end."""
PATIENCE = 60.0
"""Seconds of work that are given to what may end by itself, such as a build, where no worker is paid meanwhile."""
MAX_PATHS = 10


def revision_unsettled(before: RunState, after: RunState, event: e.RevisionChanged) -> RunState:
    """`after` another revision came. A person's edit resets the count; a worker's own changes say nothing."""
    if event.by == "person":
        return replace(after, auditing=replace(after.auditing, unsettled=None))
    if event.by != "check" or before.turn is not None:
        return after
    known = before.auditing.unsettled or Unsettled(since=after.elapsed, turn=before.turns_ended)
    paths = tuple(dict.fromkeys((*event.paths, *known.paths)))[:MAX_PATHS]
    # Everything was proven, and is to be proven again: the last look and the trials find such changes.
    undone = before.auditing.open is None and all(view.status in PROVEN for view in assess(before))
    return replace(
        after, auditing=replace(after.auditing, unsettled=replace(known, audits=known.audits + undone, paths=paths))
    )


def audit_unsettled(state: RunState) -> RunState:
    """After an audit: counted where all that it ran passed, and files changed too often for that to be a proof."""
    known = state.auditing.unsettled
    if known is None:
        return state
    results = [state.check(check.id).result for check in bound_checks(state)]
    passed = all(result is not None and result.passed for result in results)
    if not passed or any(record.flaky for record in state.checks.values()):
        return replace(state, auditing=replace(state.auditing, unsettled=None))
    if needed_checks(state):
        return replace(state, auditing=replace(state.auditing, unsettled=replace(known, audits=known.audits + 1)))
    return state if known.audits else replace(state, auditing=replace(state.auditing, unsettled=None))


def unsettled_reason(state: RunState, seconds: float) -> str | None:
    """Why the run ends, so many seconds of work after its last entry; None where it may go on. Workers have been told
    by then, as often as a run may repeat itself (`stall_after`)."""
    known, stall = state.auditing.unsettled, state.limit("stall_after")
    if known is None or known.audits < ENOUGH or state.mode != "pursue" or state.persons_work:
        return None
    # The turn before the first of these audits is one of those that came to nothing else.
    turns = state.turns_ended - max(0, known.turn - 1)
    if state.elapsed_after(seconds) - known.since < PATIENCE and (stall is None or turns < stall):
        return None
    return (
        f"nothing can be proven while files keep changing ({listed(known.paths) or 'which ones is not known'}):"
        " stop whatever writes them, or add them to .gitignore, then resume"
    )
