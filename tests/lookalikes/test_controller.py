"""`GoalController`: what follows each turn of a conversation that its caller drives."""

from __future__ import annotations

from typing import Any

import pytest

from donewhen import (
    AuditTask,
    Blocked,
    Check,
    Goal,
    GoalContinue,
    GoalController,
    GoalDone,
    GoalVerdict,
    InvalidGoal,
    Requirement,
    UsageError,
)
from donewhen.core.evidence import CheckResult, ObservedDiff, ObservedResponse, Outcome
from tests.library.test_guard import TEXTS
from tests.library.test_judges import NEVER
from tests.tools import each_row


def failed(command: str) -> CheckResult:
    return CheckResult(Check.of(command).id, command, Outcome.FAILED, "exit code 1", exit_code=1)


def passed(command: str) -> CheckResult:
    return CheckResult(Check.of(command).id, command, Outcome.PASSED, "passed", exit_code=0)


TESTS = Requirement("r-tests", 1, "`pytest` passes", (Check.of("pytest"),), sole_check=True)
DOCS = Requirement("r-docs", 2, "It is documented")


@pytest.mark.conformance("A1")
@each_row("said", NEVER, ids=repr)
def test_a01_nor_does_it_for_the_controller_(said: Any) -> None:
    controller = GoalController("Do it", max_iterations=1)
    controller.start()
    step = controller.on_turn_finished(said, response="done")
    assert isinstance(step, GoalDone)
    assert step.outcome.status == "capped"


@pytest.mark.conformance("C2", "C3")
def test_the_controller_says_what_follows_each_turn() -> None:
    controller = GoalController("Write a haiku", max_iterations=3)
    assert controller.start() == "Write a haiku"
    steps = [controller.on_turn_finished(GoalVerdict(0.2, False, "a third line"), response="two lines")]
    assert isinstance(steps[0], GoalContinue)
    assert "a third line" in steps[0].followup
    steps.append(controller.on_turn_finished(GoalVerdict(1.0, True, ""), response="three lines"))
    assert isinstance(steps[1], GoalDone)
    assert (steps[1].outcome.status, steps[1].outcome.iterations) == ("complete", 2)
    with pytest.raises(UsageError, match="no turn is open"):
        controller.on_turn_finished(True)
    with pytest.raises(UsageError, match="started already"):
        controller.start()


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_the_controller_stops_at_its_cap_and_proof_beats_it(cap: int) -> None:
    for last in (True, False):
        controller = GoalController("Do it", max_iterations=cap)
        controller.start()
        steps = [controller.on_turn_finished(last and turn == cap, response="x") for turn in range(1, cap + 1)]
        assert [isinstance(step, GoalDone) for step in steps] == [False] * (cap - 1) + [True]
        assert steps[-1].outcome.status == ("complete" if last else "capped")
        assert steps[-1].outcome.iterations == cap


def test_no_verdict_stands_against_a_failed_check() -> None:
    controller = GoalController(Goal("G", "Export works", (TESTS, DOCS)), max_iterations=4)
    prompt = controller.start()
    assert "`pytest` passes" in prompt
    step = controller.on_turn_finished(True, evidence=[failed("pytest")])
    assert isinstance(step, GoalContinue)
    assert "exit code 1" in step.followup
    # A result of an earlier turn proves nothing about this one.
    step = controller.on_turn_finished(True)
    assert isinstance(step, GoalContinue)
    step = controller.on_turn_finished(True, evidence=[passed("pytest")])
    assert isinstance(step, GoalDone)
    assert step.outcome.status == "complete"


def test_a_goal_of_checks_alone_needs_no_verdict() -> None:
    controller = GoalController(Goal("G", "Export works", (TESTS,)))
    controller.start()
    step = controller.on_turn_finished(evidence=[passed("pytest")])
    assert isinstance(step, GoalDone)
    assert step.outcome.status == "complete"


@pytest.mark.conformance("C8")
def test_the_controller_does_not_judge_a_turn_that_failed() -> None:
    controller = GoalController("Do it", max_iterations=9)
    controller.start()
    for _ in range(2):
        step = controller.on_turn_finished(True, error="the connection broke")
        assert isinstance(step, GoalContinue)
        assert "the connection broke" in step.followup
    step = controller.on_turn_finished(True, error="the connection broke")
    assert isinstance(step, GoalDone)
    assert step.outcome.status == "crashed"


def test_the_controller_hands_a_claim_to_the_caller() -> None:
    controller = GoalController("Do it")
    controller.start()
    step = controller.on_turn_finished(response=Blocked("no key"))
    assert isinstance(step, GoalDone)
    assert step.outcome.status == "waiting"
    assert "no key" in step.outcome.interrupts[0].title


def test_the_controllers_own_judge_reads_messages() -> None:
    def judge(task: AuditTask) -> GoalVerdict:
        complete = any("green" in one.text for one in task.messages)
        return GoalVerdict(0.9 if complete else 0.1, complete, "" if complete else "no green run")

    controller = GoalController("The tests pass", judge, max_iterations=3)
    controller.start()
    assert isinstance(controller.on_run_finished([{"role": "assistant", "content": "trying"}]), GoalContinue)
    step = controller.on_run_finished([{"role": "tool", "content": "all green"}])
    assert isinstance(step, GoalDone)
    assert step.outcome.status == "complete"
    with pytest.raises(UsageError, match="has no judge"):
        GoalController("Do it").on_run_finished([])
    other = GoalController("Do it", judge)
    other.start()
    with pytest.raises(UsageError, match="message"):
        other.on_run_finished(["done"])  # type: ignore[list-item]  # that is the point


@pytest.mark.conformance("C1")
@each_row("cap", [0, -1, 1.5, float("nan")])
def test_c01_the_controller_refuses_what_cannot_be(cap: Any) -> None:
    with pytest.raises(InvalidGoal, match="max_iterations"):
        GoalController("Do it", max_iterations=cap)
    with pytest.raises(InvalidGoal, match="objective"):
        GoalController("  ")


def test_the_response_proves_nothing_of_a_goal_about_a_workspace() -> None:
    goal = Goal("Tests", "All tests pass", (Requirement("r-1", 1, "all tests pass"),))
    said = [{"role": "assistant", "content": "All tests pass"}]
    controller = GoalController(goal, lambda task: True)
    controller.start()
    assert isinstance(controller.on_run_finished(said), GoalContinue)
    claimed = ObservedResponse("0", "All tests pass", 14)
    assert isinstance(controller.on_turn_finished(GoalVerdict(1.0, True, ""), response="All tests pass"), GoalContinue)
    with pytest.raises(UsageError, match="proves nothing about a workspace"):
        controller.on_turn_finished(GoalVerdict(1.0, True, ""), evidence=[claimed])
    step = controller.on_run_finished(said, [ObservedDiff("", ("a.py",), "+ x = 1")])
    assert isinstance(step, GoalDone)
    assert step.outcome.requirements[0].evidence_ids == ("E1",)


@pytest.mark.parametrize("empty", [ObservedDiff("", ()), CheckResult("c", "make", Outcome.NOT_RUN, "no shell")])
def test_a_controller_proves_nothing_by_evidence_in_which_nothing_was_seen(empty: Any) -> None:
    goal = Goal("Text", "The text reads well", (Requirement("r-1", 1, "The text reads well"),))
    controller = GoalController(goal)
    controller.start()
    controller.on_turn_finished(True, evidence=[empty])
    assert controller.outcome.requirements[0].status == "unverified"
    passed = CheckResult(Check.of("make").id, "make", Outcome.PASSED, "passed", 0)
    assert isinstance(controller.on_turn_finished(True, evidence=[passed, empty]), GoalDone)


def test_an_outcome_names_objective_and_cap_and_counts_rounds_that_ended() -> None:
    controller = GoalController("Write a haiku", max_iterations=3)
    assert controller.outcome.iterations == 0
    controller.start()
    begun = controller.outcome
    assert (begun.iterations, begun.verdict, begun.objective, begun.cap) == (0, None, "Write a haiku", 3)
    step = controller.on_turn_finished({"score": 0.5, "complete": False, "missing": "one line"}, response="a pond")
    assert (step.outcome.iterations, step.outcome.verdict.missing) == (1, "one line")


def test_a_goal_is_text_or_a_goal() -> None:
    not_checked: Any = GoalController
    with pytest.raises(InvalidGoal, match="goal must be text or a Goal; it is int"):
        not_checked(5)


@pytest.mark.parametrize("messages", [5, [5], "hi"])
def test_a_controller_refuses_messages_that_are_none(messages: Any) -> None:
    controller = GoalController("It works", lambda task: True)
    controller.start()
    with pytest.raises(UsageError, match="message"):
        controller.on_run_finished(messages)


@pytest.mark.parametrize("door", ["text", "goal"])
@each_row("text", TEXTS)
def test_without_a_workspace_a_command_is_refused(text: str, door: str) -> None:
    about: str | Goal = text
    if door == "goal":
        about = Goal("T", text, (Requirement("r-1", 1, "it is done"),), about="response")
    with pytest.raises(InvalidGoal, match=r"workspace=FOLDER"):
        GoalController(about)


def test_a_goal_in_python_that_says_it_in_words_has_the_command_bound() -> None:
    controller = GoalController(Goal("T", "", (Requirement("r-1", 1, "It works, and `python -m pytest -q` passes"),)))
    controller.start()
    step = controller.on_turn_finished(GoalVerdict(1.0, True, ""), response="All tests pass.")
    assert not step.outcome.verdict.complete


def test_what_only_the_answer_is_to_say_needs_none() -> None:
    for text in ("The answer explains what `setup.py` is for", "Explain rainbows to a child"):
        GoalController(text)
