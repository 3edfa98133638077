"""What judges and evaluators see of a conversation: tools and their results, in the shapes of their makers, and never a
system message; what a middleware takes up, and what takes the place of its goal."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from donewhen import AuditTask, GoalController, GoalLoop, GoalMiddleware, judge_goal
from donewhen.core.calls import Message, ToolCall, messages_of

CALL = '[calls read_file with {"path": "a.py"}]'
USED = {"name": "read_file", "input": {"path": "a.py"}}
GAVE = [{"text": "x = 1"}]
SHAPES: dict[str, list[dict[str, Any]]] = {
    "openai": [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "read_file", "arguments": '{"path": "a.py"}'}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "x = 1"},
    ],
    "anthropic": [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", **USED}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": GAVE}]},
    ],
    "strands": [
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", **USED}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "status": "success", "content": GAVE}}]},
    ],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_tool_calls_and_results_are_read_in_the_shapes_of_their_makers(shape: str) -> None:
    call, result = messages_of([{"role": "system", "content": "SECRET"}, *SHAPES[shape]])
    assert (call.role, call.text, call.calls[0].name) == ("assistant", CALL, "read_file")
    assert "x = 1" in result.text


class Agent:
    """An agent with messages of its own."""

    def __init__(self, shape: str) -> None:
        self.messages: list[Any] = [{"role": "system", "content": "SECRET RULES"}]
        self._shape = shape

    def __call__(self, prompt: str) -> str:
        answer = {"role": "assistant", "content": "It is 1."}
        self.messages += [{"role": "user", "content": prompt}, *SHAPES[self._shape], answer]
        return "It is 1."


@pytest.mark.parametrize("shape", SHAPES)
def test_an_evaluator_and_a_loops_judge_see_what_tools_were_called_and_returned(shape: str) -> None:
    seen: list[str] = []

    def evaluator(task: AuditTask) -> bool:
        seen.append(task.response)
        return True

    def judge(task: AuditTask) -> bool:
        seen.append("\n".join(one.text for one in task.messages))
        return True

    GoalMiddleware(evaluator).attach(Agent(shape)).prompt_sync("/goal the value is told")
    GoalLoop("It looked before it answered", judge=judge).attach(Agent(shape))("What is x?")
    for text in seen:
        assert CALL in text
        assert "x = 1" in text
        assert "SECRET" not in text
    assert "What is x?" in seen[1]


def test_a_loops_judge_hears_what_went_to_and_fro_where_the_worker_has_no_messages() -> None:
    heard: list[list[tuple[str, str]]] = []

    def judge(task: AuditTask) -> bool:
        heard.append([(one.role, one.text) for one in task.messages])
        return len(heard) == 2

    answers = iter(["first", "second"])
    GoalLoop("It is better than the first", judge=judge).attach(lambda prompt: next(answers))("Write")
    assert heard[0] == [("user", "Write"), ("assistant", "first")]
    assert [text for role, text in heard[1] if role == "assistant"] == ["first", "second"]


def test_system_messages_never_reach_a_judge() -> None:
    seen: list[Any] = []

    def judge(task: AuditTask) -> bool:
        seen.extend(task.messages)
        return False

    talk = [{"role": "developer", "content": "SECRET"}, {"role": "user", "content": "hello"}]
    judge_goal(judge, "It is polite", messages=talk)
    controller = GoalController("It is polite", judge)
    controller.start()
    controller.on_run_finished(talk)
    assert [one.text for one in seen] == ["hello", "hello"]


@pytest.mark.conformance("C22")
async def test_a_message_takes_the_place_of_a_goal_that_is_under_way() -> None:
    entered, prompts = asyncio.Event(), list[str]()

    async def worker(prompt: str) -> str:
        prompts.append(prompt)
        if prompt == "it is fast":
            entered.set()
            await asyncio.Event().wait()
        return "sure"

    agent = GoalMiddleware(lambda task: False).attach(worker)
    pursuing = asyncio.ensure_future(agent.prompt("/goal it is fast"))
    await entered.wait()
    assert await agent.prompt("do something else") == "sure"
    await pursuing
    assert (prompts, agent.state.extra["goal"]["status"]) == (["it is fast", "do something else"], "stopped")


@pytest.mark.conformance("C20", "C22")
async def test_a_fresh_middleware_takes_up_the_goal_that_is_on_record(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "check.py").write_text("from it import ok\n\nassert ok()\n")
    condition = "`python -S check.py` passes"
    second, prompts = asyncio.Event(), list[str]()

    async def first(prompt: str) -> str:
        prompts.append(prompt)
        if len(prompts) == 2:
            second.set()
            await asyncio.Event().wait()
        return "All tests pass."

    def middleware() -> GoalMiddleware:
        return GoalMiddleware(lambda task: True, 5, workspace=folder, state_dir=tmp_path / "s")

    agent = middleware().attach(first)
    pursuing = asyncio.ensure_future(agent.prompt(f"/goal {condition}"))
    await second.wait()
    await agent.prompt("/goal pause")
    await pursuing

    async def better(prompt: str) -> str:
        prompts.append(prompt)
        (folder / "it.py").write_text("def ok():\n    return True\n")
        return "Done."

    fresh = middleware().attach(better)
    told = await fresh.prompt("/goal status")
    assert (told["status"], told["condition"], told["evaluations"]) == ("paused", condition, 1)
    assert await fresh.prompt("/goal resume") == "Done."
    assert condition in prompts[-1]
    assert "No module named" in prompts[-1]
    assert (fresh.state.extra["goal"]["status"], fresh.state.extra["goal"]["evaluations"]) == ("achieved", 2)
    assert await middleware().attach(better).prompt("/goal status") is None


def test_without_a_workspace_the_agents_own_state_is_taken_up() -> None:
    class Stateful:
        def __init__(self) -> None:
            goal = {"status": "active", "condition": "it is 42", "evaluations": 8, "max_evaluations": 10}
            self.state = type("State", (), {"extra": {"goal": {**goal, "last_reason": "not yet"}}})()

        def prompt(self, text: str) -> str:
            return "41"

    agent = GoalMiddleware(lambda task: False).attach(Stateful())
    agent.prompt_sync("/goal resume")
    assert (agent.state.extra["goal"]["status"], agent.state.extra["goal"]["evaluations"]) == ("exhausted", 10)


def test_tool_arguments_of_a_message_may_be_a_mapping() -> None:
    message = Message("assistant", "", (ToolCall("t1", "read_file", {"path": "é"}),))  # type: ignore[arg-type]
    assert message.calls[0].arguments == '{"path": "é"}'
