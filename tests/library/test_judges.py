"""Judges through the library: strict verdicts, outages, a judge asked alone (A1, A6, C10, C16), and GoalController."""

from __future__ import annotations

from typing import Any

import pytest

from donewhen import (
    Blocked,
    Check,
    Goal,
    GoalContinue,
    GoalController,
    GoalDone,
    GoalVerdict,
    InvalidGoal,
    JudgeConfig,
    Requirement,
    UsageError,
    ajudge_goal,
    judge_goal,
    run_goal,
)
from donewhen.core.errors import JudgeOutage
from donewhen.core.evidence import CheckResult, ObservedDiff, ObservedResponse, Outcome
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.judges.scripted import garbage_judge, gullible_judge, hostile_judge, refusing_judge
from donewhen.workers.callables.judges import AuditTask
from tests.tools import each_row

NEVER = [
    "false",
    "yes",
    "complete",
    None,
    1,
    [{"score": 1.0, "complete": True}],
    {"score": 1.0, "complete": "false"},
    {"score": 1.0, "complete": "true"},
    {"score": 1.0, "complete": 1},
    {"score": float("nan"), "complete": True},
    {"score": float("inf"), "complete": True},
    {"score": True, "complete": True},
    {"score": "1.0", "complete": True},
    {"score": 1.5, "complete": True},
    {"score": 0, "complete": True},
    {"score": 0.9, "complete": True, "missing": "the tests"},
    {"score": 0.9, "complete": True, "missing": ["the tests"]},
    {"complete": True},
    {"score": 1.0},
    {},
    GoalVerdict(0.0, True, ""),
    GoalVerdict(float("nan"), True, ""),
    Verdict(()),
    Verdict((RequirementVerdict("r-invented", "met", "trust me", ("E1",)),)),
]


@pytest.mark.conformance("A1")
@each_row("said", NEVER, ids=repr)
def test_a01_what_is_not_exactly_a_verdict_never_completes(said: Any) -> None:
    outcome = run_goal("Do it", lambda prompt: "done", lambda task: said, max_iterations=1)
    assert outcome.status == "capped"
    assert outcome.verdict is not None
    assert not outcome.verdict.complete
    assert outcome.requirements[0].status == "unverified"


@pytest.mark.conformance("A1")
@each_row("said", NEVER, ids=repr)
def test_a01_nor_does_it_for_the_controller_or_alone(said: Any) -> None:
    controller = GoalController("Do it", max_iterations=1)
    controller.start()
    step = controller.on_turn_finished(said, response="done")
    assert isinstance(step, GoalDone)
    assert step.outcome.status == "capped"
    assert not judge_goal(lambda task: said, "Do it", files={"a.py": "done"}).complete


@pytest.mark.conformance("C10")
@each_row(
    "said",
    [True, {"score": 0.8, "complete": True}, GoalVerdict(0.8, True, ""), {"score": 1, "complete": True, "missing": ""}],
)
def test_c10_a_verdict_for_the_whole_completes_and_keeps_its_score(said: Any) -> None:
    outcome = run_goal("Do it", lambda prompt: "done", lambda task: said)
    assert outcome.status == "complete"
    assert outcome.verdict is not None
    assert outcome.verdict.score == (0.8 if "0.8" in repr(said) else 1.0)
    assert outcome.requirements[0].evidence_ids


def test_a_failed_verdict_reaches_the_worker_and_the_outcome() -> None:
    prompts: list[str] = []

    def worker(prompt: str) -> str:
        prompts.append(prompt)
        return "an answer"

    def judge(task: AuditTask) -> GoalVerdict:
        assert (task.objective, task.response, task.diff) == ("Do it", "an answer", "")
        return GoalVerdict(0.3, False, "the second half")

    outcome = run_goal("Do it", worker, judge, max_iterations=2)
    assert outcome.verdict is not None
    assert (outcome.verdict.score, outcome.verdict.missing) == (0.3, "the second half")
    assert "the second half" in prompts[1]


@each_row("judge", [gullible_judge(), refusing_judge(), garbage_judge(), hostile_judge()], ids=lambda j: j.identity)
def test_the_judge_port_is_taken_as_it_is(judge: Any) -> None:
    outcome = run_goal("Do it", lambda prompt: "done", judge, max_iterations=1)
    assert (outcome.status == "complete") is (judge.identity == "gullible")


def test_a_gullible_judge_does_not_beat_a_failed_check() -> None:
    outcome = run_goal(
        "Do it", lambda prompt: "no", gullible_judge(), checks=[lambda response, agent: False], max_iterations=2
    )
    assert outcome.status == "capped"
    assert outcome.verdict is not None
    assert outcome.verdict.complete is False


@pytest.mark.conformance("A6")
def test_a06_an_outage_pauses_the_run_and_uses_up_no_iteration() -> None:
    turns: list[str] = []

    def judge(task: AuditTask) -> Any:
        raise JudgeOutage("unreachable", final=True)

    outcome = run_goal("Do it", lambda prompt: turns.append(prompt) or "done", judge)
    assert (outcome.status, len(turns)) == ("paused", 1)
    assert "unreachable" in outcome.reason


def test_a_judge_is_a_name_a_config_or_a_callable() -> None:
    with pytest.raises(UsageError, match="a judge is"):
        run_goal("Do it", lambda prompt: "done", 7)  # type: ignore[arg-type]  # that is the point
    with pytest.raises(InvalidGoal, match="judge's model"):
        JudgeConfig(" ")
    with pytest.raises(InvalidGoal, match="temperature"):
        JudgeConfig("a/b", temperature=float("nan"))
    assert "secret" not in repr(JudgeConfig("a/b", api_key="secret"))


@pytest.mark.conformance("C16")
async def test_c16_a_judge_asked_alone_gets_messages_as_claims() -> None:
    seen: list[AuditTask] = []

    def judge(task: AuditTask) -> GoalVerdict:
        seen.append(task)
        return GoalVerdict(0.5, False, "no proof")

    messages = [{"role": "user", "content": "Did you?"}, {"role": "assistant", "content": "I am done"}]
    verdict = await ajudge_goal(judge, "/goal It works", messages=messages, files={"a.py": "x = 1"})
    assert (verdict.score, verdict.complete, verdict.missing) == (0.5, False, "no proof")
    assert [one.text for one in seen[0].messages] == ["Did you?", "I am done"]
    assert (seen[0].objective, seen[0].files) == ("It works", {"a.py": "x = 1"})
    with pytest.raises(UsageError, match="role"):
        await ajudge_goal(judge, "It works", messages=[{"content": "hm"}])


def failed(command: str) -> CheckResult:
    return CheckResult(Check.of(command).id, command, Outcome.FAILED, "exit code 1", exit_code=1)


def passed(command: str) -> CheckResult:
    return CheckResult(Check.of(command).id, command, Outcome.PASSED, "passed", exit_code=0)


TESTS = Requirement("r-tests", 1, "`pytest` passes", (Check.of("pytest"),), sole_check=True)
DOCS = Requirement("r-docs", 2, "It is documented")


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


@pytest.mark.conformance("C16")
def test_c16_messages_are_no_evidence_wherever_they_are_given() -> None:
    messages: Any = [{"role": "assistant", "content": "I am done"}]
    with pytest.raises(UsageError, match="give them as `messages`"):
        judge_goal(lambda task: True, "It works", messages)
    with pytest.raises(UsageError, match="what was observed"):
        judge_goal(lambda task: True, "It works", ["I am done"])  # type: ignore[list-item]  # that is the point
    assert not judge_goal(lambda task: Verdict(()), "It works", messages=messages).complete


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
