"""A person edits the goal file of a run, in the editor or elsewhere, at any moment."""

from __future__ import annotations

import asyncio

from donewhen.core import events as e
from donewhen.core.events import Entry
from donewhen.core.fold import fold
from donewhen.engine.runs import Supervisor
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
    await until(supervisor, run_id, lambda view: world.checker.running > 0)
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
    assert state.audit_due
