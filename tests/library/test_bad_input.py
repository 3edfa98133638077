"""What a caller gets wrong is refused by the name of the argument, before anything starts; nothing is a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from donewhen import (
    AgentConfig,
    Blocked,
    GoalController,
    GoalLoop,
    GoalMiddleware,
    GoalVerdict,
    InvalidGoal,
    JudgeConfig,
    Question,
    UsageError,
    judge_goal,
    resume_goal,
    run_goal,
)
from donewhen.core.errors import UnknownRun, WorkerFailed
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


@pytest.mark.conformance("A1")
@each_row(
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
    loop = GoalLoop(lambda response, agent: True)
    with pytest.raises(WorkerFailed, match=r"halted \(h\) with data that is not JSON"):
        loop(worker)("Do it")


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


def test_loops_take_times_as_texts_too() -> None:
    assert GoalLoop(echo, timeout="30m").limits.timeout == 1800
    assert GoalMiddleware(lambda task: True, timeout="90s").pursuing.timeout == 90


@each_row(
    "make, named",
    [
        (lambda: GoalLoop(echo, judge=5), "a judge is"),  # type: ignore[arg-type]
        (lambda: GoalLoop(echo, plugins=object()), "plugins"),  # type: ignore[arg-type]
        (lambda: GoalLoop(echo, preserve_context="x"), "preserve_context"),  # type: ignore[arg-type]
        (lambda: GoalLoop(echo, timeout="soon"), "timeout"),
        (lambda: GoalMiddleware(lambda task: True, workspace=5), "workspace"),  # type: ignore[arg-type]
        (lambda: GoalMiddleware(lambda task: True, plugins=5), "plugins"),  # type: ignore[arg-type]
        (lambda: GoalMiddleware(lambda task: True, on_interrupt=5), "on_interrupt"),  # type: ignore[arg-type]
    ],
)
def test_loops_and_middleware_refuse_alike(make: Callable[[], Any], named: str) -> None:
    with pytest.raises((UsageError, InvalidGoal), match=named):
        make()


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
CONTROLLER: Any = GoalController
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
    (lambda: CONTROLLER(5), "goal must be text or a Goal; it is int"),
    (lambda: ASK(yes, None), "goal must be text or a Goal; it is NoneType"),
    (lambda: ASK(yes, " "), "goal is empty"),
    (lambda: ASK(yes, "It works", files=["a"]), "files must map paths to texts"),
    (lambda: ASK(yes, "It works", files={"a": b"x"}), "files must map paths to texts"),
    (lambda: ASK(yes, "It works", messages=[5]), "message 1 must be a mapping"),
    (lambda: ASK(yes, "It works", messages=5), "messages must be a sequence"),
    (lambda: ASK(yes, "It works", 5), "evidence must be a sequence"),
]


@each_row("make, named", MISTAKES)
def test_configs_controllers_and_judges_name_what_is_wrong(make: Callable[[], Any], named: str) -> None:
    with pytest.raises((UsageError, InvalidGoal), match=named):
        make()


@pytest.mark.parametrize("messages", [5, [5], "hi"])
def test_a_controller_refuses_messages_that_are_none(messages: Any) -> None:
    controller = GoalController("It works", yes)
    controller.start()
    with pytest.raises(UsageError, match="message"):
        controller.on_run_finished(messages)
