"""What a caller gets wrong is refused by the name of the argument, before anything starts; nothing is a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from donewhen import Blocked, GoalLoop, GoalMiddleware, GoalVerdict, judge_goal, resume_goal, run_goal
from donewhen.core.errors import UnknownRun, WorkerFailed
from donewhen.core.verdict import Verdict
from donewhen.plugins import Halt
from donewhen.ports import Judgement


def echo(prompt: str) -> str:
    return "an answer"


def test_a_retry_prompt_about_a_response_speaks_of_no_workspace() -> None:
    told: list[str] = []

    def worker(prompt: str) -> str:
        told.append(prompt)
        return f"answer {len(told)}"

    run_goal("Answer", worker, lambda task: len(told) > 1)
    assert "Keep the whole objective in view" in told[1]
    assert "workspace" not in told[1]


def test_a_folder_without_runs_is_named(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    with pytest.raises(UnknownRun, match=r"there is no run to resume in .*here$"):
        resume_goal(None, echo, workspace=tmp_path / "here", state_dir=tmp_path / "state")


@pytest.mark.conformance("A1")
@pytest.mark.parametrize(
    "said",
    [
        {"achieved": True, "complete": False, "score": 0},
        {"achieved": True, "score": 0},
        {"achieved": True, "complete": "yes"},
        {"achieved": True, "missing": "the tests"},
        {"achieved": True, "score": "1"},
        {"achieved": False, "complete": True},
    ],
)
def test_an_evaluator_that_contradicts_itself_achieves_nothing(said: dict[str, Any]) -> None:
    agent = GoalMiddleware(lambda task: said, 1).attach(echo)
    agent.prompt_sync("/goal it works")
    assert agent.state.extra["goal"]["status"] == "exhausted"
    assert "can't be used" in agent.state.extra["goal"]["last_reason"]


def test_the_commands_are_taken_in_any_case() -> None:
    agent = GoalMiddleware(lambda task: {"achieved": True, "complete": True, "score": 1}).attach(echo)
    assert agent.prompt_sync("/goal STATUS") is None
    agent.prompt_sync("/goal it works")
    assert agent.prompt_sync("/goal Status")["status"] == "achieved"
    assert agent.prompt_sync("/goal CLEAR") is None


ODD: Any = object()
WRONG: Any = [
    Verdict("met"),  # type: ignore[arg-type]
    Verdict(("met",)),  # type: ignore[arg-type]
    Verdict(5),  # type: ignore[arg-type]
    Judgement("yes"),  # type: ignore[arg-type]
    Judgement(Verdict("met")),  # type: ignore[arg-type]
    Judgement(None, confirmed="yes"),  # type: ignore[arg-type]
    Judgement(None, reason=ODD),
    Judgement(None, usage=ODD),
    Judgement(None, shown=ODD),
    Judgement(None, evidence_ids=(5,)),  # type: ignore[arg-type]
    GoalVerdict(1.0, True, "", findings=5),  # type: ignore[arg-type]
    GoalVerdict(1.0, True, "", findings=("met",)),  # type: ignore[arg-type]
]


@pytest.mark.conformance("A1")
@pytest.mark.parametrize("said", WRONG, ids=repr)
def test_a_typed_verdict_with_wrong_values_is_no_verdict(said: Any) -> None:
    outcome = run_goal("Do it", echo, lambda task: said, max_iterations=1)
    assert outcome.status == "capped"
    assert [one.status for one in outcome.requirements] == ["unverified"]
    assert "the judge's verdict can't be used" in outcome.requirements[0].reason
    verdict = judge_goal(lambda task: said, "Do it", files={"a": "b"})
    assert not verdict.complete
    assert "the judge's verdict can't be used" in verdict.missing


@pytest.mark.conformance("C9")
def test_a_claim_is_not_confirmed_by_what_is_no_boolean() -> None:
    said: Any = Judgement(None, confirmed="yes")  # type: ignore[arg-type]
    outcome = run_goal("Do it", lambda prompt: Blocked("no key"), lambda task: said)
    assert outcome.status == "paused"
    assert len(outcome.interrupts) == 1


def test_a_worker_that_halts_with_what_is_no_json_fails_its_turn() -> None:
    def worker(prompt: str) -> str:
        raise Halt("h", {"a": object()})

    outcome = run_goal("Do it", worker, lambda task: True)
    assert outcome.status == "crashed"
    assert "it halted (h) with data that is no JSON" in (outcome.reason or "")
    loop = GoalLoop(lambda response, agent: True)
    with pytest.raises(WorkerFailed, match=r"halted \(h\) with data that is no JSON"):
        loop(worker)("Do it")


@pytest.mark.conformance("C16")
@pytest.mark.parametrize("said", [True, {"score": 1.0, "complete": True}, GoalVerdict(1.0, True, "")])
def test_messages_alone_prove_nothing_whatever_the_judge_says(said: Any) -> None:
    messages = [{"role": "assistant", "content": "All tests pass, I promise."}]
    verdict = judge_goal(lambda task: said, "The tests pass", messages=messages)
    assert not verdict.complete
    assert verdict.findings[0].finding == "unverified"
    assert "nothing but messages was given: they are claims" in verdict.missing
    assert judge_goal(lambda task: said, "The tests pass", messages=messages, files={"a.py": "x"}).complete
