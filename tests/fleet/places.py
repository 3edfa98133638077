"""Workspaces with goals that take some turns, manifests over them, and what their workers and ledgers left behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from donewhen.app.services import Services
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.engine.api import RunView
from donewhen.extras.fleet.iterating import IteratingPlace
from donewhen.extras.fleet.manifest import Fleet, FleetGoal
from donewhen.settings.loading import Settings

GOAL = "# Make it\n\n- [ ] `test $(grep -c . done.txt) -ge {turns}` passes\n"
COMMAND = "echo turn >> done.txt"


def place(folder: Path) -> IteratingPlace:
    return IteratingPlace(Services(), folder / "state", user_file=folder / "none.toml")


def goal(folder: Path, name: str, turns: int = 1, **settings: str) -> FleetGoal:
    """A goal that is complete after so many turns of its worker, each of which adds a line to `done.txt`."""
    workspace = folder / name
    workspace.mkdir(parents=True)
    (workspace / "GOAL.md").write_text(GOAL.format(turns=turns), encoding="utf-8")
    chosen = {"worker": "command", "worker_command": COMMAND, "sandbox": "off", **settings}
    return FleetGoal(name, str(workspace), settings=chosen)


def scripted(folder: Path, name: str, script: str) -> FleetGoal:
    """A goal whose worker plays a recording."""
    made = goal(folder, name)
    recording = folder / f"{name}.yaml"
    recording.write_text(script, encoding="utf-8")
    return replace(made, settings={"worker": "scripted", "script": str(recording), "sandbox": "off"})


def fleet(goals: Sequence[FleetGoal], name: str = "f") -> Fleet:
    return Fleet(name, list(goals), parallel=2, lost_after=3.0)


def turns_of(goal: FleetGoal) -> int:
    file = Path(goal.workspace) / "done.txt"
    return len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0


async def until(condition: Callable[[], bool]) -> None:
    """Waits until it holds; the test's timeout is the only limit."""
    while not condition():  # noqa: ASYNC110  # files of other processes ring no bell
        await asyncio.sleep(0.02)


async def runs_of(folder: Path, goal: FleetGoal) -> list[RunView]:
    """All runs that are on record in the goal's workspace."""
    services = Services()
    runs = await services.open_runs(Path(goal.workspace), folder / "state", Settings(), WorkspaceContext())
    try:
        return [await runs.view(one.run_id) for one in await runs.summaries()]
    finally:
        await runs.close("looked")
