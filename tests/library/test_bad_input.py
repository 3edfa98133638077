"""What a caller gets wrong is refused by the name of the argument, before anything starts; nothing is a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from donewhen import (
    AgentConfig,
    Blocked,
    GoalVerdict,
    InvalidGoal,
    JudgeConfig,
    Question,
    UsageError,
    judge_goal,
    resume_goal,
    run_goal,
)
from donewhen.core.errors import UnknownRun
from donewhen.core.verdict import Verdict
from donewhen.plugins import Halt
from donewhen.ports import Judgement
from tests.tools import each_row


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
@each_row("said", WRONG, ids=lambda said: repr(said).replace(repr(ODD), "ODD"))
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
    assert "it halted (h) with data that is not JSON" in (outcome.reason or "")


@pytest.mark.conformance("C16")
@pytest.mark.parametrize("said", [True, {"score": 1.0, "complete": True}, GoalVerdict(1.0, True, "")])
def test_messages_alone_prove_nothing_whatever_the_judge_says(said: Any) -> None:
    messages = [{"role": "assistant", "content": "All tests pass, I promise."}]
    verdict = judge_goal(lambda task: said, "The tests pass", messages=messages)
    assert not verdict.complete
    assert verdict.findings[0].finding == "unverified"
    assert "only messages were given, and they are claims" in verdict.missing
    assert judge_goal(lambda task: said, "The tests pass", messages=messages, files={"a.py": "x"}).complete


REFUSED: Any = [
    ({"timeout": "soon"}, "timeout"),
    ({"timeout": "30"}, "timeout"),
    ({"timeout": "0s"}, "timeout"),
    ({"budget": "1"}, "budget"),
    ({"check_timeout": "x"}, "check_timeout"),
    ({"check_timeout": [5]}, "check_timeout"),
    ({"checks": None}, r"checks is a sequence: checks=\[...\]"),
    ({"checks": echo}, r"checks is a sequence: checks=\[...\]"),
    ({"checks": "pytest"}, r"checks is a sequence: checks=\[...\]"),
    ({"plugins": object()}, r"plugins is a sequence: plugins=\[...\]"),
    ({"plugins": "mine"}, r"plugins is a sequence: plugins=\[...\]"),
    ({"workspace": 5}, "workspace"),
    ({"workspace": ""}, "workspace"),
    ({"workspace": "a\0b"}, "workspace"),
    ({"state_dir": 5}, "state_dir"),
    ({"approve": "yes"}, "approve must be one of ask, auto, deny"),
    ({"preserve_context": "x"}, "preserve_context must be True or False"),
    ({"durable": "no"}, "durable must be True or False"),
    ({"on_event": 5}, "on_event must be a function"),
    ({"on_interrupt": 5}, "on_interrupt must be a function"),
    ({"resume_prompt_template": "Again: {}"}, "resume_prompt_template must be a function"),
]


@pytest.mark.conformance("C1")
@each_row("given, named", REFUSED)
def test_an_argument_that_can_not_be_used_is_refused_by_its_name(given: dict[str, Any], named: str) -> None:
    with pytest.raises((UsageError, InvalidGoal), match=named):
        run_goal("Do it", echo, lambda task: True, **given)


@pytest.mark.parametrize("given", [{"timeout": "30m"}, {"check_timeout": "1h30m"}, {"timeout": 5}])
def test_times_may_be_texts(given: dict[str, Any]) -> None:
    assert run_goal("Do it", echo, lambda task: True, **given).status == "complete"


def test_what_on_interrupt_returns_has_to_be_an_answer() -> None:
    def ask(prompt: str) -> Question:
        return Question("Which?")

    with pytest.raises(UsageError, match="what on_interrupt returns must be True, False, text or an Answer; it is 5"):
        run_goal("Do it", ask, lambda task: True, on_interrupt=lambda one: 5)
    outcome = run_goal("Do it", ask, lambda task: True, on_interrupt=lambda one: None)
    assert outcome.status == "paused"
    assert len(outcome.interrupts) == 1


def yes(task: object) -> bool:
    return True


# Callers are not always type-checked.
AGENT: Any = AgentConfig
JUDGE: Any = JudgeConfig
ASK: Any = judge_goal
MISTAKES: Any = [
    (lambda: AGENT(None), "the agent's model"),
    (lambda: AGENT("a/b", temperature="hot"), "the agent's temperature"),
    (lambda: AGENT("a/b", tool_calls=0), "the agent's tool_calls"),
    (lambda: JUDGE(None), "the judge's model"),
    (lambda: JUDGE("a/b", temperature="hot"), "the judge's temperature"),
    (lambda: JUDGE("a/b", rule="zzz"), "the judge's rule must be one of majority, unanimity"),
    (lambda: JUDGE("a/b", calls=-3), "the judge's calls"),
    (lambda: JUDGE("a/b", tokens=True), "the judge's tokens"),
    (lambda: JUDGE("a/b", api_key=5), "the judge's api_key"),
    (lambda: ASK(yes, None), "goal must be text or a Goal; it is NoneType"),
    (lambda: ASK(yes, " "), "goal is empty"),
    (lambda: ASK(yes, "It works", files=["a"]), "files must map paths to texts"),
    (lambda: ASK(yes, "It works", files={"a": b"x"}), "files must map paths to texts"),
    (lambda: ASK(yes, "It works", messages=[5]), "message 1 must be a mapping"),
    (lambda: ASK(yes, "It works", messages=5), "messages must be a sequence"),
    (lambda: ASK(yes, "It works", 5), "evidence must be a sequence"),
]


@each_row("make, named", MISTAKES)
def test_configs_and_judges_name_what_is_wrong(make: Callable[[], Any], named: str) -> None:
    with pytest.raises((UsageError, InvalidGoal), match=named):
        make()
