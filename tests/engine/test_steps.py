"""What a run did, step by step, and what a person says to its worker unasked."""

from __future__ import annotations

import asyncio

import pytest

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import UnknownRun, UsageError
from donewhen.core.work import Claim, TurnResult, Usage
from donewhen.engine.api import RunStep, StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.ports import Turn, TurnContext
from tests.engine.world import GOAL, World, ended, idle, pursue, until, writes


async def steps(supervisor: Supervisor, run_id: str) -> dict[str, RunStep]:
    """The steps by kind and title; of equal ones the latest."""
    return {f"{one.kind} {one.title}".strip(): one for one in (await supervisor.steps(run_id)).steps}


async def test_each_iteration_and_check_is_a_step_in_its_order(world: World) -> None:
    view = await pursue(world, idle, writes("a.py", "good"))
    (supervisor,) = world.open
    found = (await supervisor.steps(view.state.run_id)).steps
    assert [(one.kind, one.state) for one in found if one.kind in ("turn", "check")] == [
        ("check", "failed"), ("turn", "done"), ("check", "failed"), ("turn", "done"), ("check", "done")
    ]  # fmt: skip
    assert found[-1].kind == "end"
    assert found[-1].title.startswith("Complete")
    assert all(one.evidence_id for one in found if one.kind == "check")
    assert [one.order for one in found] == sorted(one.order for one in found)
    assert len({one.version for one in found}) == len(found)


async def test_only_what_is_new_is_given_after_a_version(world: World) -> None:
    world.worker.gate = asyncio.Event()
    world.worker.plays = [writes("a.py", "good")]
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await world.worker.started.wait()
    before = await supervisor.steps(run_id)
    assert (await supervisor.steps(run_id, before.version)).steps == ()
    world.worker.gate.set()
    await ended(supervisor, run_id)
    after = (await supervisor.steps(run_id, before.version)).steps
    assert after
    assert min(one.version for one in after) > before.version


async def test_a_file_that_a_worker_changes_is_a_diff_against_the_tree_before_the_turn(world: World) -> None:
    supervisor = world.supervisor()
    (world.folder / "a.py").write_text("good")

    def changed(turn: Turn, context: TurnContext, world: World) -> None:
        world.workspace.edit("a.py", b"good")

    world.worker.plays = [changed]
    run_id = (await supervisor.start(GOAL)).state.run_id
    seen: dict[str, RunStep] = {}
    async for _ in supervisor.follow(run_id):
        seen |= await steps(supervisor, run_id)
    edited = seen["edits edited a.py"]
    assert (edited.diff, edited.added, edited.removed, edited.path) == ("@@ -1 +1 @@\n-bad\n+good", 1, 1, "a.py")


async def test_a_file_that_is_not_text_is_called_deleted_or_changed(world: World) -> None:
    supervisor = world.supervisor()
    world.workspace.edit("gone.png", b"\0")
    world.workspace.edit("kept.png", b"\0")
    (world.folder / "kept.png").write_bytes(b"\0\0")

    def changed(turn: Turn, context: TurnContext, world: World) -> None:
        world.workspace.edit("gone.png", None)
        world.workspace.edit("kept.png", b"\0\0")

    world.worker.plays = [changed, writes("a.py", "good")]
    run_id = (await supervisor.start(GOAL)).state.run_id
    seen: dict[str, RunStep] = {}
    async for _ in supervisor.follow(run_id):
        seen |= await steps(supervisor, run_id)
    assert {title for title in seen if title.endswith(".png")} == {"edits deleted gone.png", "edits changed kept.png"}


async def test_what_a_worker_prints_is_there_while_it_works_and_afterwards(world: World) -> None:
    printed, go_on = asyncio.Event(), asyncio.Event()

    class Printing:
        name, waits_for_person = "command", False

        async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
            await context.tool_started(ToolCall("C1", "run_command", "{}"), "run `make`")
            for number in range(3):
                context.stream(f"line {number}\n")
            printed.set()
            await go_on.wait()
            world.workspace.edit("a.py", b"good")
            return TurnResult(Claim("finished", "made it"), Usage())

    world.worker = Printing()  # type: ignore[assignment]
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await printed.wait()
    running = (await steps(supervisor, run_id))["runs run `make`"]
    assert (running.state, running.text) == ("running", "line 0\nline 1\nline 2")
    await until(supervisor, run_id, lambda view: view.live.activity == "line 2")
    go_on.set()
    await ended(supervisor, run_id)
    found = await steps(supervisor, run_id)
    assert found["runs run `make`"].state == "done"
    assert found["reports"].text == "made it"


async def test_what_an_agent_says_message_by_message_is_shown_once(world: World) -> None:
    class Speaking:
        name, waits_for_person = "command", False

        async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
            call = await context.calls.begin("Some Agent", Usage(), Usage())
            context.stream("I repaired it.\n")
            await context.calls.end(call, Usage(), Message("assistant", "I repaired it."))
            world.workspace.edit("a.py", b"good")
            return TurnResult(Claim("finished", "I repaired it."), Usage())

    world.worker = Speaking()  # type: ignore[assignment]
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL, StartOptions(worker_command="some-agent"))).state.run_id
    await ended(supervisor, run_id)
    found = (await supervisor.steps(run_id)).steps
    assert [one.kind for one in found if "I repaired it." in one.text] == ["says"]


async def test_a_flood_of_output_is_bounded_and_keeps_its_ends(world: World) -> None:
    class Flooding:
        name, waits_for_person = "command", False

        async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
            await context.tool_started(ToolCall("C1", "run_command", "{}"), "run `yes`")
            for number in range(20_000):
                context.stream(f"line {number}\n")
            world.workspace.edit("a.py", b"good")
            return TurnResult(usage=Usage())

    world.worker = Flooding()  # type: ignore[assignment]
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    seen: dict[str, RunStep] = {}
    views = 0
    async for _ in supervisor.follow(run_id):
        seen |= await steps(supervisor, run_id)
        views += 1
    assert views < 100
    text = seen["runs run `yes`"].text
    assert len(text) < 25_000
    assert text.startswith("line 0\n")
    assert text.endswith("line 19999")


async def test_the_steps_of_another_process_s_run_can_be_followed(world: World) -> None:
    view = await pursue(world, writes("a.py", "good"))
    own, other = world.open[0], world.supervisor()
    kinds = [one.kind for one in (await other.steps(view.state.run_id)).steps]
    assert kinds == [one.kind for one in (await own.steps(view.state.run_id)).steps]
    with pytest.raises(UnknownRun):
        await other.steps("no-such-run")


async def test_a_hint_to_a_worker_is_read_with_its_next_turn_and_once(world: World) -> None:
    world.worker.gate = asyncio.Event()
    world.worker.plays = [idle, idle, writes("a.py", "good")]
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await world.worker.started.wait()
    assert await supervisor.hint(run_id, " look at line 3 ") == "nextTurn"
    view = await supervisor.view(run_id)
    assert (view.state.interrupts, view.state.status) == ((), "running")
    waiting = (await steps(supervisor, run_id))["hint"]
    assert (waiting.text, waiting.state) == ("look at line 3", "running")
    world.worker.gate.set()
    await ended(supervisor, run_id)
    assert [turn.answers for turn in world.worker.turns] == [(), ("(without being asked) look at line 3",), ()]
    assert (await steps(supervisor, run_id))["hint"].state == "done"


async def test_a_hint_outlives_a_turn_that_was_cut_off(world: World) -> None:
    supervisor = world.supervisor()
    world.worker.plays = [idle, writes("a.py", "good")]
    world.worker.gate = asyncio.Event()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await world.worker.started.wait()
    await supervisor.hint(run_id, "mind the gap")
    world.worker.gate.set()
    await until(supervisor, run_id, lambda view: len(world.worker.turns) == 1 and view.state.turns_ended == 1)
    world.worker.gate.clear()
    await until(supervisor, run_id, lambda view: view.state.iteration == 2 and view.state.turn is not None)
    await supervisor.pause(run_id)
    assert await supervisor.hint(run_id, "and the step") == "resume"
    world.worker.gate.set()
    await supervisor.resume(run_id)
    await ended(supervisor, run_id)
    assert world.worker.turns[-1].answers == (
        "(without being asked) mind the gap",
        "(without being asked) and the step",
    )


async def test_a_turn_that_waits_for_a_person_has_not_failed(world: World) -> None:
    supervisor = world.supervisor()
    world.worker.plays = [idle]
    world.worker.gate = asyncio.Event()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await world.worker.started.wait()
    await supervisor.pause(run_id, "waits for a person: I1 Run `make`?", "run")
    found = await steps(supervisor, run_id)
    assert found["end The turn waits for a person: I1 Run `make`?"].state == "done"
    assert not [one.title for one in found.values() if one.kind == "turn" and one.state == "failed"]


async def test_a_hint_that_nobody_would_read_is_refused(world: World) -> None:
    supervisor = world.supervisor()
    checked = await supervisor.check(GOAL)
    with pytest.raises(UsageError, match="has no worker"):
        await supervisor.hint(checked.state.run_id, "hello")
    view = await pursue(world, writes("a.py", "good"))
    with pytest.raises(UsageError, match="has ended"):
        await supervisor.hint(view.state.run_id, "hello")
    world.workspace.edit("a.py", b"bad")
    world.worker.waits_for_person = True
    world.worker.name = "human"
    run_id = (await supervisor.start(GOAL)).state.run_id
    with pytest.raises(UsageError, match="you edit its files"):
        await supervisor.hint(run_id, "hello")
