"""`/goal` in the messages of an agent: its text form, its state, steering, and a workspace that decides for itself."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from donewhen.core.errors import AlreadyRunning, InvalidGoal, JudgeOutage, UsageError, WorkerFailed
from donewhen.extras.lookalikes.middleware import GoalAgent, GoalMiddleware, goal_command
from donewhen.plugins import AuditAhead, Halt, hookimpl
from donewhen.workers.callables.judges import AuditTask
from tests.tools import each_row

CONDITION = "the answer names all seven colours"


class Worker:
    """Gives its answers one after the other, the last one again and again; `gate` holds it up."""

    def __init__(self, *answers: Any, gate: asyncio.Event | None = None) -> None:
        self.answers = list(answers)
        self.prompts: list[Any] = []
        self.gate = gate
        self.entered = asyncio.Event()
        self.cancelled = 0

    async def __call__(self, prompt: Any, **more: Any) -> Any:
        self.prompts.append(prompt)
        self.entered.set()
        try:
            if self.gate is not None:
                await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def says(*found: Any) -> Callable[[AuditTask], Any]:
    """An evaluator that finds this, one after the other."""
    left = list(found)
    return lambda task: left.pop(0)


def achieved(reason: str = "all seven are there") -> dict[str, Any]:
    return {"achieved": True, "reason": reason}


def missing(reason: str = "indigo is missing") -> dict[str, Any]:
    return {"achieved": False, "reason": reason}


def goal_of(agent: GoalAgent) -> dict[str, Any]:
    return agent.state.extra["goal"]


# --------------------------------------------------------------------------------------- the text form


@pytest.mark.conformance("C22")
@each_row(
    "message, command",
    [
        ("fix the bug in auth.py", None),
        ("/goals are good", None),
        ("/goalkeeper", None),
        ("see /goal below", None),
        ("", None),
        ([{"text": "/goal x"}], None),
        ({"role": "assistant", "content": "/goal x"}, None),
        ({"role": "user", "content": [{"type": "text", "text": "/goal x"}]}, ("start", "x")),
        (SimpleNamespace(role="user", content=[SimpleNamespace(text="/goal x")]), ("start", "x")),
        ("/goal make it fast", ("start", "make it fast")),
        ("  /goal\n make it\nfast ", ("start", "make it\nfast")),
        ("/goal stop the server from crashing", ("start", "stop the server from crashing")),
        ("/goal", ("status", "")),
        (" /goal  ", ("status", "")),
        *((f"/goal {word}", (word, "")) for word in ("status", "pause", "resume", "stop", "clear")),
    ],
)
def test_c22_the_text_form(message: Any, command: tuple[str, str] | None) -> None:
    assert goal_command(message) == command


@pytest.mark.conformance("C22")
async def test_c22_any_other_message_goes_through_untouched() -> None:
    worker = Worker("fixed")
    agent = GoalMiddleware(says()).attach(worker)
    assert await agent.prompt("fix the bug in auth.py", tone="calm") == "fixed"
    blocks = [{"text": "/goal in a block"}]
    await agent.prompt(blocks)
    assert worker.prompts == ["fix the bug in auth.py", blocks]
    assert agent.state.extra == {}
    assert await agent.prompt("/goal") is None


# ---------------------------------------------------------------------------------------- the loop


@pytest.mark.conformance("C22", "C2", "C15")
async def test_it_works_until_the_condition_is_achieved() -> None:
    worker, tasks = Worker("six colours", "seven colours"), list[AuditTask]()
    seen: list[dict[str, Any]] = []

    def evaluator(task: AuditTask) -> dict[str, Any]:
        tasks.append(task)
        seen.append(dict(goal_of(agent)))
        return achieved() if "seven" in task.response else missing()

    agent = GoalMiddleware(evaluator).attach(worker)
    assert await agent.prompt(f"/goal {CONDITION}") == "seven colours"
    assert goal_of(agent) == {
        "status": "achieved",
        "condition": CONDITION,
        "evaluations": 2,
        "max_evaluations": 10,
        "last_reason": "all seven are there",
    }
    first = {"status": "active", "condition": CONDITION, "evaluations": 0, "max_evaluations": 10, "last_reason": ""}
    assert seen == [first, {**first, "evaluations": 1, "last_reason": "indigo is missing"}]
    assert worker.prompts[0] == CONDITION
    assert "indigo is missing" in worker.prompts[1]
    assert "/goal" not in "".join(worker.prompts)
    assert [task.objective for task in tasks] == [CONDITION, CONDITION]


@pytest.mark.conformance("C2", "A7", "A15")
@pytest.mark.parametrize("most", [1, 3])
async def test_it_gives_up_after_so_many_evaluations(most: int) -> None:
    worker = Worker("no")
    agent = GoalMiddleware(lambda task: missing(), max_evaluations=most).attach(worker)
    assert await agent.prompt(f"/goal {CONDITION}") == "no"
    found = goal_of(agent)
    assert (found["status"], found["evaluations"], found["max_evaluations"], found["last_reason"]) == (
        "exhausted", most, most, "indigo is missing",
    )  # fmt: skip
    assert len(worker.prompts) == most


@pytest.mark.conformance("C8")
async def test_a_turn_that_failed_is_no_evaluation() -> None:
    worker = Worker("no", RuntimeError("gone"), "yes")
    agent = GoalMiddleware(says(missing(), achieved())).attach(worker)
    assert await agent.prompt(f"/goal {CONDITION}") == "yes"
    assert (goal_of(agent)["evaluations"], len(worker.prompts)) == (2, 3)
    assert worker.prompts[1] == worker.prompts[2]


@pytest.mark.conformance("C8")
async def test_an_agent_that_keeps_failing_ends_it() -> None:
    agent = GoalMiddleware(says()).attach(Worker(RuntimeError("gone")))
    with pytest.raises(WorkerFailed, match="gone"):
        await agent.prompt(f"/goal {CONDITION}")
    assert goal_of(agent)["status"] == "failed"
    assert "gone" in goal_of(agent)["last_reason"]


@pytest.mark.conformance("C4")
async def test_c04_the_timeout_is_for_the_whole_goal() -> None:
    agent = GoalMiddleware(says(), timeout=0.1).attach(Worker("no", gate=asyncio.Event()))
    assert await agent.prompt(f"/goal {CONDITION}") is None
    assert goal_of(agent)["status"] == "exhausted"
    assert "time limit" in goal_of(agent)["last_reason"]


@pytest.mark.conformance("A1")
@pytest.mark.parametrize("said", [{"achieved": "yes"}, {"achieved": 1, "reason": "x"}, {"achieved": True, "reason": 1}])
async def test_a01_what_is_no_boolean_achieves_nothing(said: Any) -> None:
    agent = GoalMiddleware(lambda task: said, max_evaluations=1).attach(Worker("no"))
    await agent.prompt(f"/goal {CONDITION}")
    assert goal_of(agent)["status"] == "exhausted"


@pytest.mark.conformance("C1")
@each_row("given", [0, -1, 1.5, math.nan, True, "many"])
def test_c01_a_cap_that_can_not_be_is_refused_by_name(given: Any) -> None:
    with pytest.raises(InvalidGoal, match="max_evaluations"):
        GoalMiddleware(says(), max_evaluations=given)
    with pytest.raises(InvalidGoal, match="timeout"):
        GoalMiddleware(says(), timeout=math.nan)


def test_without_await_it_does_the_same() -> None:
    def worker(prompt: str) -> str:
        return "seven colours"

    agent = GoalMiddleware(lambda task: achieved()).attach(worker)
    assert agent.prompt_sync(f"/goal {CONDITION}") == "seven colours"
    assert goal_of(agent)["status"] == "achieved"


# ------------------------------------------------------------------------------- what evaluators read


async def test_the_evaluator_reads_the_last_20_messages_of_an_agent_that_shows_them() -> None:
    class Agent:
        def __init__(self) -> None:
            self.messages: list[dict[str, str]] = [{"role": "user", "content": "the very first"}]
            self.state = SimpleNamespace(extra={"mine": 1})

        async def prompt(self, text: str) -> str:
            self.messages.append({"role": "user", "content": text})
            self.messages += [{"role": "tool", "content": f"tool output {number}"} for number in range(24)]
            self.messages.append({"role": "assistant", "content": "done"})
            return "done"

    read: list[str] = []
    inner = Agent()
    agent = GoalMiddleware(lambda task: read.append(task.response) or achieved()).attach(inner)
    await agent.prompt("/goal x")
    assert "the very first" not in read[0]
    assert read[0].startswith("tool: tool output 5")
    assert read[0].endswith("assistant: done")
    assert agent.messages is inner.messages
    assert inner.state.extra["goal"]["status"] == "achieved"
    assert inner.state.extra["mine"] == 1


async def test_of_any_other_agent_it_reads_the_last_responses() -> None:
    read: list[str] = []

    def evaluator(task: AuditTask) -> dict[str, Any]:
        read.append(task.response)
        return achieved() if len(read) == 2 else missing()

    agent = GoalMiddleware(evaluator).attach(Worker("first words", "last words"))
    await agent.prompt("/goal x")
    assert read == ["first words", "response 1:\nfirst words\n\nresponse 2:\nlast words"]


# ------------------------------------------------------------------------------------------- steering


@pytest.mark.conformance("C22", "C20")
async def test_c22_paused_it_goes_on_with_the_same_counts() -> None:
    go_on = asyncio.Event()
    worker = Worker("one", "two", "three", gate=go_on)
    agent = GoalMiddleware(says(missing("first"), achieved("at last"))).attach(worker)
    first = asyncio.ensure_future(agent.prompt(f"/goal {CONDITION}"))
    await worker.entered.wait()
    worker.gate = asyncio.Event()
    worker.entered.clear()
    go_on.set()
    await worker.entered.wait()  # the second turn, after one evaluation
    paused = await agent.prompt("/goal pause")
    assert paused is goal_of(agent)
    assert (paused["status"], paused["evaluations"], paused["last_reason"]) == ("paused", 1, "first")
    assert await first == "one"
    assert worker.cancelled == 1
    assert (await agent.prompt("/goal status"))["status"] == "paused"
    worker.gate = None
    assert await agent.prompt("/goal resume") == "two"
    assert (goal_of(agent)["status"], goal_of(agent)["evaluations"]) == ("achieved", 2)
    assert worker.prompts[1] == worker.prompts[2]


@pytest.mark.conformance("C22", "C19", "A3", "A5")
@pytest.mark.parametrize("phase", ["working", "judging"])
async def test_c22_stop_ends_it_at_once_and_nothing_leaks_into_the_next_prompt(phase: str) -> None:
    entered = asyncio.Event()

    async def evaluator(task: AuditTask) -> Any:
        entered.set()
        await asyncio.Event().wait()

    worker = Worker("no", gate=asyncio.Event() if phase == "working" else None)
    agent = GoalMiddleware(evaluator).attach(worker)
    run = asyncio.ensure_future(agent.prompt(f"/goal {CONDITION}"))
    await (worker.entered if phase == "working" else entered).wait()
    stopped = await agent.prompt("/goal stop")
    assert stopped is not None
    assert stopped["status"] == "stopped"
    await run
    assert goal_of(agent)["status"] == "stopped"
    worker.gate = None
    assert await agent.prompt("hello") == "no"
    assert worker.prompts[-1] == "hello"
    assert len(worker.prompts) == 2
    for command in ("/goal stop", "/goal pause", "/goal resume"):
        with pytest.raises(UsageError, match="nothing to"):
            await agent.prompt(command)


@pytest.mark.conformance("A3")
async def test_a03_cancelling_the_prompt_stops_the_goal() -> None:
    worker = Worker("no", gate=asyncio.Event())
    agent = GoalMiddleware(says()).attach(worker)
    run = asyncio.ensure_future(agent.prompt(f"/goal {CONDITION}"))
    await worker.entered.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert (goal_of(agent)["status"], worker.cancelled) == ("stopped", 1)


@pytest.mark.conformance("C22", "A5")
async def test_c22_clear_forgets_also_what_is_under_way() -> None:
    worker = Worker("no", gate=asyncio.Event())
    agent = GoalMiddleware(says(achieved())).attach(worker)
    run = asyncio.ensure_future(agent.prompt(f"/goal {CONDITION}"))
    await worker.entered.wait()
    assert await agent.prompt("/goal clear") is None
    await run
    assert agent.state.extra == {}
    worker.gate = None
    await agent.prompt("/goal something else")
    assert (goal_of(agent)["condition"], goal_of(agent)["evaluations"]) == ("something else", 1)
    assert worker.prompts[-1] == "something else"


@pytest.mark.conformance("C7", "C19")
async def test_c19_a_second_goal_meanwhile_is_refused() -> None:
    worker = Worker("no", gate=asyncio.Event())
    agent = GoalMiddleware(says()).attach(worker)
    run = asyncio.ensure_future(agent.prompt(f"/goal {CONDITION}"))
    await worker.entered.wait()
    with pytest.raises(UsageError, match="under way"):
        await agent.prompt("/goal another one")
    await agent.prompt("/goal pause")
    await run
    with pytest.raises(UsageError, match="paused"):
        await agent.prompt("/goal another one")
    assert goal_of(agent)["condition"] == CONDITION
    await agent.prompt("/goal stop")
    assert goal_of(agent)["status"] == "stopped"


@pytest.mark.conformance("A6")
async def test_a06_an_outage_pauses_it_and_resuming_asks_again() -> None:
    down = [True]

    def evaluator(task: AuditTask) -> Any:
        if down[0]:
            raise JudgeOutage("no key", final=True)
        return achieved()

    worker = Worker("no")
    agent = GoalMiddleware(evaluator).attach(worker)
    with pytest.raises(JudgeOutage, match="no key"):
        await agent.prompt(f"/goal {CONDITION}")
    assert (goal_of(agent)["status"], goal_of(agent)["evaluations"]) == ("paused", 0)
    assert "no key" in goal_of(agent)["last_reason"]
    down[0] = False
    await agent.prompt("/goal resume")
    assert (goal_of(agent)["status"], goal_of(agent)["evaluations"], len(worker.prompts)) == ("achieved", 1, 1)


@pytest.mark.conformance("A5", "C7")
async def test_a05_one_middleware_serves_many_agents() -> None:
    goal = GoalMiddleware(lambda task: achieved() if task.objective in task.response else missing())
    agents = [goal.attach(Worker("nothing yet", f"answer: c{number}.")) for number in range(10)]
    await asyncio.gather(*(agent.prompt(f"/goal c{number}.") for number, agent in enumerate(agents)))
    assert [goal_of(agent)["condition"] for agent in agents] == [f"c{number}." for number in range(10)]
    assert {goal_of(agent)["evaluations"] for agent in agents} == {2}


def test_what_is_no_agent_is_refused() -> None:
    with pytest.raises(UsageError, match="method `prompt`"):
        GoalMiddleware(says()).attach(5)
    with pytest.raises(UsageError, match="judge"):
        GoalMiddleware(5)  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------- a workspace


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "workspace"
    made.mkdir()
    (made / "check.py").write_text("import sys\nsys.exit(open('a.txt').read() != 'good')\n")
    (made / "a.txt").write_text("bad")
    return made


@pytest.mark.conformance("A8", "A17", "C22")
async def test_a08_in_a_workspace_the_named_command_decides_whatever_is_said(folder: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} check.py"
    asked: list[AuditTask] = []

    def gullible(task: AuditTask) -> dict[str, Any]:
        asked.append(task)
        return achieved("it says so")

    worker = Worker(f"`{command}` passes: exit code 0. Everything is done.")
    goal = GoalMiddleware(gullible, max_evaluations=2, workspace=folder, state_dir=tmp_path / "state")
    agent = goal.attach(worker)
    await agent.prompt(f"/goal `{command}` passes")
    assert goal_of(agent)["status"] == "exhausted"
    assert "check.py" in goal_of(agent)["last_reason"]
    assert not any("Everything is done" in repr(task) for task in asked)

    async def honest(prompt: str) -> str:
        (folder / "a.txt").write_text("good")
        return "fixed"

    other = goal.attach(honest)
    assert await other.prompt(f"/goal `{command}` passes") == "fixed"
    assert goal_of(other)["status"] == "achieved"


@pytest.mark.conformance("C7", "C19", "C20", "C22")
async def test_c19_in_one_workspace_one_goal_is_pursued_and_a_paused_one_goes_on(folder: Path, tmp_path: Path) -> None:
    command = f"{sys.executable} check.py"
    asked: list[str] = []

    def on_interrupt(interrupt: Any) -> bool:
        asked.append(interrupt.title)
        return True

    goal = GoalMiddleware(
        lambda task: achieved(), workspace=folder, state_dir=tmp_path / "state", on_interrupt=on_interrupt
    )
    go_on = asyncio.Event()
    worker = Worker("no", gate=go_on)
    agent = goal.attach(worker)
    run = asyncio.ensure_future(agent.prompt(f"/goal `{command}` passes"))
    await worker.entered.wait()
    other = goal.attach(Worker("no"))
    with pytest.raises(AlreadyRunning):
        await other.prompt("/goal something else")
    assert goal_of(other)["status"] == "failed"
    assert (await agent.prompt("/goal pause"))["status"] == "paused"
    await run
    (folder / "a.txt").write_text("good")
    go_on.set()
    await agent.prompt("/goal resume")
    assert asked == ["Edited since the turn was cut off: a.txt. Keep these edits?"]
    assert goal_of(agent)["status"] == "achieved"
    assert await other.prompt("hello") == "no"


@pytest.mark.conformance("C23", "C22")
@pytest.mark.parametrize("word", ["resume", "stop"])
async def test_a_goal_that_a_plugin_halted_is_paused_and_goes_on_from_there(word: str) -> None:
    class Looks:
        name = "looks"

        def __init__(self) -> None:
            self.asked: list[Any] = []

        @hookimpl
        def before_audit(self, audit: AuditAhead) -> None:
            if audit.iteration and not self.asked:
                raise Halt("have a look", {"at": 1})

        @hookimpl
        def on_resume(self, data: Any) -> None:
            self.asked.append(data)

    worker, looks = Worker("all of them"), Looks()
    agent = GoalMiddleware(says(achieved()), plugins=(looks,)).attach(worker)
    assert await agent.prompt(f"/goal {CONDITION}") == "all of them"
    assert (goal_of(agent)["status"], goal_of(agent)["last_reason"]) == ("paused", "have a look")
    ended = await agent.prompt(f"/goal {word}")
    if word == "stop":
        assert (ended["status"], len(worker.prompts)) == ("stopped", 1)
        return
    assert (ended, goal_of(agent)["status"], goal_of(agent)["evaluations"]) == ("all of them", "achieved", 1)
    assert (looks.asked, len(worker.prompts)) == ([None], 1)


async def test_a_goal_that_a_plugin_ends_has_failed() -> None:
    class Ends:
        @hookimpl
        def before_turn(self) -> None:
            raise Halt("never", resumable=False)

    agent = GoalMiddleware(says(achieved()), plugins=(Ends(),)).attach(Worker("x"))
    await agent.prompt(f"/goal {CONDITION}")
    assert (goal_of(agent)["status"], goal_of(agent)["evaluations"]) == ("failed", 0)
    assert "never" in goal_of(agent)["last_reason"]


def test_an_evaluator_is_needed() -> None:
    with pytest.raises(UsageError, match="an evaluator is needed"):
        GoalMiddleware(None)  # type: ignore[arg-type]  # that is the point
