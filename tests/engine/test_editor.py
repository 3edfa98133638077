"""What the editor reports, while a run waits: news are noticed, flicker costs nothing, questions become pointless."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest_asyncio

from donewhen.core.evidence import EditorReport, Problem
from donewhen.core.goal import Requirement
from donewhen.engine.runs import Supervisor
from donewhen.engine.setup import EditorActivity
from tests.core.builders import goal, requirement
from tests.engine.world import GOAL, Player, World, contains, ended, idle, until

ERROR = (Problem("a.py", 0, "undefined name"),)


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    world.goals[GOAL] = goal(requirement(1, "no errors", problems=("*.py",)))
    world.worker = Player(world, [idle], name="human", waits_for_person=True)
    world.checker.problems = ERROR
    yield world
    await world.close()


def one_process(world: World, quiet: float = 0.02, patience: float = 5.0) -> tuple[Supervisor, EditorActivity]:
    activity = EditorActivity(quiet, patience)
    return world.supervisor(editor_activity=activity), activity


async def heard(world: World, activity: EditorActivity) -> None:
    """There are news, and the run has asked what they are."""
    before = world.checker.asked
    activity.note()
    async with asyncio.timeout(10):
        while world.checker.asked == before:  # noqa: ASYNC110  # a double counts; nothing tells
            await asyncio.sleep(0.002)


async def test_a_waiting_run_notices_that_the_editor_is_content(world: World) -> None:
    supervisor, activity = one_process(world)
    run_id = (await supervisor.start(GOAL)).state.run_id
    view = await until(supervisor, run_id, lambda v: v.state.turn is not None)
    assert view.views[0].status == "unmet"
    assert "a.py:1: undefined name" in view.views[0].reason
    world.checker.problems = ()
    activity.note()
    last = await ended(supervisor, run_id)
    assert (last.state.status, last.views[0].decided_by) == ("complete", "check")


async def test_what_changes_nothing_that_is_needed_is_recorded_without_an_iteration(world: World) -> None:
    world.goals[GOAL] = goal(
        requirement(1, "no errors", problems=("*.py",)), requirement(2, "it works", "check", sole=True)
    )
    world.checker.behaviours["check"] = contains("a.py", "good")
    supervisor, activity = one_process(world)
    run_id = (await supervisor.start(GOAL)).state.run_id
    await until(supervisor, run_id, lambda v: v.state.turn is not None)
    for problems, status in (((), "met"), (ERROR, "unmet"), ((), "met")):
        world.checker.problems = problems
        activity.note()
        seen = await until(supervisor, run_id, lambda v, status=status: v.views[0].status == status)
        assert (seen.state.iteration, seen.state.turn is not None) == (1, True)
    world.workspace.edit("a.py", b"good")
    last = await ended(supervisor, run_id)
    assert (last.state.status, last.state.iteration) == ("complete", 1)


async def test_news_without_a_difference_leave_no_trace(world: World) -> None:
    supervisor, activity = one_process(world)
    run_id = (await supervisor.start(GOAL)).state.run_id
    view = await until(supervisor, run_id, lambda v: v.state.turn is not None)
    asked = world.checker.asked
    for _ in range(3):
        await heard(world, activity)
    assert world.checker.asked >= asked + 3
    assert (await supervisor.view(run_id)).state.sequence == view.state.sequence
    await supervisor.stop(run_id)


async def test_a_report_in_doubt_takes_nothing_back(world: World) -> None:
    world.goals[GOAL] = goal(
        requirement(1, "no errors", problems=("*.py",)), requirement(2, "it works", "check", sole=True)
    )
    world.checker.behaviours["check"] = contains("a.py", "good")
    world.checker.problems = ()
    supervisor, activity = one_process(world)
    run_id = (await supervisor.start(GOAL)).state.run_id
    view = await until(supervisor, run_id, lambda v: v.state.turn is not None)
    assert view.views[0].status == "met"
    world.checker.unsaved = ("a.py",)
    world.checker.problems = ERROR
    await heard(world, activity)
    assert (await supervisor.view(run_id)).views[0].status == "met"
    world.workspace.edit("b.py", b"another file is saved")
    seen = await until(supervisor, run_id, lambda v: v.state.iteration == 2)
    assert (seen.views[0].status, "unsaved text in `a.py`" in seen.views[0].reason) == ("unverified", True)
    await supervisor.stop(run_id)


async def test_the_question_what_nothing_can_decide_is_withdrawn_once_the_editor_says_something(world: World) -> None:
    world.checker.problems = None
    supervisor, activity = one_process(world)
    run_id = (await supervisor.start(GOAL)).state.run_id
    await until(supervisor, run_id, lambda v: bool(v.state.interrupts))
    world.checker.problems = ERROR
    activity.note()
    view = await until(supervisor, run_id, lambda v: not v.state.interrupts)
    assert view.views[0].status == "unmet"
    world.checker.problems = ()
    activity.note()
    assert (await ended(supervisor, run_id)).state.status == "complete"


async def test_a_worker_that_cant_save_is_not_called_for_what_only_a_person_can_save(world: World) -> None:
    world.worker = Player(world, [idle])
    world.checker.problems, world.checker.unsaved = (), ("a.py",)
    supervisor, activity = one_process(world)
    run_id = (await supervisor.start(GOAL)).state.run_id
    view = await until(supervisor, run_id, lambda v: bool(v.state.interrupts))
    assert (view.state.iteration, view.views[0].status) == (0, "unverified")
    world.checker.unsaved = ()
    activity.note()
    assert (await ended(supervisor, run_id)).state.status == "complete"


async def test_an_audit_waits_for_the_quiet_and_says_so_where_there_is_none(world: World) -> None:
    world.checker.problems = ()
    supervisor, activity = one_process(world, quiet=0.3, patience=0.4)

    async def flicker() -> None:
        while True:
            activity.note()
            await asyncio.sleep(0)

    flickering = asyncio.ensure_future(flicker())
    await asyncio.sleep(0)
    view = await supervisor.check(GOAL)
    flickering.cancel()
    assert (view.views[0].status, view.views[0].reason) == ("unverified", "the editor's diagnostics kept changing")
    assert (await supervisor.check(GOAL)).views[0].status == "met"


async def test_completion_takes_the_editors_last_word(world: World) -> None:
    """An error that is reported after the audit, and before the run ends, is seen."""
    world.checker.problems = ()
    supervisor, _ = one_process(world)
    said: list[Requirement] = []

    async def first_content(requirement: Requirement) -> EditorReport:
        said.append(requirement)
        return EditorReport(requirement.id, True, ERROR if len(said) == 2 else ())

    world.checker.editor_report = first_content
    run_id = (await supervisor.start(GOAL)).state.run_id
    view = await until(supervisor, run_id, lambda v: v.state.turn is not None)
    assert (view.views[0].status, len(said) >= 2) == ("unmet", True)
    await supervisor.stop(run_id)


def test_reports_of_earlier_versions_decide_as_they_did() -> None:
    report = EditorReport("r-1", True)
    assert report.passed
    assert not replace(report, files=0).passed
    assert not replace(report, settled=False).passed
    assert "kept changing" in replace(report, settled=False).doubt
