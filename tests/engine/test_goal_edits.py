"""A person edits the goal file of a run, in the editor or elsewhere, at any moment."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from donewhen.cli.pursuing import what_next
from donewhen.core import events as e
from donewhen.core.errors import NotResumable
from donewhen.core.events import Entry
from donewhen.core.fold.dispatch import fold
from donewhen.core.resume import goal_kept
from donewhen.engine.runs import Supervisor
from donewhen.judges.scripted import gullible_judge, undecided_judge
from tests.core.builders import goal, requirement
from tests.engine.world import GOAL, Player, World, ended, idle, until

WORKS = requirement(1, "it works", "check", sole=True)
READS_WELL = requirement(2, "it reads well")
MORE = requirement(2, "more", "more", sole=True)


async def waiting(world: World) -> tuple[Supervisor, str]:
    """A run that waits for an answer about a requirement that nothing can decide."""
    world.worker = Player(world, [idle], name="human", waits_for_person=True)
    world.goals[GOAL] = goal(WORKS, READS_WELL)
    world.workspace.edit("a.py", b"good")
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await until(supervisor, run_id, lambda view: bool(view.state.interrupts))
    return supervisor, run_id


async def test_what_another_editor_saved_while_a_question_is_open_amends_the_goal(world: World) -> None:
    supervisor, run_id = await waiting(world)
    world.goals[GOAL] = goal(WORKS)
    world.workspace.edit(GOAL, b"without it")
    view = await ended(supervisor, run_id)
    assert view.state.status == "complete"
    assert [one.requirement_id for one in view.views] == [WORKS.id]


async def test_a_goal_file_that_changes_while_a_check_runs_is_read_after_it(world: World) -> None:
    supervisor, run_id = await waiting(world)
    world.checker.gate = asyncio.Event()
    world.workspace.edit("a.py", b"still good", by="person")
    await world.checker.at_work()
    world.goals[GOAL] = goal(WORKS)
    world.workspace.edit(GOAL, b"without it")
    world.checker.gate.set()
    assert (await ended(supervisor, run_id)).state.status == "complete"


async def test_a_goal_that_is_amended_while_an_audit_ends_is_audited_again(world: World) -> None:
    supervisor, run_id = await waiting(world)
    state = (await supervisor.view(run_id)).state
    events: list[e.Event] = [
        e.AuditStarted(state.iteration, state.revision),
        e.GoalAmended(goal(WORKS, MORE)),
        e.AuditFinished(state.iteration, state.revision, ()),
    ]
    for event in events:
        state = fold(state, Entry(state.sequence + 1, state.updated_at, event))
    assert state.auditing.due


async def pursued_by_a_person(world: World) -> tuple[Supervisor, str]:
    world.worker = Player(world, [idle], name="human", waits_for_person=True)
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    await until(supervisor, run_id, lambda view: view.state.turn is not None)
    return supervisor, run_id


async def test_a_run_whose_goal_file_is_deleted_pauses_and_goes_on_when_it_is_back(world: World) -> None:
    supervisor, run_id = await pursued_by_a_person(world)
    world.goals.clear()
    world.workspace.edit(GOAL, None)
    paused = (await ended(supervisor, run_id)).state
    assert (paused.status, paused.lifecycle.paused_by) == ("paused", "run")
    assert "the goal file GOAL.md is gone" in paused.lifecycle.reason
    assert goal_kept(paused) == 0
    assert f"donewhen revert {run_id} 0 GOAL.md --force" in "\n".join(what_next(await supervisor.view(run_id)))
    with pytest.raises(NotResumable, match="is gone: put it back"):
        await supervisor.resume(run_id)
    assert not world.held
    world.goals[GOAL] = goal(WORKS)
    await supervisor.revert(run_id, 0, [GOAL], force=True)
    assert world.workspace.read(GOAL) == b"goal"
    world.workspace.edit("a.py", b"good")
    await supervisor.resume(run_id)
    assert (await ended(supervisor, run_id)).state.status == "complete"


async def test_a_goal_file_that_is_renamed_is_followed(world: World) -> None:
    supervisor, run_id = await pursued_by_a_person(world)
    world.goals = {"other.goal.md": replace(goal(WORKS), path="other.goal.md")}
    world.workspace.edit("other.goal.md", b"goal")
    world.workspace.edit(GOAL, None)
    await until(supervisor, run_id, lambda view: view.state.goal.path == "other.goal.md")
    world.workspace.edit("a.py", b"good")
    view = await ended(supervisor, run_id)
    assert (view.state.status, view.state.open_findings) == ("complete", ())


async def test_a_goal_file_that_two_files_could_be_is_not_guessed(world: World) -> None:
    supervisor, run_id = await pursued_by_a_person(world)
    world.goals = {path: replace(goal(WORKS), path=path) for path in ("a.goal.md", "b.goal.md")}
    for path in world.goals:
        world.workspace.edit(path, b"goal")
    world.workspace.edit(GOAL, None)
    assert "is gone" in (await ended(supervisor, run_id)).state.lifecycle.reason


async def test_a_run_without_a_judge_takes_the_one_that_the_saved_goal_names(world: World) -> None:
    supervisor, run_id = await waiting(world)
    asked = await supervisor.view(run_id)
    assert "choose a judge there (judge_model)" in asked.state.interrupts[0].title
    world.judge = judge = gullible_judge()
    world.goals[GOAL] = replace(goal(WORKS, READS_WELL), judge_model="openai/a")
    world.workspace.edit(GOAL, b"judge_model: openai/a")
    state = (await ended(supervisor, run_id)).state
    assert (state.status, state.options.judge, state.waived) == ("complete", "openai/a", {})
    assert [[one.label for one in task.requirements] for task in judge.tasks] == [["R2"]]


async def test_a_run_keeps_the_judge_that_it_has(world: World) -> None:
    world.judge = undecided_judge()
    world.worker = Player(world, [idle], name="human", waits_for_person=True)
    world.goals[GOAL] = goal(WORKS)
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    before = (await supervisor.view(run_id)).state.options.judge
    world.goals[GOAL] = replace(goal(WORKS, MORE), judge_model="openai/other")
    world.workspace.edit(GOAL, b"another judge")
    amended = await until(supervisor, run_id, lambda view: len(view.state.goal.requirements) == 2)
    assert before is not None
    assert amended.state.options.judge == before
