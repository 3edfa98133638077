"""The soundness rule, held against an oracle of its own over random event sequences (product.md)."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from donewhen.core import events as e
from donewhen.core.decide import Stop, decide
from donewhen.core.evidence import AffectedRun, CheckResult, Evidence, ObservedDiff, Outcome, TestTotals
from donewhen.core.goal import Check
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.work import TurnResult
from tests.core.builders import R0, Story, goal, requirement
from tests.tools import examples

GOAL = goal(
    requirement(1, "sole", "one", sole=True),
    requirement(2, "checked and judged", "two"),
    requirement(3, "judged alone"),
)
CHECKS = [Check.of("one"), Check.of("two")]
REVISIONS = [R0, "rev1", "rev2"]
KEYS = ["k1", "k2"]

_results = st.builds(
    lambda check, outcome, tests, is_run: CheckResult(
        check.id, check.command, outcome, outcome.value, is_test_run=is_run,
        totals=None if tests is None else TestTotals(tests, 0),
    ),
    st.sampled_from(CHECKS),
    st.sampled_from([Outcome.PASSED] * 6 + list(Outcome)),
    st.sampled_from([None, 0, 1, 5]),
    st.booleans(),
)  # fmt: skip
_step = st.one_of(
    st.tuples(st.just("check"), _results, st.sampled_from([None, None, None, *REVISIONS])),
    st.tuples(st.just("some tests"), _results),
    st.tuples(st.just("turn"), st.booleans(), st.booleans()),
    st.tuples(st.just("see"), st.sampled_from([ObservedDiff("", ()), ObservedDiff("", ("a.py",), "+x")])),
    st.tuples(st.just("change"), st.sampled_from(REVISIONS), st.sampled_from(["person", "worker", "check"])),
    st.tuples(st.just("audit"), st.lists(st.sampled_from(KEYS), unique=True, max_size=2) | st.just([])),
    st.tuples(st.just("judge"), st.lists(st.integers(1, 12), max_size=2)),
    st.tuples(st.just("stray judge"), st.sampled_from(REVISIONS)),
    st.tuples(st.just("waive"), st.integers(0, 2), st.booleans()),
    st.tuples(st.just("accept"), st.sampled_from(["F1", "F2"]), st.booleans()),
    st.tuples(st.just("confirm"), st.sampled_from([None, *REVISIONS])),
    st.tuples(st.just("prove")),
)


@dataclass
class Oracle:
    """Keeps its own books, from the events alone."""

    revision: str = R0
    position: int = 0
    last_turn_end: int = 0
    turn_open: bool = False
    failed: bool = False
    checks: dict[str, tuple[int, Evidence]] = field(default_factory=dict)
    started: dict[str, int] = field(default_factory=dict)
    fresh_ids: dict[str, str] = field(default_factory=dict)
    met_by_judge: dict[str, str] = field(default_factory=dict)
    waived: set[str] = field(default_factory=set)
    findings: set[str] = field(default_factory=set)
    accepted: set[str] = field(default_factory=set)
    ids: dict[str, str] = field(default_factory=dict)
    passes: dict[str, list[tuple[str, bool]]] = field(default_factory=dict)

    def see(self, event: e.Event) -> None:  # noqa: C901  # one branch per kind of event is what an oracle is
        self.position += 1
        match event:
            case e.TurnStarted():
                self.turn_open = True
            case e.TurnFinished(result=result):
                self.turn_open, self.last_turn_end = False, self.position
                self.failed = result.error is not None
                self.met_by_judge.clear()  # the judge is a program, which may look at anything
            case e.EvidenceRecorded(evidence=Evidence(observation=CheckResult() as result) as evidence):
                self.checks[result.check_id] = (self.started[result.check_id], evidence)
                if evidence.revision == evidence.revision_after == self.revision:
                    self.fresh_ids[evidence.id] = evidence.revision
            case e.EvidenceRecorded(evidence=Evidence(observation=ObservedDiff() as seen) as evidence):
                if seen.paths:
                    self.fresh_ids[evidence.id] = evidence.revision
            case e.RevisionChanged(revision=revision):
                self.revision = revision
                self.met_by_judge.clear()
            case e.CheckStarted(check_id=key):
                self.started[key] = self.position
            case e.AuditFinished(findings=findings):
                self.findings = {finding.key for finding in findings}
                for finding in findings:
                    self.ids.setdefault(finding.key, f"F{len(self.ids) + 1}")
            case e.JudgeFinished(verdict=verdict) if verdict is not None and not self.failed:
                for finding in verdict.findings:
                    if finding.finding == "met" and event.revision == event.revision_after == self.revision:
                        cited = [self.fresh_ids.get(one) == self.revision for one in finding.evidence_ids]
                        if cited and all(cited):
                            self.met_by_judge[finding.requirement_id] = self.revision
            case e.PersonDecided("waive", key, undo=undo):
                self.waived.discard(key) if undo else self.waived.add(key)
            case e.PersonDecided("accept", identity, undo=undo):
                keys = {key for key, known in self.ids.items() if known == identity and key in self.findings}
                self.accepted = self.accepted - keys if undo else self.accepted | keys
            case _:
                pass

    def allows_completion(self) -> bool:
        if self.turn_open or self.findings - self.accepted:
            return False
        for one in GOAL.requirements:
            if one.id in self.waived:
                continue
            if not all(self._proven(check.id) for check in one.checks):
                return False
            if not one.sole_check and self.met_by_judge.get(one.id) != self.revision:
                return False
        return True

    def _proven(self, check_id: str) -> bool:
        if check_id not in self.checks:
            return False
        started, evidence = self.checks[check_id]
        result = evidence.observation
        assert isinstance(result, CheckResult)
        ran_tests = not result.is_test_run or (result.totals is not None and result.totals.executed >= 1)
        return (
            result.outcome is Outcome.PASSED
            and ran_tests
            and started > self.last_turn_end
            and evidence.revision == evidence.revision_after == self.revision
        )


class Telling(Story):
    """A story whose every event the oracle sees too, and whose judge always says that all is complete."""

    def __init__(self) -> None:
        super().__init__(GOAL, judge="gullible")
        self.oracle = Oracle()

    def then(self, *events: e.Event, seconds: float = 1.0) -> Telling:
        for event in events:
            super().then(event, seconds=seconds)
            self.oracle.see(event)
        return self

    def check(self, result: CheckResult, revision_after: str | None) -> None:
        if self.state.turn is not None:
            return
        now = self.state
        evidence = Evidence(
            f"E{now.evidence.count + 1}", now.revision, revision_after or now.revision, now.turns_ended, result
        )
        self.then(e.CheckStarted(result.check_id, now.revision), e.EvidenceRecorded(evidence))

    def judge_says_complete(self, citations: list[str]) -> None:
        ids = tuple(one.id for one in GOAL.requirements if not one.sole_check)
        known = tuple(citations) or tuple(self.state.evidence.citable)
        verdict = Verdict(tuple(RequirementVerdict(one, "met", "all is complete", known) for one in ids))
        revision = self.state.revision
        self.then(e.JudgeStarted(ids, revision), e.JudgeFinished(ids, revision, revision, verdict))

    def prove(self) -> None:
        """What the engine would do where all is well, so that sequences do reach completion."""
        if self.state.turn is not None:
            return
        for check in CHECKS:
            self.check(CheckResult(check.id, check.command, Outcome.PASSED, "ok"), None)
        self.then(e.AuditStarted(self.state.iteration, self.state.revision))
        self.then(e.AuditFinished(self.state.iteration, self.state.revision))
        self.judge_says_complete([])

    def step(self, what: tuple[object, ...]) -> None:  # noqa: C901  # one branch per kind of step
        match what:
            case ("check", CheckResult() as result, after):
                self.check(result, after)  # type: ignore[arg-type]
            case ("some tests", CheckResult() as result):
                now, number = self.state, self.state.evidence.count + 1
                seen = AffectedRun(result.check_id, result.command, result)
                self.then(e.EvidenceRecorded(Evidence(f"E{number}", now.revision, now.revision, now.turns_ended, seen)))
            case ("turn", bool(starts), bool(fails)):
                if self.state.turn is None and starts:
                    self.then(e.TurnStarted(self.state.iteration + 1, None))
                elif self.state.turn is not None:
                    self.then(e.TurnFinished(self.state.iteration, TurnResult(error="gone" if fails else None)))
            case ("see", ObservedDiff() as diff):
                now, number = self.state, self.state.evidence.count + 1
                self.then(e.EvidenceRecorded(Evidence(f"E{number}", now.revision, now.revision, now.turns_ended, diff)))
            case ("change", str(revision), by):
                if revision != self.state.revision:
                    self.then(e.RevisionChanged(revision, ("a.py",), by, 1))  # type: ignore[arg-type]
            case ("audit", list(keys)):
                found = tuple(IntegrityFinding(str(key), "test_skipped", "t.py", 0, "skipped") for key in keys)
                self.then(e.AuditStarted(self.state.iteration, self.state.revision))
                self.then(e.AuditFinished(self.state.iteration, self.state.revision, found))
            case ("judge", list(numbers)):
                self.judge_says_complete([f"E{number}" for number in numbers])
            case ("stray judge", str(revision)):
                ids = tuple(one.id for one in GOAL.requirements if not one.sole_check)
                verdict = Verdict(tuple(RequirementVerdict(one, "met", "yes", ("E1",)) for one in ids))
                self.then(e.JudgeFinished(ids, revision, self.state.revision, verdict))
            case ("waive", int(number), bool(undo)):
                self.then(e.PersonDecided("waive", GOAL.requirements[number].id, "by a person", undo))
            case ("accept", str(identity), bool(undo)):
                self.then(e.PersonDecided("accept", identity, "meant", undo))
            case ("confirm", revision):
                self.then(e.RevisionConfirmed(str(revision or self.state.revision)))
            case _:
                self.prove()


completed: list[int] = []


@examples(400)
@given(st.lists(_step, max_size=25))
def test_no_run_completes_without_fresh_proof_of_everything(steps: list[tuple[object, ...]]) -> None:
    story = Telling()
    for step in steps:
        story.step(step)
        action = decide(story.state)
        if isinstance(action, Stop) and action.status == "complete":
            completed.append(1)
            assert story.oracle.allows_completion(), story.events


def test_the_random_sequences_do_reach_completion() -> None:
    story = Telling()
    story.step(("prove",))
    story.step(("confirm", None))
    assert isinstance(stop := decide(story.state), Stop)
    assert stop.status == "complete"
    assert story.oracle.allows_completion()
