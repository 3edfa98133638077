"""Small builders of core values for tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from donewhen.core import events as e
from donewhen.core.evidence import CheckResult, Evidence, Outcome, TestTotals
from donewhen.core.fold.dispatch import begin, fold
from donewhen.core.goal import Check, Goal, Limits, Requirement, requirement_id
from donewhen.core.state import RunState
from donewhen.core.work import Claim, TurnResult

R0 = "rev0"


def requirement(number: int, text: str = "", *commands: str, sole: bool = False, **more: object) -> Requirement:
    words = text or f"requirement {number}"
    checks = tuple(Check.of(command) for command in commands)
    return Requirement(requirement_id(words), number, words, checks, sole, **more)  # type: ignore[arg-type]


def goal(*requirements: Requirement, **limits: object) -> Goal:
    return Goal(
        "Title",
        "Objective",
        requirements or (requirement(1, "it works", "pytest -q", sole=True),),
        Limits(**limits),  # type: ignore[arg-type]
        path="GOAL.md",
        explicit_limits=frozenset(limits),
    )


def passing(command: str, *, tests: int | None = None, outcome: Outcome = Outcome.PASSED) -> CheckResult:
    totals = None if tests is None else TestTotals(tests, 0)
    return CheckResult(
        Check.of(command).id, command, outcome, outcome.value, is_test_run=tests is not None, totals=totals
    )


def failing(command: str, reason: str = "exit code 1") -> CheckResult:
    return CheckResult(Check.of(command).id, command, Outcome.FAILED, reason, exit_code=1)


def changed(state: RunState, **changes: Any) -> RunState:
    """The state with these fields; one of its parts' fields may be named alone where no other part has it."""
    parts: dict[str, dict[str, Any]] = {}
    for name in [one for one in changes if not hasattr(RunState, one) and one not in RunState.__dataclass_fields__]:
        (part,) = [key for key, value in vars(state).items() if name in getattr(value, "__dict__", ())]
        parts.setdefault(part, {})[name] = changes.pop(name)
    for part, fields in parts.items():
        changes[part] = replace(getattr(state, part), **fields)
    return replace(state, **changes)


def fold_all(entries: Iterable[e.Entry]) -> RunState:
    """The state that a run's entries add up to; the first one is its RunStarted."""
    first, *others = entries
    state = begin(first)
    for entry in others:
        state = fold(state, entry)
    return state


class Story:
    """A run told event by event: a second passes between two events."""

    def __init__(
        self,
        of: Goal | None = None,
        worker: str | None = "command",
        judge: str | None = None,
        mode: e.RunMode = "pursue",
    ) -> None:
        self.at = 1000.0
        self.sequence = 1
        options = e.RunOptions(worker=worker, judge=judge)
        started = e.RunStarted("run1", mode, of or goal(), options, R0)
        self.events: list[e.Event] = [started]
        self.state: RunState = begin(e.Entry(1, self.at, started))

    def then(self, *events: e.Event, seconds: float = 1.0) -> Story:
        for event in events:
            self.at += seconds
            self.sequence += 1
            self.events.append(event)
            self.state = fold(self.state, e.Entry(self.sequence, self.at, event, seconds))
        return self

    def audit(
        self, *results: CheckResult, findings: tuple[object, ...] = (), revision_after: str | None = None
    ) -> Story:
        state = self.state
        self.then(e.AuditStarted(state.iteration, state.revision))
        for result in results:
            now = self.state
            evidence = Evidence(
                f"E{now.evidence.count + 1}", now.revision, revision_after or now.revision, now.turns_ended, result
            )
            self.then(e.CheckStarted(result.check_id, now.revision), e.EvidenceRecorded(evidence))
        return self.then(e.AuditFinished(state.iteration, self.state.revision, findings))  # type: ignore[arg-type]

    def turn(self, claim: Claim | None = None, error: str | None = None, edits: str | None = None) -> Story:
        iteration = self.state.iteration + 1
        self.then(e.TurnStarted(iteration, None))
        if edits is not None:
            self.then(e.RevisionChanged(edits, ("a.py",), "worker", 1))
        result = TurnResult(claim or Claim(), error=error)
        return self.then(e.TurnFinished(iteration, result, ("a.py",) if edits else ()))
