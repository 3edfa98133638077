"""What happens next, as a table of stories (C1, C2, C4, C8, C9, C20, C21, A1-A9, A14, A15, A19)."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from donewhen.core import events as e
from donewhen.core.decide import Ask, AwaitPerson, Confirm, RunAudit, RunWorker, Stop, decide
from donewhen.core.errors import InvalidGoal
from donewhen.core.evidence import Outcome
from donewhen.core.goal import Goal, Limits
from donewhen.core.proof import assess
from donewhen.core.work import Answer, Claim, Interrupt, Usage
from tests.core.builders import R0, Story, failing, goal, passing, requirement
from tests.tools import each_row

CHECK = "pytest -q"
GOOD = passing(CHECK, tests=3)
BAD = failing(CHECK)
UNDECIDED = goal(requirement(1, "it reads well"))


def next_of(story: Story) -> object:
    return decide(story.state)


def statuses(story: Story) -> list[str]:
    return [view.status for view in assess(story.state)]


@pytest.mark.conformance("C1")
@each_row(
    "field, value",
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
    assert next_of(story) == Stop("capped", f"the limit of {cap} iteration{'s' if cap > 1 else ''} is reached")
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


def test_a_result_that_decides_nothing_does_not_make_a_flaky_check_stable() -> None:
    command = goal().checks[0].command
    could_not_run = passing(command, outcome=Outcome.NOT_RUN)
    story = Story().audit(failing(command)).audit(could_not_run).audit(could_not_run).audit(passing(command, tests=1))
    assert assess(story.state)[0].flaky


def test_different_results_at_one_revision_are_flaky_until_three_passes_in_a_row() -> None:
    story = Story().audit(BAD).turn().audit(GOOD)
    assert statuses(story) == ["unverified"]
    assert assess(story.state)[0].flaky
    story.audit(GOOD)
    assert statuses(story) == ["unverified"]
    story.audit(GOOD)
    assert statuses(story) == ["met"]


def test_another_environment_makes_no_check_flaky() -> None:
    before, now = replace(BAD, environment="one"), replace(GOOD, environment="other")
    story = Story().audit(before).turn().audit(now)
    assert statuses(story) == ["met"]
    assert not assess(story.state)[0].flaky
    # What was said in the first one is still known, whatever was said meanwhile.
    back = story.audit(replace(now, environment="one"))
    assert assess(back.state)[0].flaky


@pytest.mark.conformance("C4")
def test_c04_the_timeout_is_for_the_whole_run() -> None:
    story = Story(goal(requirement(1, "it works", CHECK, sole=True), timeout=60.0)).audit(BAD)
    assert decide(story.state, 100) == Stop("timed_out", "the time limit of 60 s is reached")


def test_waiting_for_a_person_costs_no_time() -> None:
    story = Story(goal(requirement(1, "it works", CHECK, sole=True), timeout=60.0)).audit(BAD)
    story.then(e.InterruptOpened(Interrupt("I1", "question", "which?")))
    assert decide(story.state, 100) == AwaitPerson()
    story.then(e.InterruptAnswered("I1", Answer("text", "this")), seconds=500)
    assert story.state.elapsed < 10


@pytest.mark.conformance("C8", "A4")
def test_c08_a_failed_turn_is_recorded_and_not_audited_and_repeated_ones_end_the_run() -> None:
    story = Story().audit(BAD).turn(error="boom")
    assert story.state.progress.iterations[-1].error == "boom"
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
    assert denied.state.steering.answers == ("there is one in .env",)
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
    story.then(e.TurnStarted(1, None), e.Abandoned("turn", "cut off", Usage(10, 10, 0, 1.5)))
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
