"""Tool calls of a library run inside the wrappers of its caller's plugins, and the approval gate (C23, C24, A2)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from donewhen import AgentConfig, Answer, GoalOutcome, Halt, Interrupt, resume_goal, run_goal
from donewhen.plugins import PluginContext, ToolDoer, ToolOutcome, ToolUse, hookimpl
from tests.scripted_models import ScriptedModels, calls, calls_all, tool


class Desk:
    """A worker that makes its tool calls through the server. `made` are those that had an effect, `told` what each
    call came to."""

    def __init__(self, *wanted: tuple[str, str, Mapping[str, Any]]) -> None:
        self.wanted = [ToolUse(*one) for one in wanted]
        self.made: list[tuple[str, Mapping[str, Any]]] = []
        self.told: list[str] = []

    async def __call__(self, prompt: str, context: Any) -> str:
        for use in self.wanted:
            outcome = await context.use_tool(use, self._effect)
            self.told.append(outcome.text)
        return "done"

    async def _effect(self, use: ToolUse) -> ToolOutcome:
        self.made.append((use.tool, use.input))
        return ToolOutcome(f"{use.tool} {use.input['n']}", use.tool)


def done(response: Any, agent: Any) -> bool:
    return response == "done"


def pursue(worker: Any, *plugins: object, **options: Any) -> GoalOutcome:
    return run_goal("Do it", worker, checks=[done], plugins=plugins, **options)


class Clerk:
    """Denies, edits, answers instead, and takes the time, by the name of the tool."""

    name = "clerk"

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @hookimpl
    async def wrap_tool(self, use: ToolUse, proceed: ToolDoer) -> ToolOutcome:
        if use.tool == "deny":
            return ToolOutcome("error: not today", "refused", ok=False)
        if use.tool == "instead":
            return ToolOutcome("known by heart", "known")
        if use.tool == "edit":
            use = replace(use, input={"n": 7})
        begun = time.perf_counter()
        outcome = await proceed(use)
        self.seconds[use.tool] = time.perf_counter() - begun
        return replace(outcome, text=f"{outcome.text}!")


@pytest.mark.conformance("C24")
def test_c24_a_tool_call_is_wrapped_before_after_and_instead() -> None:
    worker = Desk(*((f"c{at}", name, {"n": at}) for at, name in enumerate(("plain", "deny", "instead", "edit"), 1)))
    clerk = Clerk()
    assert pursue(worker, clerk).status == "complete"
    assert worker.told == ["plain 1!", "error: not today", "known by heart", "edit 7!"]
    assert worker.made == [("plain", {"n": 1}), ("edit", {"n": 7})]
    assert set(clerk.seconds) == {"plain", "edit"}


# -------------------------------------------------------------------------------------------- the gate


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "workspace").mkdir()
    return {"workspace": tmp_path / "workspace", "state_dir": tmp_path / "state"}


COMMAND = ("c1", "run_command", {"command": "make docs", "n": 1})


@pytest.mark.conformance("C24", "A2")
@pytest.mark.parametrize(
    ("approve", "made"), [("deny", []), ("auto", [("run_command", COMMAND[2])])], ids=["deny", "auto"]
)
def test_c24_the_gate_stands_where_a_worker_uses_tools(places: dict[str, Any], approve: Any, made: list[Any]) -> None:
    worker = Desk(COMMAND)
    assert pursue(worker, approve=approve, **places).status == "complete"
    assert worker.made == made
    assert made or worker.told[0].startswith("not run: it was not allowed: this run asks no one")


@pytest.mark.conformance("C24", "A2")
def test_a02_what_always_asks_is_asked_about_in_every_mode(places: dict[str, Any]) -> None:
    worker = Desk(("c1", "run_command", {"command": "git push", "n": 1}))
    outcome = pursue(worker, approve="auto", **places)
    assert (outcome.status, worker.made) == ("paused", [])
    assert [one.kind for one in outcome.interrupts] == ["approval"]
    assert "Run `git push`?" in outcome.reason


@pytest.mark.conformance("C24", "C23")
@pytest.mark.parametrize(
    ("answer", "made", "told"),
    [
        (True, {"command": "make docs", "n": 1}, "run_command 1"),
        (False, None, "not run: it was not allowed"),
        ("", None, "not run: the person answered instead:"),
        ("write it by hand", None, "not run: the person answered instead:\nwrite it by hand"),
        (Answer("edit", input={"command": "make html"}), {"command": "make html", "n": 1}, "run_command 1"),
    ],
)
def test_c24_a_person_approves_denies_edits_or_answers(
    places: dict[str, Any], answer: Any, made: Mapping[str, Any] | None, told: str
) -> None:
    asked: list[Interrupt] = []
    worker = Desk(COMMAND)
    outcome = pursue(worker, approve="ask", on_interrupt=lambda one: asked.append(one) or answer, **places)
    assert (outcome.status, len(asked), asked[0].title) == ("complete", 1, "Run `make docs`?")
    assert worker.made == ([("run_command", made)] if made is not None else [])
    assert worker.told[0].startswith(told)


@pytest.mark.conformance("A2", "C23")
def test_a02_an_approval_waits_for_its_own_answer_across_sessions(places: dict[str, Any]) -> None:
    worker = Desk(COMMAND)
    waits = pursue(worker, approve="ask", **places)
    assert (waits.status, worker.made) == ("paused", [])
    again = resume_goal(waits.run_id, worker, checks=[done], **places)
    assert ([one.kind for one in again.interrupts], worker.made) == (["approval"], [])
    asked = again.interrupts[0].id
    outcome = resume_goal(None, worker, checks=[done], answers={asked: True}, **places)
    assert (outcome.status, worker.made) == ("complete", [("run_command", COMMAND[2])])


# ------------------------------------------------------------------------------------ the built-in agent


class Looks:
    """Halts before the command that speaks of two, once."""

    name = "looks"

    @hookimpl
    async def wrap_tool(self, use: ToolUse, proceed: ToolDoer, context: PluginContext) -> ToolOutcome:
        if "two" in str(use.input) and not context.get_state(bool, default=False):
            await context.set_state(True)
            raise Halt("look at two", {"call": use.call_id})
        return await proceed(use)


@pytest.mark.slow
@pytest.mark.conformance("C23", "C24")
def test_c23_the_agent_goes_on_at_the_very_call_and_nothing_is_done_twice(places: dict[str, Any]) -> None:
    wanted = calls_all(*(tool("run_command", command=f"echo {word} >> ran.txt") for word in ("one", "two", "three")))
    worker = (wanted, calls("report", state="finished", text="all of them"))
    checks = ["grep -c three ran.txt"]
    with ScriptedModels({"gpt-5.5": worker}) as models:
        agent = AgentConfig("openai/gpt-5.5", api_base=models.base_url, api_key="sk-of-nobody-0123456789abcdef")
        halted = run_goal("Write lines", agent, checks=checks, plugins=[Looks()], approve="auto", **places)
        assert (halted.status, halted.iterations) == ("waiting", 1)
        assert halted.halt is not None
        assert (halted.halt.plugin, halted.halt.reason) == ("looks", "look at two")
        assert (places["workspace"] / "ran.txt").read_text() == "one\n"
        asked = len(models.requests)
        outcome = resume_goal(halted.run_id, agent, plugins=[Looks()], plugin="looks", **places)
        assert (outcome.status, outcome.iterations) == ("complete", 1)
        assert (asked, len(models.requests)) == (1, 2)
    assert (places["workspace"] / "ran.txt").read_text() == "one\ntwo\nthree\n"
