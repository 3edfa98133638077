"""What must hold whatever fails, held against books of its own: from the entries on record alone, and from what the
machine knows to be true of its files. Nothing of the engine's own state or rules is used here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from donewhen.core import events as e
from donewhen.core.calls import CallFinished, CallStarted
from donewhen.core.evidence import CheckResult, Evidence, ObservedDiff, ObservedFile, Outcome
from donewhen.core.goal import Goal, Limits
from donewhen.core.hints import UNASKED
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.work import Answer, Interrupt, Usage

SLACK = 1e-6


@dataclass
class _Check:
    """The last result of a check, and what it had said since its files last changed."""

    began: int = 0
    evidence: Evidence | None = None
    history: list[tuple[str, bool]] = field(default_factory=list)


@dataclass
class Books:
    """The books of one run. `truths` are the checks that truly pass, by revision; `broken` is what must not have
    been."""

    truths: Mapping[str, frozenset[str]]
    persons_goals: list[Goal]
    broken: list[str] = field(default_factory=list)
    position: int = 0
    goal: Goal | None = None
    file_limits: Limits | None = None
    """The limits that the goal file said last: those that apply may have been raised since."""
    mode: str = "pursue"
    human: bool = False
    """Then limits that nobody set explicitly don't apply."""
    revision: str = ""
    confirmed: str = ""
    last_turn_end: int = 0
    turn: int | None = None
    last_iteration: int = 0
    failed: bool = False
    finished: dict[int, int] = field(default_factory=dict)
    """By iteration, the entry with the result of its turn."""
    checks: dict[str, _Check] = field(default_factory=dict)
    citable: dict[str, str] = field(default_factory=dict)
    met: set[str] = field(default_factory=set)
    waived: set[str] = field(default_factory=set)
    findings: dict[str, dict[str, str]] = field(default_factory=dict)
    """By who found them, the facts that are open, by key."""
    standing: set[tuple[str, str]] = field(default_factory=set)
    ids: dict[str, str] = field(default_factory=dict)
    accepted: set[tuple[str, str]] = field(default_factory=set)
    interrupts: dict[str, Interrupt] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    """By interrupt, the text of the answer that counts."""
    spent: Usage = field(default_factory=Usage)
    open_calls: dict[str, CallStarted] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)
    answered_calls: set[str] = field(default_factory=set)
    hints: dict[str, int] = field(default_factory=dict)
    """Hints that no finished turn has been told, with the entries that they are."""
    status: str | None = None
    ended: bool = False

    def write(self, entry: e.Entry) -> None:
        self.position += 1
        if entry.sequence != self.position:
            self.broken.append(f"entry {entry.sequence} stands where {self.position} belongs")
        if entry.seconds is not None and entry.seconds < 0:
            self.broken.append(f"entry {entry.sequence} took {entry.seconds} s")
        self._requirements(entry.event)
        self._turns(entry.event)
        self._people(entry.event)
        self._money(entry.event)

    # ------------------------------------------------------------------------------------- soundness

    def _requirements(self, event: e.Event) -> None:  # noqa: C901  # one branch for each kind of event is what books are
        match event:
            case e.RunStarted(goal=goal, mode=mode, revision=revision, options=options):
                self.human = options.worker == "human"
                self.goal, self.mode, self.revision, self.file_limits = goal, mode, revision, goal.limits
            case e.GoalAmended(goal=goal):
                self._amended(goal)
            case e.RevisionChanged(revision=revision):
                self.revision, self.confirmed = revision, ""
                self.met.clear()
            case e.LimitsRaised(limits=limits) if self.goal is not None:
                self.goal = replace(self.goal, limits=limits)
            case e.RevisionConfirmed(revision=revision):
                self.confirmed = revision
            case e.CheckStarted(check_id=key):
                self.checks.setdefault(key, _Check()).began = self.position
            case e.EvidenceRecorded(evidence=evidence):
                seen = evidence.observation
                if isinstance(seen, CheckResult):
                    self._checked(evidence, seen)
                if isinstance(seen, ObservedFile) or (isinstance(seen, ObservedDiff) and seen.paths):
                    self.citable[evidence.id] = evidence.revision
            case e.AuditFinished(findings=findings):
                self._found("audit", findings)
            case e.TrialsFinished(findings=findings):
                self._found("trials", findings)
            case e.JudgeFinished():
                self._judged(event)
            case e.RunEnded(status=status):
                self.status, self.ended = status, True
                if status == "complete":
                    self._completes()
            case e.RunResumed():
                self.status, self.ended = None, False
            case _:
                pass

    def _amended(self, goal: Goal) -> None:
        assert self.goal is not None
        known = [one.requirements for one in self.persons_goals]
        # A check takes the goal file as it is, whoever wrote it, when it begins and when the file changes meanwhile.
        if self.mode == "pursue" and goal.requirements not in known and not self.accepted:
            self.broken.append("the goal was amended to what no person wrote or accepted")
        same = {one.id for one in goal.requirements if one in self.goal.requirements}
        self.met &= same
        self.waived &= {one.id for one in goal.requirements}
        limits = self.goal.limits if goal.limits == self.file_limits else goal.limits
        self.goal, self.file_limits = replace(goal, limits=limits), goal.limits

    def _checked(self, evidence: Evidence, result: CheckResult) -> None:
        known = self.checks.setdefault(result.check_id, _Check())
        known.evidence = evidence
        if evidence.revision == evidence.revision_after and result.outcome is not Outcome.NOT_RUN:  # which says nothing
            known.history.append((evidence.revision, result.outcome is Outcome.PASSED))
        if evidence.revision == evidence.revision_after == self.revision:
            self.citable[evidence.id] = evidence.revision

    def _found(self, by: str, findings: tuple[IntegrityFinding, ...]) -> None:
        self.findings[by] = {one.key: one.fact for one in findings}
        for one in findings:
            self.ids.setdefault(one.key, f"F{len(self.ids) + 1}")
            if one.standing:
                self.standing.add((one.key, one.fact))

    def _judged(self, event: e.JudgeFinished) -> None:
        if event.verdict is None or self.failed or not event.verdict.answers(event.requirement_ids):
            return
        for one in event.verdict.findings:
            self.met.discard(one.requirement_id)
            if one.finding != "met" or not event.revision == event.revision_after == self.revision:
                continue
            if one.evidence_ids and all(self.citable.get(key) == self.revision for key in one.evidence_ids):
                self.met.add(one.requirement_id)

    def _completes(self) -> None:
        if self.turn is not None:
            self.broken.append("complete in the middle of a turn")
        if self.confirmed != self.revision:
            self.broken.append("complete without a last look at the whole workspace")
        found = {(key, fact) for one in self.findings.values() for key, fact in one.items()}
        for key, _ in found - self.accepted - self.standing:
            self.broken.append(f"complete with the open finding {key}")
        for one in self.goal.requirements if self.goal is not None else ():
            if one.id in self.waived:
                continue
            for check in one.checks:
                self._proven(check.id, check.command)
            if not one.sole_check and one.id not in self.met:
                self.broken.append(f"complete, though no judge's verdict holds for {one.text!r}")

    def _proven(self, key: str, command: str) -> None:
        known = self.checks.get(key, _Check())
        evidence = known.evidence
        result = evidence.observation if evidence is not None else None
        if evidence is None or not isinstance(result, CheckResult) or result.outcome is not Outcome.PASSED:
            self.broken.append(f"complete, though `{command}` has not passed")
            return
        if known.began <= self.last_turn_end:
            self.broken.append(f"complete on a result of `{command}` that is older than the last turn")
        if not evidence.revision == evidence.revision_after == self.revision:
            self.broken.append(f"complete on a result of `{command}` for other files")
        said = [passed for revision, passed in known.history if revision == self.revision]
        if False in said and said[-3:] != [True] * 3:
            self.broken.append(f"complete on `{command}`, which is flaky: {said}")
        if command not in self.truths.get(self.revision, ()):
            self.broken.append(f"complete, though `{command}` does not pass in these files")

    # ----------------------------------------------------------------------------------------- turns

    def _turns(self, event: e.Event) -> None:
        match event:
            case e.TurnStarted(iteration=number):
                cap = self.goal.limits.max_iterations if self.goal is not None and not self.human else None
                if cap is not None and number > max(cap, self.last_iteration):  # one that was cut off runs again
                    self.broken.append(f"iteration {number} begins, of at most {cap}")
                if number in self.finished:
                    self.broken.append(f"iteration {number} begins again, though its result is on record")
                if self.turn is not None:
                    self.broken.append(f"iteration {number} begins within another one")
                self.turn, self.last_iteration = number, max(number, self.last_iteration)
            case e.TurnFinished(iteration=number, result=result):
                if number != self.turn:
                    self.broken.append(f"iteration {number} ends, though it had not begun")
                self.finished[number] = self.position
                self.turn, self.last_turn_end, self.failed = None, self.position, result.error is not None
                self.met.clear()
            case e.Abandoned("turn") | e.RunInterrupted() | e.RunEnded():
                self.turn = None
            case _:
                pass

    # ---------------------------------------------------------------------------------------- people

    def _people(self, event: e.Event) -> None:
        match event:
            case e.PersonDecided("waive", key, undo=undo):
                self.waived.discard(key) if undo else self.waived.add(key)
            case e.PersonDecided("accept", identity, undo=undo):
                self._accept(identity, undo)
            case e.InterruptOpened(interrupt=interrupt):
                self.interrupts[interrupt.id] = interrupt
            case e.InterruptAnswered(key, Answer() as answer):
                if key == UNASKED:
                    self.hints[answer.text] = self.position
                elif key not in self.answers:
                    self.answers[key] = answer.text
                    self._answered(self.interrupts.get(key), answer.response)
            case _:
                pass

    def _accept(self, identity: str, undo: bool = False) -> None:
        found = {(key, fact) for one in self.findings.values() for key, fact in one.items()}
        facts = {(key, fact) for key, fact in found if self.ids.get(key) == identity}
        self.accepted = self.accepted - facts if undo else self.accepted | facts

    def _answered(self, asked: Interrupt | None, response: str) -> None:
        if asked is None or response != "approve":
            return
        topic, _, subject = asked.about.partition(":")
        if topic == "requirement":
            self.waived.add(subject)
        for identity in asked.input.get("findings", ()) if topic == "findings" else ():
            self._accept(identity)

    # ----------------------------------------------------------------------------------------- money

    def _money(self, event: e.Event) -> None:
        match event:
            case CallStarted(call_id=key):
                if key in self.calls:
                    self.broken.append(f"two calls to models have the id {key}")
                self.calls.add(key)
                self.open_calls[key] = event
                self._within_budget()
            case CallFinished(call_id=key, usage=usage):
                if key in self.answered_calls:
                    self.broken.append(f"the result of call {key} is on record twice")
                self.answered_calls.add(key)
                self.open_calls.pop(key, None)
                self.spent += usage
            case e.RunInterrupted() | e.RunEnded() | e.RunPaused() | e.Abandoned("turn") | e.TurnFinished():
                for call in self.open_calls.values():
                    self.spent += call.prompt
                self.open_calls.clear()
            case _:
                pass

    def _within_budget(self) -> None:
        ahead = self.spent
        for call in self.open_calls.values():
            ahead += call.worst
        assert self.goal is not None
        limits = self.goal.limits
        if limits.token_budget is not None and ahead.tokens > limits.token_budget:
            self.broken.append(f"a call may pass the budget: {ahead.tokens} of {limits.token_budget} tokens")
        if limits.budget is not None and (ahead.usd or 0.0) > limits.budget + SLACK:
            self.broken.append(f"a call may pass the budget: ${ahead.usd} of ${limits.budget}")
