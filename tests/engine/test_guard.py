"""A goal on guard: what was proven is proven again after each edit, and what fails then has regressed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from donewhen.core.errors import NotTrusted, UsageError
from donewhen.core.events import AuditStarted, Entry, GuardSet
from donewhen.engine.api import RunView, StartOptions
from donewhen.engine.runs import Supervisor
from tests.core.builders import goal, requirement
from tests.engine.test_freshness import seen_by, statuses
from tests.engine.world import GOAL, World, contains, ended, pursue, writes


async def on_guard(world: World, **parts: object) -> tuple[Supervisor, str]:
    """A run that is complete, and watched on guard by a server with these parts."""
    done = await pursue(world, writes("a.py", "good"))
    server = world.supervisor(**parts)
    await server.guard(True, run_id=done.state.run_id)
    await server.watch()
    return server, done.state.run_id


def settled(*wanted: str) -> Callable[[RunView], bool]:
    """An audit is over, at the files that are there."""

    def reached(view: RunView) -> bool:
        return statuses(view) == list(wanted) and view.state.auditing.open is None and not view.stale

    return reached


@pytest.mark.conformance("C27")
async def test_what_fails_after_an_edit_has_regressed_until_it_is_met_again(world: World) -> None:
    server, run_id = await on_guard(world)
    world.workspace.edit("a.py", b"bad")
    view = await seen_by(server, settled("regressed"))
    assert (view.state.run_id, view.state.status) == (run_id, "complete")
    known = view.state.guard and view.state.guard.regressions[view.views[0].requirement_id]
    assert known
    assert (known.paths, known.by, known.bad) == (("a.py",), "person", view.state.revision)
    assert "met until a.py changed, by a person" in view.views[0].reason
    world.workspace.edit("b.py", b"something else")  # the edit that did it stays the one that is named
    view = await seen_by(server, lambda view: settled("regressed")(view) and view.state.revision != known.bad)
    assert view.state.guard
    assert view.state.guard.regressions[view.views[0].requirement_id].paths == ("a.py",)
    world.workspace.edit("a.py", b"good")
    view = await seen_by(server, settled("met"))
    assert view.state.guard
    assert not view.state.guard.regressions
    assert not view.state.guard.edits


async def test_an_edit_that_breaks_nothing_is_proven_again_without_a_word(world: World) -> None:
    server, _run_id = await on_guard(world)
    before = len(world.checker.ran)
    seen: list[str] = []
    server.subscribe(lambda view: seen.extend(statuses(view)))
    world.workspace.edit("b.py", b"new")
    await seen_by(server, lambda view: settled("met")(view) and len(world.checker.ran) > before)
    assert (set(seen), len(world.checker.ran)) == ({"stale", "met"}, before + 1)


@pytest.mark.conformance("C27")
async def test_a_check_that_fails_once_by_chance_is_flaky_and_no_regression(world: World) -> None:
    server, _ = await on_guard(world)
    results = [True, True, True, False]
    world.checker.behaviours["check"] = lambda world: results.pop()
    seen: set[str] = set()
    server.subscribe(lambda view: seen.update(statuses(view)))
    world.workspace.edit("b.py", b"new")
    await seen_by(server, lambda view: settled("met")(view) and not results)
    assert "regressed" not in seen


@pytest.mark.conformance("C27")
async def test_what_a_judge_decided_turns_stale_and_nobody_is_asked(world: World) -> None:
    from donewhen.judges.scripted import gullible_judge

    judge = world.judge = gullible_judge()
    world.goals[GOAL] = goal(requirement(1, "it works", "check"))
    server, _ = await on_guard(world)
    asked = len(judge.tasks)
    world.workspace.edit("b.py", b"new")
    await seen_by(server, lambda view: settled("stale")(view) and view.views[0].decided_by == "judge")
    assert len(judge.tasks) == asked
    world.workspace.edit("a.py", b"bad")
    await seen_by(server, settled("regressed"))


@pytest.mark.parametrize("recorded", [True, False])
async def test_a_defect_while_it_is_proven_again_is_said_and_the_guard_goes_on(world: World, recorded: bool) -> None:
    broken = False

    def observe(run_id: str, entry: Entry) -> None:
        if broken and (isinstance(entry.event, AuditStarted) or not recorded):
            raise ZeroDivisionError("boom")

    server, run_id = await on_guard(world, observe=observe)
    followed = server.follow(run_id, guarded=True)
    await anext(followed)
    broken = True
    world.workspace.edit("b.py", b"new")
    said = "what is on guard could not be proven again: ZeroDivisionError: boom"
    if recorded:
        await seen_by(server, lambda view: any(one.message == said for one in view.state.warnings))
    else:
        with pytest.raises(ZeroDivisionError, match="boom"):
            async for _ in followed:
                pass
    await followed.aclose()  # type: ignore[attr-defined]
    broken = False
    world.workspace.edit("a.py", b"bad")
    await seen_by(server, settled("regressed"))


@pytest.mark.conformance("C27")
async def test_the_guard_outlives_the_server_and_is_taken_up_by_the_next(world: World) -> None:
    server, run_id = await on_guard(world)
    await server.close("the editor ended")
    world.workspace.edit("a.py", b"bad")
    after = world.supervisor()
    assert statuses(await after.view(run_id)) == ["stale"]
    await after.watch()
    await seen_by(after, settled("regressed"))


async def test_lifted_it_executes_nothing_and_what_failed_is_unmet(world: World) -> None:
    server, _run_id = await on_guard(world)
    world.workspace.edit("a.py", b"bad")
    await seen_by(server, settled("regressed"))
    view = await world.supervisor().guard(False)  # another process
    assert statuses(view) == ["unmet"]
    ran = len(world.checker.ran)
    world.workspace.edit("a.py", b"good")
    view = await seen_by(server, lambda view: view.stale and view.state.guard is None)
    assert (statuses(view), len(world.checker.ran)) == (["unmet"], ran)


async def test_a_new_run_of_the_goal_takes_the_guard_over_and_is_not_held_up(world: World) -> None:
    server, run_id = await on_guard(world)
    world.workspace.edit("a.py", b"bad")
    await seen_by(server, settled("regressed"))
    world.worker.plays = [writes("a.py", "good")]
    second = await ended(server, (await server.start(GOAL, StartOptions())).state.run_id)
    assert (second.state.status, second.state.guard is not None) == ("complete", True)
    assert (await server.view(run_id)).state.guard is None
    world.workspace.edit("a.py", b"bad")
    view = await seen_by(server, settled("regressed"))
    assert view.state.run_id == second.state.run_id


async def test_a_run_of_another_goal_suspends_it_and_an_audit_in_flight_stands_back(world: World) -> None:
    server, run_id = await on_guard(world)
    world.goals["other.goal.md"] = replace(goal(requirement(1, "other", "other", sole=True)), path="other.goal.md")
    world.checker.behaviours["other"] = contains("a.py", "better")
    world.checker.gate = asyncio.Event()
    world.workspace.edit("a.py", b"bad")
    await world.checker.at_work()
    world.worker.plays, cancelled = [writes("a.py", "better good")], world.checker.cancelled
    started = await server.start("other.goal.md", StartOptions())
    assert world.checker.cancelled == cancelled + 1
    world.checker.gate.set()
    assert (await ended(server, started.state.run_id)).state.status == "complete"
    await seen_by(server, lambda view: view.state.run_id == run_id and settled("met")(view))


async def test_the_worker_of_another_run_is_named_where_its_edit_did_it(world: World) -> None:
    server, run_id = await on_guard(world)
    world.goals["other.goal.md"] = replace(goal(requirement(1, "other", "other", sole=True)), path="other.goal.md")
    world.checker.behaviours["other"] = contains("a.py", "better")
    world.worker.plays = [writes("a.py", "better")]
    await ended(server, (await server.start("other.goal.md", StartOptions())).state.run_id)
    view = await seen_by(server, lambda view: view.state.run_id == run_id and settled("regressed")(view))
    assert view.state.guard
    assert [one.by for one in view.state.guard.regressions.values()] == ["worker"]


@pytest.mark.conformance("C27")
async def test_an_untrusted_workspace_executes_nothing(world: World) -> None:
    server, _run_id = await on_guard(world)
    world.trusted = False
    ran = len(world.checker.ran)
    world.workspace.edit("a.py", b"bad")
    view = await seen_by(server, lambda view: view.stale)
    with pytest.raises(NotTrusted):
        await pursue(world)
    assert (statuses(view), len(world.checker.ran)) == (["stale"], ran)
    world.trusted = True
    await server.watch()
    await seen_by(server, settled("regressed"))


async def test_a_saved_goal_file_amends_what_is_guarded_and_a_deleted_one_lifts_it(world: World) -> None:
    server, run_id = await on_guard(world)
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), requirement(2, "more", "more", sole=True))
    world.checker.behaviours["more"] = contains("a.py", "more")
    world.workspace.edit(GOAL, b"goal and more")
    await seen_by(server, settled("met", "unmet"))  # it was never proven
    del world.goals[GOAL]
    world.workspace.edit(GOAL, None)
    view = await seen_by(server, lambda view: view.state.guard is None)
    events = [entry.event for entry in await world.ledger.connected().entries(run_id)]
    lifted = [one.reason for one in events if isinstance(one, GuardSet) and one.by is None]
    assert lifted == ["the goal file GOAL.md is gone"]
    assert view.state.status == "complete"


async def test_the_goal_file_asks_for_it_and_only_what_is_complete_is_guarded(world: World) -> None:
    with pytest.raises(UsageError, match="nothing is proven yet"):
        await world.supervisor().guard(True, goal_path=GOAL)
    world.goals[GOAL] = replace(world.goals[GOAL], guard=True)
    done = await pursue(world, writes("a.py", "good"))
    assert done.state.guard is not None
    assert done.state.guard.by == "goal"
