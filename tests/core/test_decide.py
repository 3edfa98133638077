"""What happens next, as a table of stories (C1, C2, C4, C8, C9, C20, C21, A1-A9, A14, A15, A19)."""

from __future__ import annotations

import math

import pytest

from donewhen.core import events as e
from donewhen.core.decide import Ask, AskJudge, AwaitPerson, Confirm, Pause, RunAudit, RunWorker, Stop, decide
from donewhen.core.errors import InvalidGoal, NotResumable
from donewhen.core.evidence import Evidence, Outcome
from donewhen.core.fold import fold_all
from donewhen.core.goal import Goal, Limits
from donewhen.core.integrity import IntegrityFinding
from donewhen.core.proof import assess
from donewhen.core.resume import check_resumable
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.core.work import Answer, Claim, Interrupt, ResponseKind, Usage
from tests.core.builders import R0, Story, failing, goal, passing, requirement

CHECK = "pytest -q"
GOOD = passing(CHECK, tests=3)
BAD = failing(CHECK)
UNDECIDED = goal(requirement(1, "it reads well"))
FINDING = IntegrityFinding("k1", "test_skipped", "tests/test_a.py", 3, "test_a is skipped", "fact1")


def next_of(story: Story) -> object:
    return decide(story.state, story.at)


def statuses(story: Story) -> list[str]:
    return [view.status for view in assess(story.state)]


@pytest.mark.conformance("C1")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_iterations", 0),
        ("max_iterations", -1),
        ("max_iterations", 2.5),
        ("max_iterations", True),
        ("timeout", 0),
        ("timeout", -1.0),
        ("timeout", math.nan),
        ("timeout", math.inf),
        ("budget", 0.0),
        ("budget", math.nan),
        ("token_budget", 0),
        ("check_timeout", 0),
        ("stall_after", 0),
    ],
)
def test_c01_a_limit_that_can_not_be_one_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(InvalidGoal, match=field):
        Limits(**{field: value})  # type: ignore[arg-type]


@pytest.mark.conformance("C1")
def test_c01_a_blank_objective_is_refused() -> None:
    with pytest.raises(InvalidGoal, match="empty"):
        Goal(" ", "\n", (requirement(1),))


@pytest.mark.conformance("C2")
def test_c02_it_begins_with_a_baseline_audit_and_ends_at_iteration_0_where_all_is_proven() -> None:
    story = Story()
    assert next_of(story) == RunAudit(0)
    story.audit(GOOD)
    assert next_of(story) == Confirm()
    story.then(e.RevisionConfirmed(R0))
    assert next_of(story) == Stop("complete", "every requirement is proven")
    assert story.state.iteration == 0


@pytest.mark.conformance("C2")
def test_c02_fail_then_pass_takes_two_iterations_and_proof_beats_the_cap() -> None:
    story = Story(goal(requirement(1, "it works", CHECK, sole=True), max_iterations=2)).audit(BAD)
    assert next_of(story) == RunWorker(1)
    story.turn(edits="rev1").audit(BAD)
    assert next_of(story) == RunWorker(2)
    story.turn(edits="rev2").audit(GOOD).then(e.RevisionConfirmed("rev2"))
    assert next_of(story) == Stop("complete", "every requirement is proven")
    assert story.state.iteration == 2


@pytest.mark.conformance("C2", "A7")
@pytest.mark.parametrize("cap", [1, 3, 17])
def test_c02_a07_never_proven_stops_at_exactly_the_cap(cap: int) -> None:
    story = Story(goal(requirement(1, "it works", CHECK, sole=True), max_iterations=cap, stall_after=cap + 1)).audit(
        BAD
    )
    while isinstance(next_of(story), RunWorker):
        story.turn(edits=f"rev{story.sequence}").audit(BAD)
    assert next_of(story) == Stop("capped", f"the limit of {cap} iterations is reached")
    assert story.state.iteration == cap


def test_a_result_that_predates_the_last_turn_does_not_complete() -> None:
    story = Story().audit(GOOD).turn()
    assert next_of(story) == RunAudit(1)
    story.then(e.AuditStarted(1, R0), e.AuditFinished(1, R0))
    assert not isinstance(next_of(story), Confirm | Stop)


@pytest.mark.conformance("A9")
def test_a09_an_edit_makes_a_proof_stale_and_it_is_proven_again() -> None:
    story = Story().audit(GOOD).then(e.RevisionChanged("rev1", ("a.py",), "person", 1))
    assert statuses(story) == ["stale"]
    assert next_of(story) == RunAudit(0)


@pytest.mark.conformance("A9")
def test_a09_a_check_during_which_files_changed_proves_nothing() -> None:
    story = Story().audit(GOOD, revision_after="rev1").then(e.RevisionConfirmed(R0))
    assert statuses(story) == ["unverified"]
    assert not isinstance(next_of(story), Stop)


def test_failed_checks_come_first() -> None:
    from donewhen.core.proof import needed_checks

    of = goal(requirement(1, "a", "one", sole=True), requirement(2, "b", "two", sole=True))
    story = Story(of).audit(passing("one"), failing("two")).then(e.RevisionChanged("rev1", (), "person", 1))
    assert [check.command for check in needed_checks(story.state)] == ["two", "one"]


@pytest.mark.parametrize(
    "outcome", [Outcome.NOT_INSTALLED, Outcome.NO_REPORT, Outcome.NOT_RUN], ids=lambda one: str(one)
)
def test_what_says_neither_yes_nor_no_is_unverified(outcome: Outcome) -> None:
    assert statuses(Story().audit(passing(CHECK, outcome=outcome))) == ["unverified"]


def test_a_test_run_without_a_test_is_unmet() -> None:
    assert statuses(Story().audit(passing(CHECK, tests=0))) == ["unmet"]


def test_different_results_at_one_revision_are_flaky_until_three_passes_in_a_row() -> None:
    story = Story().audit(BAD).turn().audit(GOOD)
    assert statuses(story) == ["unverified"]
    assert assess(story.state)[0].flaky
    story.audit(GOOD)
    assert statuses(story) == ["unverified"]
    story.audit(GOOD)
    assert statuses(story) == ["met"]


@pytest.mark.conformance("C4")
def test_c04_the_timeout_is_for_the_whole_run() -> None:
    story = Story(goal(requirement(1, "it works", CHECK, sole=True), timeout=60.0)).audit(BAD)
    assert decide(story.state, story.at + 100) == Stop("timed_out", "the time limit of 60 s is reached")


def test_waiting_for_a_person_costs_no_time() -> None:
    story = Story(goal(requirement(1, "it works", CHECK, sole=True), timeout=60.0)).audit(BAD)
    story.then(e.InterruptOpened(Interrupt("I1", "question", "which?")))
    assert decide(story.state, story.at + 100) == AwaitPerson()
    story.then(e.InterruptAnswered("I1", Answer("text", "this")), seconds=500)
    assert story.state.elapsed < 10


@pytest.mark.conformance("C8", "A4")
def test_c08_a_failed_turn_is_recorded_and_not_audited_and_repeated_ones_end_the_run() -> None:
    story = Story().audit(BAD).turn(error="boom")
    assert story.state.iterations[-1].error == "boom"
    assert next_of(story) == RunWorker(2)
    story.turn(error="boom").turn(error="boom")
    assert next_of(story) == Stop("crashed", "the worker failed 3 times in a row: boom")


@pytest.mark.conformance("C9", "A15")
@pytest.mark.parametrize("state", ["blocked", "impossible"])
def test_c09_a_claim_to_be_stuck_needs_a_person_before_it_ends_the_run(state: str) -> None:
    story = Story().audit(BAD).turn(Claim(state, "no key")).audit(BAD)  # type: ignore[arg-type]
    asked = next_of(story)
    assert isinstance(asked, Ask)
    story.then(e.InterruptOpened(asked.interrupts[0]))
    assert next_of(story) == AwaitPerson()
    denied = Story().then(*story.events[1:], e.InterruptAnswered("I1", Answer("deny", "there is one in .env")))
    assert next_of(denied) == RunWorker(2)
    assert denied.state.answers == ("there is one in .env",)
    story.then(e.InterruptAnswered("I1", Answer("approve")))
    assert next_of(story) == Stop(state, "no key")  # type: ignore[arg-type]


def test_a_claim_to_be_stuck_does_not_matter_where_all_is_proven() -> None:
    story = Story().audit(BAD).turn(Claim("impossible", "no"), edits="rev1").audit(GOOD)
    assert next_of(story) == Confirm()


@pytest.mark.conformance("A2")
def test_a02_an_open_interrupt_is_not_skipped_by_the_loop() -> None:
    story = Story().audit(BAD).then(e.InterruptOpened(Interrupt("I1", "approval", "git push?", "worker")))
    assert next_of(story) == AwaitPerson()
    assert story.state.status == "waiting"


@pytest.mark.conformance("A14")
def test_a14_the_same_end_three_times_in_a_row_is_a_stall() -> None:
    story = Story().audit(BAD).turn().audit(BAD).turn().audit(BAD)
    assert isinstance(next_of(story), RunWorker)
    story.turn().audit(BAD)
    assert isinstance(stop := next_of(story), Stop)
    assert stop.status == "stalled"


@pytest.mark.conformance("A14")
def test_a14_at_equal_counts_the_cap_wins() -> None:
    of = goal(requirement(1, "it works", CHECK, sole=True), max_iterations=3)
    story = Story(of).audit(BAD)
    for _ in range(3):
        story.turn().audit(BAD)
    assert isinstance(stop := next_of(story), Stop)
    assert stop.status == "capped"


@pytest.mark.conformance("A14")
def test_a14_progress_is_no_stall() -> None:
    story = Story(goal(requirement(1, "it works", CHECK, sole=True), max_iterations=50)).audit(BAD)
    for number in range(10):
        story.turn(edits=f"rev{number}").audit(BAD)
    assert isinstance(next_of(story), RunWorker)


@pytest.mark.conformance("A15")
def test_a15_a_spent_budget_is_over_budget() -> None:
    story = Story(goal(requirement(1, "it works", CHECK, sole=True), budget=1.0)).audit(BAD)
    story.then(e.TurnStarted(1, None), e.TurnAbandoned(1, "cut off", Usage(10, 10, 0, 1.5)))
    assert isinstance(stop := next_of(story), Stop)
    assert stop.status == "over_budget"


@pytest.mark.conformance("A19")
def test_a19_what_nothing_can_decide_is_asked_and_the_worker_is_not_called() -> None:
    story = Story(UNDECIDED).audit()
    asked = next_of(story)
    assert isinstance(asked, Ask)
    story.then(e.InterruptOpened(asked.interrupts[0]), e.InterruptAnswered("I1", Answer("approve", "I read it")))
    assert statuses(story) == ["waived"]
    assert next_of(story) == Confirm()


def test_what_a_person_leaves_unproven_ends_the_run_as_blocked() -> None:
    story = Story(UNDECIDED).audit()
    asked = next_of(story)
    assert isinstance(asked, Ask)
    story.then(e.InterruptOpened(asked.interrupts[0]), e.InterruptAnswered("I1", Answer("deny")))
    assert isinstance(stop := next_of(story), Stop)
    assert stop.status == "blocked"


@pytest.mark.conformance("A10")
def test_a10_an_open_integrity_finding_blocks_completion_until_it_is_accepted() -> None:
    story = Story().audit(BAD).turn(edits="rev1").audit(GOOD, findings=(FINDING,))
    assert next_of(story) == RunWorker(2)
    story.then(e.FindingAccepted("F1", "meant"))
    assert next_of(story) == Confirm()
    story.then(e.FindingAccepted("F1", "", undo=True))
    assert next_of(story) == RunWorker(2)


@pytest.mark.conformance("A10")
def test_a10_an_acceptance_holds_for_the_fact_that_was_accepted_only() -> None:
    story = (
        Story().audit(BAD).turn(edits="rev1").audit(GOOD, findings=(FINDING,)).then(e.FindingAccepted("F1", "meant"))
    )
    other = IntegrityFinding("k1", "test_skipped", "tests/test_a.py", 3, "two are skipped", "fact2")
    story.turn(edits="rev2").audit(GOOD, findings=(other,))
    assert [known.accepted for known in story.state.findings] == [False]
    assert story.state.findings[0].id == "F1"


def judged(story: Story, finding: str, *evidence_ids: str, revision_after: str | None = None) -> Story:
    asked = next_of(story)
    assert isinstance(asked, AskJudge)
    ids = tuple(one.id for one in asked.requirements)
    verdict = Verdict(tuple(RequirementVerdict(one, finding, "because", evidence_ids) for one in ids))  # type: ignore[arg-type]
    revision = story.state.revision
    return story.then(
        e.JudgeStarted(ids, revision), e.JudgeFinished(ids, revision, revision_after or revision, verdict)
    )


JUDGED = goal(requirement(1, "it works", CHECK, sole=True), requirement(2, "it reads well"))


def story_for_the_judge() -> Story:
    return Story(JUDGED, judge="model").audit(BAD).turn(edits="rev1").audit(GOOD)


def test_the_judge_is_not_asked_while_a_finding_is_open() -> None:
    story = Story(JUDGED, judge="model").audit(BAD).turn(edits="rev1").audit(GOOD, findings=(FINDING,))
    assert next_of(story) == RunWorker(2)


def test_a_verdict_with_fresh_evidence_decides() -> None:
    assert next_of(judged(story_for_the_judge(), "met", "E2")) == Confirm()


@pytest.mark.conformance("A1")
@pytest.mark.parametrize("citations", [(), ("E99",), ("E1",), ("E2", "E99")])
def test_a_verdict_without_fresh_evidence_on_record_is_unverified(citations: tuple[str, ...]) -> None:
    assert statuses(judged(story_for_the_judge(), "met", *citations)) == ["met", "unverified"]


@pytest.mark.conformance("A9")
def test_a09_a_verdict_is_dropped_where_the_revision_moved_while_the_judge_thought() -> None:
    story = judged(story_for_the_judge(), "met", "E2", revision_after="rev9")
    assert not story.state.judged


@pytest.mark.conformance("A6")
def test_a06_an_outage_uses_up_no_iteration_and_then_pauses() -> None:
    story = story_for_the_judge()
    for _ in range(3):
        assert isinstance(next_of(story), AskJudge)
        story.then(e.JudgeFailed("502"))
    assert next_of(story) == Pause("the judge could not be asked: 502")
    assert story.state.iteration == 1
    assert "could not be asked" in assess(story.state)[1].reason


@pytest.mark.conformance("C10")
def test_c10_a_verdict_that_does_not_name_each_requirement_once_is_no_verdict() -> None:
    story = story_for_the_judge()
    wanted = JUDGED.requirements[1].id
    other = Verdict((RequirementVerdict("r-other", "met", "", ("E2",)),))
    story.then(e.JudgeStarted((wanted,), "rev1"), e.JudgeFinished((wanted,), "rev1", "rev1", other))
    assert statuses(story) == ["met", "unverified"]


@pytest.mark.conformance("C19", "A3")
def test_a_stop_comes_before_everything_else() -> None:
    story = Story().audit(GOOD).then(e.StopRequested("enough"))
    assert next_of(story) == Stop("cancelled", "enough")


def test_amending_keeps_unchanged_requirements_and_removes_the_others() -> None:
    kept, gone, new = requirement(1, "a", "one"), requirement(2, "b", "two"), requirement(2, "c", "three")
    story = Story(goal(kept, gone)).audit(passing("one"), passing("two"))
    story.then(e.GoalAmended(goal(kept, new)))
    assert statuses(story) == ["met", "unverified"]
    assert next_of(story) == RunAudit(0)


@pytest.mark.conformance("C20")
@pytest.mark.parametrize(
    ("status", "limits", "message"),
    [
        ("complete", Limits(), "is complete"),
        ("cancelled", Limits(), "is cancelled"),
        ("capped", Limits(max_iterations=1), "higher max_iterations"),
        ("timed_out", Limits(timeout=1.0), "higher timeout"),
        ("capped", Limits(max_iterations=2), None),
        ("capped", Limits(max_iterations=None), None),
        ("stalled", Limits(), None),
        ("crashed", Limits(), None),
    ],
)
def test_c20_what_can_be_resumed(status: str, limits: Limits, message: str | None) -> None:
    story = Story(goal(requirement(1, "it works", CHECK, sole=True), max_iterations=1, timeout=1.0)).audit(BAD).turn()
    story.then(e.RunEnded(status, ""))  # type: ignore[arg-type]
    if message is None:
        check_resumable(story.state, limits)
    else:
        with pytest.raises(NotResumable, match=message):
            check_resumable(story.state, limits)


@pytest.mark.conformance("C20", "C21", "A13")
def test_c20_an_interrupted_turn_runs_again_as_the_same_iteration_with_its_counts() -> None:
    story = Story().audit(BAD).turn(edits="rev1").audit(BAD).then(e.TurnStarted(2, "tree1"))
    story.then(e.RunInterrupted("killed", story.at + 0.5), seconds=1000)
    assert story.state.status == "interrupted"
    elapsed = story.state.elapsed
    assert elapsed < 60
    story.then(e.RunResumed())
    assert next_of(story) == RunWorker(2)
    assert story.state.redo is not None
    assert story.state.redo.checkpoint == "tree1"
    assert story.state.elapsed == elapsed


@pytest.mark.conformance("C20")
@pytest.mark.parametrize(("response", "status"), [("approve", "blocked"), ("deny", None)])
def test_c20_what_a_person_answered_while_a_run_was_paused_holds(response: ResponseKind, status: str | None) -> None:
    story = Story().audit(BAD).turn(Claim("blocked", "no key")).audit(BAD)
    asked = next_of(story)
    assert isinstance(asked, Ask)
    story.then(e.InterruptOpened(asked.interrupts[0]), e.RunPaused("waits for a person"))
    story.then(e.InterruptAnswered("I1", Answer(response)), e.RunResumed()).audit(BAD)
    following = next_of(story)
    assert following == (RunWorker(2) if status is None else Stop("blocked", "no key"))


@pytest.mark.conformance("C20")
def test_c20_what_was_left_unproven_while_a_run_was_paused_is_not_asked_again() -> None:
    story = Story(UNDECIDED).audit()
    asked = next_of(story)
    assert isinstance(asked, Ask)
    story.then(e.InterruptOpened(asked.interrupts[0]), e.RunPaused("waits for a person"))
    story.then(e.InterruptAnswered("I1", Answer("deny")), e.RunResumed()).audit()
    stop = next_of(story)
    assert isinstance(stop, Stop)
    assert stop.status == "blocked"
    story.then(e.RunEnded("blocked", stop.reason), e.RunResumed()).audit()
    assert isinstance(next_of(story), Ask)


@pytest.mark.conformance("A13", "A14")
def test_a13_an_interrupted_run_stalls_and_crashes_after_as_many_turns_as_an_undisturbed_one() -> None:
    stalling = Story().audit(BAD).turn().audit(BAD).turn().audit(BAD)
    stalling.then(e.RunInterrupted("killed", stalling.at), e.RunResumed()).audit(BAD).turn().audit(BAD)
    assert isinstance(stop := next_of(stalling), Stop)
    assert stop.status == "stalled"
    failing = Story().audit(BAD).turn(error="boom").turn(error="boom")
    failing.then(e.RunInterrupted("killed", failing.at), e.RunResumed()).audit(BAD).turn(error="boom")
    assert isinstance(stop := next_of(failing), Stop)
    assert stop.status == "crashed"


@pytest.mark.conformance("C21")
def test_c21_an_audit_that_was_cut_off_is_not_counted_and_runs_again() -> None:
    story = Story().audit(BAD).turn().then(e.AuditStarted(1, R0), e.AuditAbandoned(1, "cut off"))
    assert story.state.audits == 1
    assert next_of(story) == RunAudit(1)


def test_worker_human_has_only_the_limits_that_were_set() -> None:
    story = Story(goal(requirement(1, "it works", CHECK, sole=True)), worker="human").audit(BAD)
    for _ in range(12):
        story.turn().audit(BAD)
    assert isinstance(next_of(story), RunWorker)
    assert story.state.limit("timeout") is None


def test_a_bare_audit_ends_without_a_status() -> None:
    story = Story(worker=None, mode="audit").audit(GOOD)
    assert next_of(story) == Stop(None, "everything is proven")
    assert story.state.status is None


def test_the_same_entries_give_the_same_state() -> None:
    story = Story().audit(BAD).turn(edits="rev1").audit(GOOD)
    entries = [e.Entry(number, 1000.0 + number - 1, event) for number, event in enumerate(story.events, 1)]
    assert fold_all(entries) == story.state


def test_evidence_of_another_revision_may_not_be_cited() -> None:
    story = Story().then(e.EvidenceRecorded(Evidence("E5", "old", "old", 0, GOOD)))
    assert "E5" not in story.state.recorded
    assert story.state.evidence_count == 5
