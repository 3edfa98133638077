"""Checks write files: that neither makes their own proof stale for ever, nor lets an edit pass as their output."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from donewhen.core.state import RunState
from donewhen.core.verdict import RequirementVerdict, Verdict
from donewhen.engine.api import LimitChanges, StartOptions
from donewhen.judges.panel import PanelJudge
from donewhen.ports import AuditContext, Judgement, JudgeTask
from donewhen.workspace.memory import MemoryWorkspace
from tests.core.builders import goal, requirement
from tests.engine.world import World, ended, idle, writes

GOAL = "GOAL.md"


def counting(path: str) -> object:
    """A check that writes other content each time it runs, and passes while a.py is good."""

    def behave(world: World) -> bool:
        before = world.workspace.read(path) or b"0"
        world.workspace.edit(path, str(int(before) + 1).encode())
        return b"good" in (world.workspace.read("a.py") or b"")

    return behave


async def pursue(world: World, *plays: object) -> RunState:
    world.worker.plays = list(plays)  # type: ignore[arg-type]
    supervisor = world.supervisor()
    view = await supervisor.start(GOAL)
    return (await ended(supervisor, view.state.run_id)).state


async def test_a_snapshot_that_is_written_once_is_proven_by_the_next_run(world: World) -> None:
    def snapshot(of: World) -> bool:
        if of.workspace.read("snapshot.json") is None:
            of.workspace.edit("snapshot.json", b"{}")
        return b"good" in (of.workspace.read("a.py") or b"")

    world.checker.behaviours["check"] = snapshot
    state = await pursue(world, writes("a.py", "good"))
    assert (state.status, state.iteration) == ("complete", 1)


async def test_an_output_that_differs_each_time_is_the_checks_own(world: World) -> None:
    world.checker.behaviours["check"] = counting("coverage.xml")  # type: ignore[assignment]
    state = await pursue(world, writes("a.py", "good"))
    assert (state.status, state.iteration) == ("complete", 1)
    assert len(world.checker.ran) <= 6


async def test_an_edit_of_such_an_output_makes_the_proof_stale(world: World) -> None:
    world.checker.behaviours["check"] = counting("coverage.xml")  # type: ignore[assignment]
    world.goals[GOAL] = goal(
        requirement(1, "it works", "check", sole=True), requirement(2, "it reads well"), stall_after=None
    )
    world.workspace.edit("a.py", b"good")
    supervisor = world.supervisor()
    run_id = (await supervisor.start(GOAL)).state.run_id
    async for view in supervisor.follow(run_id):
        if view.state.interrupts:
            break
    ran = len(world.checker.ran)
    world.workspace.edit("coverage.xml", b"7000", by="person")
    async for view in supervisor.follow(run_id):
        if len(world.checker.ran) > ran and view.state.auditing.open is None and view.views[0].status == "met":
            break
    assert len(world.checker.ran) > ran
    await supervisor.stop(run_id)


@pytest.mark.parametrize("path", ["b.py", "settings.toml", "Makefile"])
async def test_source_that_a_check_rewrites_each_time_never_counts_as_its_output(world: World, path: str) -> None:
    world.checker.behaviours["check"] = counting(path)  # type: ignore[assignment]
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), max_iterations=1)
    state = await pursue(world, writes("a.py", "good"), idle)
    assert state.status == "capped"


async def test_such_a_source_ends_the_run_with_its_name_before_the_worker_is_called_in_vain_for_long(
    world: World,
) -> None:
    world.checker.behaviours["check"] = counting("settings.toml")  # type: ignore[assignment]
    world.goals[GOAL] = goal(requirement(1, "it works", "check", sole=True), stall_after=3)
    state = await pursue(world, writes("a.py", "good"), *[idle] * 9)
    assert (state.status, state.iteration) == ("blocked", 3)
    assert "files keep changing (settings.toml)" in state.lifecycle.reason


class Declaring(MemoryWorkspace):
    """Keeps what was declared the output of which check."""

    declared: dict[str, set[str]]

    def volatile(self, check_id: str, paths: Sequence[str]) -> Sequence[str]:
        self.declared.setdefault(check_id, set()).update(paths)
        return super().volatile(check_id, paths)


class RunsAgain:
    """A member of a panel that runs one check of the goal while the others run theirs."""

    def __init__(self, command: str) -> None:
        self.identity = f"runs {command}"
        self._command = command

    async def judge(self, task: JudgeTask, context: AuditContext) -> Judgement:
        for check in task.goal.checks:
            if check.command == self._command:
                await context.run_check(check)
        return Judgement(Verdict(tuple(RequirementVerdict(one.id, "unmet", "no") for one in task.requirements)))


async def test_what_one_check_writes_is_never_declared_the_output_of_another(world: World) -> None:
    """Members of a panel are asked side by side, and so they ask for checks."""
    workspace = Declaring({"GOAL.md": b"goal", "a.py": b"good"}, root=world.folder)
    workspace.declared = {}
    world.workspace = workspace
    commands = ("one", "two", "three")
    for command in commands:
        world.checker.behaviours[command] = counting(f"{command}.xml")  # type: ignore[assignment]
    proven = [requirement(n, f"it works {n}", command, sole=True) for n, command in enumerate(commands, 2)]
    world.goals[GOAL] = goal(requirement(1, "it reads well"), *proven)
    world.judge = PanelJudge([RunsAgain(command) for command in commands], "majority")
    supervisor = world.supervisor()
    world.worker.plays = [idle]
    view = await supervisor.start(GOAL, StartOptions(limits=LimitChanges(max_iterations=1)))
    async with asyncio.timeout(20):
        await ended(supervisor, view.state.run_id)
    names = {check.id: {f"{check.command}.xml"} for check in view.state.goal.checks}
    assert workspace.declared == names
