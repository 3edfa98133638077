"""A result counts for the revision that it was made at, also once its run is over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.app.engine import open_engine
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.core.events import RunOptions
from donewhen.core.goal import Requirement
from donewhen.core.proof import Present, as_of, assess
from donewhen.core.state import Judged, Judging, RunState
from donewhen.core.verdict import RequirementVerdict
from donewhen.engine.api import RunView, StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.ports import Live
from donewhen.settings.loading import Settings
from tests.core.builders import goal, requirement
from tests.engine.world import GOAL, World, ended, pursue, until, writes


def statuses(view: RunView) -> list[str]:
    return [one.status for one in view.views]


@pytest.mark.conformance("C26")
async def test_an_edit_after_complete_makes_the_proof_stale_and_undoing_it_fresh_again(world: World) -> None:
    done = await pursue(world, writes("a.py", "good"))
    runs = world.supervisor()
    for content, status, stale in ((b"bad", "stale", True), (b"good", "met", False), (None, "stale", True)):
        world.workspace.edit("a.py", content)
        view = await runs.view(done.state.run_id)
        assert (view.state.status, statuses(view), view.stale) == ("complete", [status], stale)
        assert view.present is not None
        assert view.present.changed == (("a.py",) if stale else ())
        assert [one.renewing for one in view.views] == [False]
    assert (await runs.standing())[done.state.run_id].stale
    assert statuses(await runs.report(done.state.run_id)) == ["stale"]


@pytest.mark.conformance("C26")
async def test_ticking_what_is_proven_makes_nothing_stale_and_another_goal_does(world: World) -> None:
    done = await pursue(world, writes("a.py", "good"))
    runs = world.supervisor()
    world.workspace.edit(GOAL, b"the same goal, with its boxes ticked")
    view = await runs.view(done.state.run_id)
    assert (statuses(view), view.stale) == (["met"], False)
    world.goals[GOAL] = goal(requirement(1, "it works better", "check", sole=True))
    view = await runs.view(done.state.run_id)
    assert (statuses(view), view.stale) == (["stale"], True)
    world.workspace.edit("a.py", b"bad")
    assert (await runs.view(done.state.run_id)).stale


async def test_a_failed_result_stays_unmet_and_nothing_promises_to_prove_it_again(world: World) -> None:
    found = await world.supervisor().check(GOAL)
    world.workspace.edit("a.py", b"good")
    view = await world.supervisor().view(found.state.run_id)
    assert (statuses(view), view.stale, view.views[0].renewing) == (["unmet"], True, False)


async def test_a_paused_run_is_compared_and_a_waived_requirement_does_not_age(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), requirement(2, "it is nice"))
    world.workspace.edit("a.py", b"good")
    runs = world.supervisor()
    started = await runs.start(GOAL, StartOptions())
    await until(runs, started.state.run_id, lambda view: bool(view.state.interrupts))
    await runs.pause(started.state.run_id)
    await runs.waive(started.state.run_id, "R2", "I like it")
    world.workspace.edit("b.py", b"another file")
    assert statuses(await runs.view(started.state.run_id)) == ["stale", "waived"]


async def seen_by(runs: Supervisor, reached: Callable[[RunView], bool]) -> RunView:
    """The first view that a subscriber is told of which `reached` is true."""
    told: asyncio.Future[RunView] = asyncio.get_running_loop().create_future()
    unsubscribe = runs.subscribe(lambda view: None if told.done() or not reached(view) else told.set_result(view))
    try:
        return await told
    finally:
        unsubscribe()


@pytest.mark.conformance("C26")
async def test_a_server_says_within_moments_what_turned_stale_and_what_is_fresh_again(world: World) -> None:
    server = world.supervisor()
    await server.watch()
    done = await pursue(world, writes("a.py", "good"))  # in another process, which ends
    await seen_by(server, lambda view: view.present is not None and not view.stale)
    world.workspace.edit("a.py", b"bad")
    view = await seen_by(server, lambda view: view.stale)
    assert (view.state.run_id, view.state.status, statuses(view)) == (done.state.run_id, "complete", ["stale"])
    world.workspace.edit("a.py", b"good")
    assert statuses(await seen_by(server, lambda view: not view.stale)) == ["met"]
    assert world.checker.ran.count("check") == 2  # nothing was executed for it


async def test_a_run_that_goes_on_elsewhere_is_not_compared_with_what_was_seen_beside_its_result(world: World) -> None:
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), requirement(2, "it is nice"))
    world.workspace.edit("a.py", b"good")
    server, runs = world.supervisor(), world.supervisor()
    await server.watch()
    started = await runs.start(GOAL, StartOptions())
    await until(runs, started.state.run_id, lambda view: bool(view.state.interrupts))
    await runs.pause(started.state.run_id)
    world.workspace.edit("b.py", b"another file")
    paused = (await seen_by(server, lambda view: view.stale)).state
    resumed = replace(paused, lifecycle=replace(paused.lifecycle, paused=None))
    assert resumed.active
    assert server.registry.watched_view(resumed, Live()).present is None


def test_a_judged_requirement_ages_with_the_files_that_it_is_about_only() -> None:
    verdict = RequirementVerdict("r-1", "met", "it is clear", ("E1",))
    judged = {"r-1": Judged(verdict, "rev", ("README.md",))}
    wanted = Requirement("r-1", 1, "the readme is clear", files=("README.md",))
    state = RunState(
        "run",
        "pursue",
        goal(wanted),
        RunOptions("human", judge="a model"),
        revision="rev",
        judge=Judging(judged=judged),
    )
    for changed, status in ((("a.py",), "met"), (("README.md",), "stale"), (None, "stale")):
        assert [one.status for one in assess(as_of(state, Present("other", changed)))] == [status]


async def test_declared_outputs_frozen_rules_and_touched_files_are_no_edits(tmp_path: Path) -> None:
    """With the real runner, in a process that did not make the result."""
    root = tmp_path / "w"
    root.mkdir()
    (root / "code.py").write_text("bad")
    (root / "build.sh").write_text("date +%s%N > build.log; grep -q good code.py\n")
    (root / "GOAL.md").write_text("# Build\n\n- [ ] `sh build.sh` passes\n")
    (root / ".gitignore").write_text("ignored\n")

    async def look() -> RunView:
        runs = await open_engine(root, tmp_path / "state", Settings(), WorkspaceContext())
        try:
            return (await runs.views())[0]
        finally:
            await runs.close("the test ended")

    runs = await open_engine(root, tmp_path / "state", Settings(), WorkspaceContext())
    options = StartOptions(worker="command", worker_command="echo good > code.py")
    done = await ended(runs, (await runs.start("GOAL.md", options)).state.run_id)
    await runs.close("the test ended")
    assert (done.state.status, (root / "build.log").exists()) == ("complete", True)
    (root / "ignored").write_text("no edit")
    (root / "code.py").touch()
    assert statuses(await look()) == ["met"]
    (root / "build.log").write_text("not what the check wrote")
    view = await look()
    assert (statuses(view), view.present and view.present.changed) == (["stale"], ("build.log",))
