"""Judges through the library: strict verdicts, outages, a judge asked alone (A1, A6, C10, C16)."""

from __future__ import annotations

from typing import Any

import pytest

from donewhen import (
    GoalVerdict,
    InvalidGoal,
    JudgeConfig,
    UsageError,
    ajudge_goal,
    judge_goal,
    run_goal,
)
from donewhen.core.errors import JudgeOutage
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


@pytest.mark.conformance("C16")
def test_c16_messages_are_no_evidence_wherever_they_are_given() -> None:
    messages: Any = [{"role": "assistant", "content": "I am done"}]
    with pytest.raises(UsageError, match="give them as `messages`"):
        judge_goal(lambda task: True, "It works", messages)
    with pytest.raises(UsageError, match="what was observed"):
        judge_goal(lambda task: True, "It works", ["I am done"])  # type: ignore[list-item]  # that is the point
    assert not judge_goal(lambda task: Verdict(()), "It works", messages=messages).complete
