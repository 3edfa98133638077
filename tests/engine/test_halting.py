"""Plugins halt the loop, and it goes on exactly there (C23, C17, C24): with everything in memory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import NotResumable, PluginConflict, UsageError
from donewhen.core.fold.turn import pending_calls
from donewhen.core.plugging import Halt, PluginState, Refine, ResumeDirective, ToolOutcome
from donewhen.core.work import Answer
from donewhen.engine.active import RunHost
from donewhen.engine.api import HaltAnswer, RunView
from donewhen.engine.runs import Supervisor
from donewhen.store.sqlite import SqliteLedger
from tests.engine.tooling import Hooks, Tooling, gate, says
from tests.engine.world import GOAL, World, contains, ended, until

pytestmark = pytest.mark.conformance("C23")
APPROVE = Answer("approve")


def tooling(world: World, *replies: Message) -> Tooling:
    """The world's check passes once the command `good` ran."""
    world.checker.behaviours["check"] = contains("a.py", "good")
    worker = Tooling(world, list(replies))
    world.worker = worker  # type: ignore[assignment]
    return worker


def with_plugins(world: World, hooks: Hooks) -> Supervisor:
    return world.supervisor(plugins=lambda options: hooks)


async def started(world: World, hooks: Hooks) -> tuple[Supervisor, RunView]:
    supervisor = with_plugins(world, hooks)
    view = await supervisor.start(GOAL)
    return supervisor, await ended(supervisor, view.state.run_id)


def raising(halt: Halt, times: int = 1) -> Any:
    left = [halt] * times

    async def hook(*given: Any) -> Any:
        if left:
            raise left.pop()
        return () if len(given) == 2 else await given[2](given[1])

    return hook


async def test_a_tool_halts_the_loop_with_a_reason_and_a_payload(world: World) -> None:
    worker = tooling(world, says("", "good"), says("done"))
    hooks = Hooks("mine", {"use_tool": raising(Halt("the budget office is closed", {"ticket": 7}))})
    supervisor, view = await started(world, hooks)
    halt = view.state.plugins.halt
    assert halt is not None
    assert (halt.plugin, halt.reason) == ("mine", "the budget office is closed")
    assert (halt.data, halt.stage) == ({"ticket": 7}, "turn")
    assert (view.state.status, view.state.active, worker.effects, world.held) == ("waiting", False, [], [])
    assert [one.status for one in await supervisor.summaries()] == ["waiting"]
    assert await supervisor.recover() == []  # it waits, nobody died


async def test_it_goes_on_in_another_process_without_a_call_twice(world: World) -> None:
    worker = tooling(world, says("", "one", "good"), says("done"))
    refuse = True

    async def hook(host: Any, use: Any, do: Any) -> ToolOutcome:
        if use.call_id == "good" and refuse:
            raise Halt("wait for the office")
        return await do(use)

    _, view = await started(world, Hooks("mine", {"use_tool": hook}))
    refuse = False
    other = with_plugins(world, Hooks("mine", {"use_tool": hook}))
    view = await other.resume(view.state.run_id, halt=HaltAnswer("mine", {"ok": True}))
    view = await ended(other, view.state.run_id)
    assert (view.state.status, view.state.iteration) == ("complete", 1)
    assert worker.effects == ["one", "good"]
    assert worker.asked == [0, 1]
    assert view.state.worker_usage.output_tokens == 10
    assert view.state.progress.iterations[-1].changed == ("a.py",)


async def test_what_ran_although_its_wrapper_halted_does_not_run_again(world: World) -> None:
    worker = tooling(world, says("", "good"), says("done"))

    async def hook(host: Any, use: Any, do: Any) -> ToolOutcome:
        await do(use)
        raise Halt("look at what it did")

    supervisor, view = await started(world, Hooks("mine", {"use_tool": hook}))
    await supervisor.resume(view.state.run_id)
    view = await ended(supervisor, view.state.run_id)
    assert (view.state.status, worker.effects, worker.asked) == ("complete", ["good"], [0, 1])


async def test_the_plugin_says_how_to_go_on(world: World) -> None:
    worker = tooling(world, says("", "bad", "good"), says("done"))
    hooks = Hooks("mine", {"use_tool": raising(Halt("may it?"))})

    async def on_resume(host: Any, data: Any) -> ResumeDirective:
        return ResumeDirective(completed={data["done"]: ToolOutcome("done elsewhere", "elsewhere")})

    hooks.hooks["on_resume"] = on_resume
    supervisor, view = await started(world, hooks)
    await supervisor.resume(view.state.run_id, halt=HaltAnswer(None, {"done": "bad"}))
    view = await ended(supervisor, view.state.run_id)
    assert (view.state.status, worker.effects) == ("complete", ["good"])
    assert any(one.text == "done elsewhere" for one in view.state.conversation)


async def test_without_skipping_the_model_call_the_model_is_asked_again(world: World) -> None:
    worker = tooling(world, says("", "bad"), says("", "good"), says("done"))
    hooks = Hooks("mine", {"use_tool": raising(Halt("no"))})

    async def on_resume(host: Any, data: Any) -> ResumeDirective:
        return ResumeDirective(skip_model_call=False)

    hooks.hooks["on_resume"] = on_resume
    supervisor, view = await started(world, hooks)
    await supervisor.resume(view.state.run_id)
    await ended(supervisor, view.state.run_id)
    assert (worker.effects, worker.asked) == (["good"], [0, 1, 2])


@pytest.mark.parametrize("stage", ["before_turn", "after_turn", "before_audit", "after_verdict", "on_stop"])
async def test_every_hook_can_halt_and_nothing_that_ran_runs_again(world: World, stage: str) -> None:
    worker = tooling(world, says("", "good"), says("done"))
    hooks = Hooks("mine", {stage: raising(Halt(f"at {stage}"))})
    _, view = await started(world, hooks)
    assert view.state.plugins.halt is not None
    assert (view.state.plugins.halt.stage, view.state.status) == (stage, "waiting")
    calls = len(hooks.called)
    other = with_plugins(world, hooks)
    await other.resume(view.state.run_id)
    view = await ended(other, view.state.run_id)
    assert (view.state.status, view.state.iteration) == ("complete", 1)
    assert (worker.effects, worker.asked) == (["good"], [0, 1])
    if stage in ("before_turn", "after_turn", "on_stop"):  # the others are called once per audit
        assert len(hooks.called) == calls == 1


async def test_a_halt_that_can_not_be_resumed_ends_blocked(world: World) -> None:
    tooling(world, says("", "good"), says("done"))
    hooks = Hooks("mine", {"use_tool": raising(Halt("never here", resumable=False))})
    _, view = await started(world, hooks)
    assert (view.state.status, view.state.lifecycle.reason) == ("blocked", "mine: never here")
    assert view.state.plugins.halt is not None
    assert not view.state.plugins.halt.resumable


async def test_another_plugin_or_data_for_none_is_an_error_that_changes_nothing(world: World) -> None:
    tooling(world, says("", "good"), says("done"))
    hooks = Hooks("mine", {"use_tool": raising(Halt("wait"))})
    supervisor, view = await started(world, hooks)
    with pytest.raises(UsageError, match="was halted by mine, not by yours"):
        await supervisor.resume(view.state.run_id, halt=HaltAnswer("yours"))
    with pytest.raises(UsageError, match="not available now"):
        await world.supervisor().resume(view.state.run_id)
    assert not world.held
    view = await supervisor.resume(view.state.run_id)
    view = await ended(supervisor, view.state.run_id)
    assert view.state.status == "complete"
    with pytest.raises(NotResumable):
        await supervisor.resume(view.state.run_id, halt=HaltAnswer("mine", 1))


async def test_stop_ends_a_halted_run(world: World) -> None:
    tooling(world, says("", "good"))
    supervisor, view = await started(world, Hooks("mine", {"use_tool": raising(Halt("wait"))}))
    view = await supervisor.stop(view.state.run_id)
    assert (view.state.status, view.state.plugins.halt) == ("cancelled", None)


@pytest.mark.conformance("A2")
async def test_an_open_approval_outlives_its_process_and_no_model_call_is_repeated(world: World) -> None:
    worker = tooling(world, says("", "one", "good"), says("done"))
    supervisor = with_plugins(world, Hooks("gate", {"use_tool": gate}))
    run_id = (await supervisor.start(GOAL)).state.run_id
    view = await until(supervisor, run_id, lambda seen: bool(seen.state.interrupts))
    await supervisor.close("the client is gone")
    other = with_plugins(world, Hooks("gate", {"use_tool": gate}))
    asked = view.state.interrupts[0]
    await other.resume(run_id)
    view = await until(other, run_id, lambda seen: seen.state.turn is not None)
    assert [one.id for one in view.state.interrupts] == [asked.id]
    await other.answer(run_id, asked.id, APPROVE)
    view = await until(other, run_id, lambda seen: bool(seen.state.interrupts) and seen.state.interrupts[0] != asked)
    await other.answer(run_id, view.state.interrupts[0].id, APPROVE)
    view = await ended(other, run_id)
    assert (view.state.status, worker.effects, worker.asked) == ("complete", ["one", "good"], [0, 1])


async def test_an_answer_whose_own_effect_calls_it_off_still_counts(world: World, tmp_path: Path) -> None:
    """A message in an editor is taken back once its question is answered: by its own button, too."""
    worker = tooling(world, says("", "good"), says("done"))
    ledger = await SqliteLedger.open(tmp_path / "ledger.sqlite")
    supervisor = world.supervisor(ledger=ledger, plugins=lambda options: Hooks("gate", {"use_tool": gate}))
    run_id = (await supervisor.start(GOAL)).state.run_id
    view = await until(supervisor, run_id, lambda seen: bool(seen.state.interrupts))
    answering = asyncio.ensure_future(supervisor.answer(run_id, view.state.interrupts[0].id, APPROVE))

    def take_back(seen: RunView) -> None:
        if not seen.state.interrupts:
            answering.cancel()

    leave = supervisor.subscribe(take_back)
    view = await ended(supervisor, run_id)
    leave()
    assert answering.cancelled()
    assert (view.state.status, worker.effects) == ("complete", ["good"])
    await world.close()
    await ledger.close()


async def test_an_answer_between_two_processes_is_taken_up(world: World) -> None:
    worker = tooling(world, says("", "good"), says("done"))
    supervisor = with_plugins(world, Hooks("gate", {"use_tool": gate}))
    run_id = (await supervisor.start(GOAL)).state.run_id
    view = await until(supervisor, run_id, lambda seen: bool(seen.state.interrupts))
    await supervisor.close("the client is gone")
    other = with_plugins(world, Hooks("gate", {"use_tool": gate}))
    await other.answer(run_id, view.state.interrupts[0].id, APPROVE)
    assert worker.effects == []
    await other.resume(run_id)
    view = await ended(other, run_id)
    assert (view.state.status, worker.effects, worker.asked) == ("complete", ["good"], [0, 1])


@pytest.mark.conformance("C17")
async def test_a_critic_refines_a_turn_from_inside(world: World) -> None:
    worker = tooling(world, says("", "bad"), says("first"), says("", "good"), says("second"))
    rounds: list[int] = []

    async def critic(host: Any, turn: Any) -> Refine | None:
        rounds.append(turn.refinements)
        return Refine("not good yet") if turn.refinements == 0 else None

    _, view = await started(world, Hooks("critic", {"after_turn": critic}))
    assert (view.state.status, view.state.iteration, rounds) == ("complete", 1, [0, 1])
    assert [(turn.refinement, turn.feedback) for turn in worker.turns] == [(0, None), (1, "not good yet")]
    assert worker.asked == [0, 1, 2, 3]


async def test_plugins_that_want_the_same_pause_the_run_and_are_named(world: World) -> None:
    tooling(world, says("", "bad"), says("first"))

    async def conflict(host: Any, turn: Any) -> Refine | None:
        raise PluginConflict("the plugins a and b both want to refine this turn: switch one off")

    _, view = await started(world, Hooks("a", {"after_turn": conflict}))
    assert view.state.status == "paused"
    assert "a and b" in view.state.lifecycle.reason


async def test_what_a_plugin_keeps_is_there_after_a_restart_and_its_own(world: World) -> None:
    tooling(world, says("", "good"), says("done"))
    seen: list[Any] = []

    async def hook(host: Any, use: Any, do: Any) -> ToolOutcome:
        seen.append(host.state_of("mine"))
        await host.keep_state("mine", PluginState(1, {"count": len(seen)}))
        await host.keep_state("other", PluginState(3, None))
        if len(seen) == 1:
            raise Halt("once")
        return await do(use)

    _, view = await started(world, Hooks("mine", {"use_tool": hook}))
    other = with_plugins(world, Hooks("mine", {"use_tool": hook}))
    await other.resume(view.state.run_id)
    await ended(other, view.state.run_id)
    assert seen == [None, PluginState(1, {"count": 1})]


async def test_what_is_no_json_is_refused_before_it_is_kept() -> None:
    host = RunHost(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="JSON"):
        await host.keep_state("mine", PluginState(1, float("nan")))


async def test_the_notes_of_plugins_reach_the_worker(world: World) -> None:
    worker = tooling(world, says("", "good"), says("done"))

    async def notes(host: Any, turn: Any) -> tuple[str, ...]:
        return ("mind the gap",)

    await started(world, Hooks("mine", {"before_turn": notes}))
    assert worker.turns[0].notes == ("mind the gap",)


@pytest.mark.slow
async def test_a_plugin_that_hangs_at_the_end_holds_no_stop_up(world: World) -> None:
    tooling(world, says("", "good"), says("done"))

    async def hang(host: Any, stopping: Any) -> None:
        await asyncio.get_running_loop().create_future()

    async def wait(host: Any, use: Any, do: Any) -> ToolOutcome:
        return await asyncio.get_running_loop().create_future()

    supervisor = with_plugins(world, Hooks("mine", {"on_stop": hang, "use_tool": wait}))
    run_id = (await supervisor.start(GOAL)).state.run_id
    await until(supervisor, run_id, lambda seen: seen.state.turn is not None)
    view = await supervisor.stop(run_id)
    assert view.state.status == "cancelled"
    assert "plugin_slow" in [one.code for one in view.state.warnings]


def test_pending_calls_are_those_without_a_result() -> None:
    talk = (says("", "a", "b"), Message("tool", "done", answers="a"))
    assert pending_calls(talk) == (ToolCall("b", "run", "{}"),)
    assert pending_calls((*talk, Message("user", "go on"))) == ()
    assert pending_calls(()) == ()
